import { describe, expect, it } from 'vitest';
import { bind } from './statements.js';

describe('the parameters of a statement', () => {
  it('are numbered as they first appear, each once', () => {
    expect(
      bind('select $name::text, $ids::int[] where $name <> $other', { ids: [1], name: 'a', other: 'b' }),
    ).toEqual({
      text: 'select $1::text, $2::int[] where $1 <> $3',
      values: ['a', [1], 'b'],
    });
  });

  it('may be null, and those that do not appear are not sent', () => {
    expect(bind('select $none::text', { none: null, other: 'b' })).toEqual({
      text: 'select $1::text',
      values: [null],
    });
  });

  it('make the same text for other values', () => {
    const text = 'select $first, $second';
    expect(bind(text, { first: 1, second: '$first' }).text).toBe(bind(text, { first: 2, second: 3 }).text);
  });

  it.each([['missing'], ['toString']])('must have a value: $%s', (name) => {
    expect(() => bind(`select $${name}`, {})).toThrow(`The statement has no value for $${name}`);
  });
});
