import { describe, expect, it } from 'vitest';
import { ascendingIndex, unionOf } from './view.js';

describe('ids in ascending order', () => {
  it.each([
    { ids: [], asked: [1], found: [undefined] },
    { ids: [1, 3, 7], asked: [1, 3, 7], found: [0, 1, 2] },
    { ids: [1, 3, 7], asked: [0, 2, 7, 8], found: [undefined, undefined, 2, undefined] },
    { ids: [5], asked: [5, 5, 6], found: [0, 0, undefined] },
  ])('ascendingIndex of $ids finds $asked at $found', ({ ids, asked, found }) => {
    expect(asked.map(ascendingIndex(ids))).toEqual(found);
  });

  it.each([
    { one: [], other: [], union: [] },
    { one: [1, 2], other: [], union: [1, 2] },
    { one: [], other: [3], union: [3] },
    { one: [1, 3, 5], other: [1, 2, 5, 9], union: [1, 2, 3, 5, 9] },
    { one: [7, 8], other: [1, 2], union: [1, 2, 7, 8] },
  ])('unionOf $one and $other is $union', ({ one, other, union }) => {
    expect(unionOf(one, other)).toEqual(union);
    expect(unionOf(other, one)).toEqual(union);
  });
});
