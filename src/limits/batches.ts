import { setImmediate as nextTurn } from 'node:timers/promises';

/** Splits items into batches and yields to the event loop after each batch. */
export async function* batches<T>(items: readonly T[], size: number): AsyncGenerator<T[]> {
  for (let start = 0; start < items.length; start += size) {
    yield items.slice(start, start + size);
    await nextTurn();
  }
}

/**
 * Works like `batches`, but with at most `maxItems` items and weight `maxWeight` per batch, unless a single item is
 * heavier.
 */
export async function* weighedBatches<T>(
  items: readonly T[],
  maxItems: number,
  maxWeight: number,
  weightOf: (item: T) => number,
): AsyncGenerator<T[]> {
  let batch: T[] = [];
  let weight = 0;
  for (const item of items) {
    const more = weightOf(item);
    if (batch.length >= maxItems || (batch.length > 0 && weight + more > maxWeight)) {
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
