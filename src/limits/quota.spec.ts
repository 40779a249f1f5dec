import { describe, expect, it } from 'vitest';
import { Quota } from './quota.js';

/** How many of so many attempts each client gets, one client after the other. */
const granted = (limit: Quota, ...attempts: [string, number][]) =>
  attempts.map(
    ([client, count]) => Array.from({ length: count }, () => limit.tryAcquire(client)).filter(Boolean).length,
  );

describe('a limit shared by clients', () => {
  it.each<[string, number, [string, number][], number[]]>([
    ['is there for one client alone', 100, [['one', 200]], [100]],
    [
      'lets others in beyond it, as long as they have little',
      100,
      [
        ['one', 200],
        ['two', 50],
      ],
      [100, 5],
    ],
    [
      'is there for all, in order of coming',
      100,
      [
        ['one', 60],
        ['two', 60],
      ],
      [60, 40],
    ],
    [
      'has a most of all',
      100,
      [['one', 100], ...Array.from({ length: 10 }, (_, n): [string, number] => [`c${n}`, 9])],
      [100, 5, 5, 5, 5, 5, 0, 0, 0, 0, 0],
    ],
    [
      'may be one',
      1,
      [
        ['one', 3],
        ['two', 3],
        ['three', 3],
      ],
      [1, 1, 0],
    ],
  ])('%s', (_what, limit, attempts, expected) =>
    expect(granted(new Quota(limit), ...attempts)).toEqual(expected),
  );

  it('is free again when it was given back', () => {
    const limit = new Quota(2);
    expect(granted(limit, ['one', 3])).toEqual([2]);
    limit.release('one');
    expect(granted(limit, ['one', 3])).toEqual([1]);
    limit.release('one');
    limit.release('one');
    expect(granted(limit, ['two', 3], ['one', 1])).toEqual([2, 1]);
  });
});
