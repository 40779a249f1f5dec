import { describe, expect, it } from 'vitest';
import { gramsOf, gramsToFind } from './search-texts.queries.js';

const list = (grams: string | null) => (grams === null ? null : grams.split('\u0001').sort());

describe('the grams of a text', () => {
  it.each([
    ['abc', ['a', 'ab', 'b', 'bc', 'c']],
    ['aaa', ['a', 'aa']],
    ['a b', [' ', ' b', 'a', 'a ', 'b']],
    ['%_\\', ['%', '%_', '\\', '_', '_\\']],
    ['猫😀', ['猫', '猫😀', '😀']],
    // What separates grams is in none.
    ['a\u0001b', ['a', 'b']],
  ])('of %j are its letters and pairs', (text, grams) => {
    expect(list(gramsOf(text))).toEqual(grams.sort());
  });
});

describe('the grams that a text is found by', () => {
  it.each([
    ['abc', ['ab', 'bc']],
    ['aaaa', ['aa']],
    ['a', ['a']],
    ['😀', ['😀']],
    ['猫😀', ['猫😀']],
    ['a\u0001b', null],
    ['\u0001', null],
  ])('of %j are its pairs, or its only letter', (search, grams) => {
    expect(list(gramsToFind(search))).toEqual(grams);
  });

  it('of a long text are six that every text has which holds it', () => {
    const search = 'the quick brown fox jumps over the lazy dog';
    const asked = list(gramsToFind(search)) ?? [];
    expect(asked).toHaveLength(6);
    expect(list(gramsOf(`before ${search} after`))).toEqual(expect.arrayContaining(asked));
    expect(asked).toEqual(expect.arrayContaining(['th']));
  });
});
