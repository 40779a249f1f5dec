import { describe, expect, it } from 'vitest';
import { hasBit } from './bit-sets.js';
import { Signatures } from './signatures.js';
import { bytesOf, Occurrence, occurrenceOf } from './text-table.js';

/** Returns which of the first entries have their bits in these slices. */
function having(signatures: Signatures, count: number, slices: readonly number[]): readonly number[] {
  const set = new Int32Array(Math.ceil(count / 32)).fill(-1);
  signatures.restrict(set, slices, [0, set.length]);
  return Array.from({ length: count }, (_, number) => number).filter((number) => hasBit(set, number));
}

function mayHave(texts: readonly string[] | null, word: string): boolean {
  const signatures = new Signatures();
  signatures.add(0, [], [], texts);
  return having(signatures, 1, signatures.slicesOf([word])).length === 1;
}

const LONG = 'x'.repeat(100_000);

describe('Signatures', () => {
  it.each([
    { texts: [], word: 'a', expected: false },
    { texts: [''], word: 'a', expected: false },
    { texts: [''], word: '-', expected: false },
    { texts: ['ab'], word: 'a', expected: true },
    { texts: ['ab'], word: 'ab', expected: true },
    { texts: ['ab'], word: 'ba', expected: false },
    { texts: ['ab'], word: 'c', expected: false },
    { texts: ['git hub'], word: 'hub', expected: true },
    { texts: ['git hub'], word: 'thub', expected: false },
    { texts: ['git', 'hub'], word: 'thub', expected: false },
    { texts: ['git\nhub'], word: 'git', expected: true },
    { texts: [' / - . '], word: '/', expected: true },
    { texts: [' / - . '], word: '/-', expected: false },
    { texts: ['...///---'], word: '//-', expected: true },
    { texts: ['...///---'], word: '_', expected: false },
    { texts: ['für'], word: 'ü', expected: true },
    { texts: ['für'], word: 'u', expected: false },
    { texts: ['倉庫'], word: '庫', expected: true },
    { texts: ['倉庫'], word: '庫倉', expected: false },
    { texts: ['a😀b'], word: '😀b', expected: true },
    { texts: ['a😀b'], word: '😁', expected: false },
    // In lower case, İ is two characters.
    { texts: ['İstanbul'.toLowerCase()], word: 'İs'.toLowerCase(), expected: true },
    { texts: ['İstanbul'.toLowerCase()], word: 'istanbul', expected: false },
    { texts: [`${LONG}${LONG}`], word: LONG, expected: true },
    { texts: [`${LONG}${LONG}`], word: `${LONG}y`, expected: false },
    { texts: null, word: 'anything-😀', expected: true },
  ])('decides whether $texts may contain $word: $expected', ({ texts, word, expected }) => {
    expect(mayHave(texts, word)).toBe(expected);
  });

  it.each([
    ['a', true],
    ['7', true],
    ['', false],
    ['ab', false],
    ['/', true],
    ['%', true],
    ['\\', true],
    ['A', false],
    ['é', false],
    ['倉', false],
  ])('is exact for %j: %s', (word, expected) => {
    expect(new Signatures().isExact(word)).toBe(expected);
  });

  it('has exactly the entries with each printable ASCII character in lower case', () => {
    const letters = Array.from({ length: 94 }, (_, code) => String.fromCharCode(0x21 + code)).filter(
      (character) => character === character.toLowerCase(),
    );
    const signatures = new Signatures();
    const texts = letters.flatMap((one) => [...letters, 'é', '😀'].map((other) => `${one}${other}`));
    for (const [number, text] of texts.entries()) signatures.add(number, [text], [text], []);
    for (const letter of letters) {
      expect(signatures.isExact(letter)).toBe(true);
      const expected = [...texts.keys()].filter((number) => texts[number]?.includes(letter));
      expect(having(signatures, texts.length, signatures.slicesOf([letter])), letter).toEqual(expected);
    }
    expect(signatures.withOthers.every((element) => element === 0)).toBe(true);
  });

  const PIECES = [...'abz09-./_%é倉😀ß', 'i̇', 'ς', '\u0301', ' ', '\n', '\u00a0', '\u3000', '  '];

  it.each(Array.from({ length: 20 }, (_, seed) => seed + 1))(
    'never excludes a text that has the word, nor a beginning of a word (%i)',
    async (seed) => {
      let state = seed;
      const roll = (sides: number) => {
        state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
        return Math.floor((state / 2 ** 32) * sides);
      };
      const text = () => Array.from({ length: roll(12) }, () => PIECES[roll(PIECES.length)]).join('');
      const entries = Array.from({ length: 40 + roll(80) }, () => ({ title: text(), other: text() }));
      const signatures = new Signatures();
      for (const [number, { title, other }] of entries.entries())
        signatures.add(number, title.split(/\s+/u), [title], roll(2) === 0 ? [other] : [other, '']);
      const check = (present: readonly (typeof entries)[number][]) => {
        for (const [number, { title, other }] of present.entries())
          for (const piece of [title, other].flatMap((all) => all.split(/\s+/u)).filter(Boolean)) {
            const points = [...piece];
            const from = roll(points.length);
            const word = points.slice(from, from + 1 + roll(points.length - from)).join('');
            expect(having(signatures, present.length, signatures.slicesOf([word]))).toContain(number);
            const begins = title
              .split(/\s+/u)
              .map(bytesOf)
              .some(
                (bytes) => occurrenceOf(bytesOf(word), bytes, 0, bytes.length) === Occurrence.AT_WORD_START,
              );
            if (begins)
              expect(having(signatures, present.length, signatures.slicesOfStarts([word]))).toContain(number);
          }
      };
      check(entries);
      const order = Int32Array.from(entries.keys()).filter(() => roll(3) > 0);
      if (roll(2) === 0) order.reverse();
      await signatures.gather(order);
      check(Array.from(order, (number) => entries[number] ?? { title: '', other: '' }));
      const room = 32 * Math.ceil(order.length / 32);
      expect(
        having(signatures, room, signatures.slicesOf(['b'])).filter((n) => n >= order.length),
        'entries that were left out',
      ).toEqual([]);
    },
  );
});
