import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Quota, RateLimit } from './quota.js';

/** Returns how many of each key's attempts succeed, one key after another. */
const granted = (limit: Pick<Quota, 'tryAcquire'>, ...attempts: [string, number][]) =>
  attempts.map(
    ([key, count]) => Array.from({ length: count }, () => limit.tryAcquire(key)).filter(Boolean).length,
  );

describe('a Quota with a reserve', () => {
  it.each<[string, number, [string, number][], number[]]>([
    ['lets one key use the whole total', 100, [['one', 200]], [100]],
    [
      'lets light users exceed the total',
      100,
      [
        ['one', 200],
        ['two', 50],
      ],
      [100, 5],
    ],
    [
      'serves keys first come, first served below the total',
      100,
      [
        ['one', 60],
        ['two', 60],
      ],
      [60, 40],
    ],
    [
      'refuses all keys when the reserve is used up',
      100,
      [['one', 100], ...Array.from({ length: 10 }, (_, n): [string, number] => [`c${n}`, 9])],
      [100, 5, 5, 5, 5, 5, 0, 0, 0, 0, 0],
    ],
    [
      'works with a total of 1',
      1,
      [
        ['one', 3],
        ['two', 3],
        ['three', 3],
      ],
      [1, 1, 0],
    ],
  ])('%s', (_rule, total, attempts, expected) =>
    expect(granted(new Quota({ total, reserve: true }), ...attempts)).toEqual(expected),
  );

  it('grants released units again', () => {
    const quota = new Quota({ total: 2, reserve: true });
    expect(granted(quota, ['one', 3])).toEqual([2]);
    quota.release('one');
    expect(granted(quota, ['one', 3])).toEqual([1]);
    quota.release('one');
    quota.release('one');
    expect(granted(quota, ['two', 3], ['one', 1])).toEqual([2, 1]);
  });
});

describe('a Quota without a reserve', () => {
  it('refuses beyond the total and beyond the limit of a key', () => {
    const quota = new Quota({ total: 5, perKey: 3 });
    expect(granted(quota, ['one', 4], ['two', 4], ['three', 1])).toEqual([3, 2, 0]);
    expect(quota.held('one')).toBe(3);
    quota.release('one');
    expect(granted(quota, ['two', 2])).toEqual([1]);
  });

  it('checks the amount against both limits', () => {
    const quota = new Quota({ total: 100, perKey: 60 });
    expect(quota.tryAcquire('one', 61)).toBe(false);
    expect(quota.tryAcquire('one', 60)).toBe(true);
    expect(quota.tryAcquire('two', 41)).toBe(false);
    quota.release('one', 60);
    expect(quota.tryAcquire('two', 41)).toBe(true);
  });
});

describe('RateLimit', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('resets the quota at the start of each window', () => {
    const limit = new RateLimit({ perKey: 2 }, 60_000);
    expect(granted(limit, ['one', 3], ['two', 1])).toEqual([2, 1]);
    vi.advanceTimersByTime(60_000);
    expect(granted(limit, ['one', 1])).toEqual([0]);
    vi.advanceTimersByTime(1);
    expect(granted(limit, ['one', 3])).toEqual([2]);
  });

  it('grants returned units again in the same window, but no more', () => {
    const limit = new RateLimit({ perKey: 2 }, 60_000);
    expect(granted(limit, ['one', 2])).toEqual([2]);
    limit.release('one');
    expect(granted(limit, ['one', 2])).toEqual([1]);
    vi.advanceTimersByTime(60_001);
    expect(granted(limit, ['two', 1])).toEqual([1]);
    limit.release('one');
    expect(granted(limit, ['one', 3])).toEqual([2]);
  });

  it('returns the seconds until the next window', () => {
    const limit = new RateLimit({ perKey: 1 }, 60_000);
    granted(limit, ['one', 1]);
    vi.advanceTimersByTime(12_500);
    const { retryAfterSeconds } = limit;
    expect(retryAfterSeconds).toBe(48);
    vi.advanceTimersByTime(retryAfterSeconds * 1_000);
    expect(granted(limit, ['one', 1])).toEqual([1]);
  });
});
