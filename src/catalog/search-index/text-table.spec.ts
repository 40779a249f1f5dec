import { describe, expect, it } from 'vitest';
import { bytesOf, Occurrence, occurrenceOf, TextTable } from './text-table.js';

describe('occurrenceOf', () => {
  const { NONE, INSIDE, AT_WORD_START } = Occurrence;
  it.each([
    ['io.acme/build-tools', 'build', AT_WORD_START],
    ['io.acme/build-tools', 'uild', INSIDE],
    ['io.acme/build-tools', 'tools', AT_WORD_START],
    ['io.acme/build-tools', 'build-to', AT_WORD_START],
    ['io.acme/build-tools', 'acme/build', AT_WORD_START],
    ['io.acme/build-tools', 'uild-tools', INSIDE],
    ['io.acme/build-tools', 'build-toolset', NONE],
    ['io.acme/xab-ab', 'ab', AT_WORD_START],
    ['io.acme/xab-xab', 'ab', INSIDE],
    ['io.acme/aab', 'ab', INSIDE],
    ['für', 'ür', INSIDE],
    ['xübergabe', 'übergabe', INSIDE],
    ['übergabe', 'übergabe', AT_WORD_START],
    ['éa', 'a', INSIDE],
    ['2nd', 'nd', INSIDE],
    ['𝒜b倉庫', 'b', INSIDE],
    ['a😀b', 'b', AT_WORD_START],
    ['a😀b', '😀', INSIDE],
    ['-%', '%', AT_WORD_START],
    ['a', 'ab', NONE],
  ])('in %j, %j occurs %i', (text, word, expected) => {
    const bytes = bytesOf(text);
    expect(occurrenceOf(bytesOf(word), bytes, 0, bytes.length)).toBe(expected);
  });
});

describe('TextTable', () => {
  it('numbers distinct texts', () => {
    const table = new TextTable();
    const texts = Array.from(
      { length: 5_000 },
      (_, number) => `${number % 7 ? 'ü' : ''}${number.toString(36)}`,
    );
    expect(texts.map((text) => table.add(text))).toEqual(texts.map((_, number) => number));
    expect(texts.map((text) => table.add(text))).toEqual(texts.map((_, number) => number));
    expect(texts.map((text) => table.find(text))).toEqual(texts.map((_, number) => number));
    expect(texts.map((_, number) => table.text(number))).toEqual(texts);
    expect([table.size, table.find('absent'), table.find('')]).toEqual([5_000, -1, -1]);
  });

  it('numbers distinct bytes', () => {
    const table = new TextTable();
    expect([[1, 128], [1], [], [1, 128]].map((bytes) => table.addBytes(Uint8Array.from(bytes)))).toEqual([
      0, 1, 2, 0,
    ]);
    const reader = table.reader(1);
    expect(reader.next()).toBe(1);
  });
});
