import { describe, expect, it } from 'vitest';
import { bind } from './statements.js';

describe('bind', () => {
  it('numbers each parameter once, in order of first appearance', () => {
    expect(
      bind('select $name::text, $ids::int[] where $name <> $other', { ids: [1], name: 'a', other: 'b' }),
    ).toEqual({
      text: 'select $1::text, $2::int[] where $1 <> $3',
      values: ['a', [1], 'b'],
    });
  });

  it('accepts null and ignores values without a parameter', () => {
    expect(bind('select $none::text', { none: null, other: 'b' })).toEqual({
      text: 'select $1::text',
      values: [null],
    });
  });

  it('returns the same text for different values', () => {
    const text = 'select $first, $second';
    expect(bind(text, { first: 1, second: '$first' }).text).toBe(bind(text, { first: 2, second: 3 }).text);
  });

  it.each([['missing'], ['toString']])('throws for a missing value: $%s', (name) => {
    expect(() => bind(`select $${name}`, {})).toThrow(`The statement has no value for $${name}`);
  });
});
