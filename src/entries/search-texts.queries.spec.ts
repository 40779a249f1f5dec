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
    // No gram contains the separator.
    ['a\u0001b', ['a', 'b']],
  ])('of %j are its characters and adjacent pairs', (text, grams) => {
    expect(list(gramsOf(text))).toEqual(grams.sort());
  });
});

describe('the grams of a search', () => {
  it.each([
    ['abc', ['ab', 'bc']],
    ['aaaa', ['aa']],
    ['a', ['a']],
    ['😀', ['😀']],
    ['猫😀', ['猫😀']],
    ['a\u0001b', null],
    ['\u0001', null],
  ])('for %j are its pairs, or its only character', (search, grams) => {
    expect(list(gramsToFind(search))).toEqual(grams);
  });

  it('of a long text are six grams that every match contains', () => {
    const search = 'the quick brown fox jumps over the lazy dog';
    const asked = list(gramsToFind(search)) ?? [];
    expect(asked).toHaveLength(6);
    expect(list(gramsOf(`before ${search} after`))).toEqual(expect.arrayContaining(asked));
    expect(asked).toEqual(expect.arrayContaining(['th']));
  });
});
