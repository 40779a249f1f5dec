import { describe, expect, it, vi } from 'vitest';
import { Metrics } from './metrics.js';

describe('gauges that are read from the database', () => {
  it.each([
    [true, 1],
    [false, 0],
  ])('are read by one of several processes: %s', async (readsDatabase, times) => {
    const metrics = new Metrics();
    const read = vi.fn(() => Promise.resolve());
    metrics.refreshWithin(read, () => undefined);
    metrics.readsDatabase = readsDatabase;
    await metrics.exposition();
    expect(read).toHaveBeenCalledTimes(times);
  });
});
