import { setImmediate as nextTurn } from 'node:timers/promises';

/** The items in batches, and a turn of the event loop for others after each. */
export async function* batches<T>(items: readonly T[], size: number): AsyncGenerator<T[]> {
  for (let start = 0; start < items.length; start += size) {
    yield items.slice(start, start + size);
    await nextTurn();
  }
}
