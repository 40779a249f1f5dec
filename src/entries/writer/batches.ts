import { setImmediate as nextTurn } from 'node:timers/promises';

/** The items in batches, and a turn of the event loop for others after each. */
export async function* batches<T>(items: readonly T[], size: number): AsyncGenerator<T[]> {
  for (let start = 0; start < items.length; start += size) {
    yield items.slice(start, start + size);
    await nextTurn();
  }
}

/** As `batches`, of at most `most` items that together weigh at most `heaviest`, unless one alone weighs more. */
export async function* weighedBatches<T>(
  items: readonly T[],
  most: number,
  heaviest: number,
  weightOf: (item: T) => number,
): AsyncGenerator<T[]> {
  let batch: T[] = [];
  let weight = 0;
  for (const item of items) {
    const more = weightOf(item);
    if (batch.length >= most || (batch.length > 0 && weight + more > heaviest)) {
      yield batch;
      await nextTurn();
      batch = [];
      weight = 0;
    }
    batch.push(item);
    weight += more;
  }
  if (batch.length > 0) yield batch;
}
