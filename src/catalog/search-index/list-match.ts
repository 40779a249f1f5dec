import type { Signatures } from './signatures.js';
import { bytesOf, isWithin, type TextTable } from './text-table.js';

/** Flag of an entry whose other texts are too long for the index. */
export const HAS_LONG_TEXTS = 64;

/** Columns of an `EntryIndex`. */
interface Columns {
  readonly words: TextTable;
  readonly flags: Uint8Array;
  readonly signatures: Signatures;
  readonly names: Uint8Array;
  readonly nameStarts: Uint32Array;
  readonly numbers: Uint8Array;
  readonly numberStarts: Uint32Array;
}

/** Groups of numbers that begin with their count, of words in titles and descriptions: see `EntryIndex`. */
export const COUNTED_GROUPS = 2;
/** Only the first words are checked: further ones exclude few more entries. */
const MAX_WORDS = 4;
const IS_KNOWN = 1 << MAX_WORDS;
const NOTHING = new Uint8Array(0);

/**
 * Whether the index can serve lists with this search text. It knows the order of words in a text, but not the white space
 * between them, which is mostly a single space.
 */
export function isListable(search: string): boolean {
  return search.trim() !== '' && !/[^\S ]| {2}/u.test(search);
}

/** Tests of whether a text of an entry may contain a search text. */
export interface TextMatch {
  /** A fast test, which accepts more entries. */
  mayHave(number: number): boolean;
  /** For entries that `mayHave` accepts. */
  has(number: number): boolean;
}

/**
 * Returns tests by number of the entry. They accept every entry that matches, and a few others: those with other white space
 * between the words, and those with long texts.
 *
 * @param search see `isListable`.
 */
export function listMatch(columns: Columns, search: string): TextMatch {
  const { flags, signatures, names, nameStarts, numbers, numberStarts } = columns;
  const all = search.trim().split(' ');
  const words = all.slice(0, MAX_WORDS);
  const edges = {
    isAtStart: search.startsWith(' '),
    isAtEnd: search.endsWith(' ') || words.length < all.length,
  };
  const bytes = words.map(bytesOf);
  const isAccepted = (place: number, number: number) => {
    const begins = edges.isAtStart || place > 0;
    const ends = edges.isAtEnd || place < words.length - 1;
    return columns.words.has(bytes[place] ?? NOTHING, number, begins, ends);
  };
  const last = 1 << (words.length - 1);
  /** For each text, one bit for each word that it matches, and `IS_KNOWN`. */
  const accepting = new Uint8Array(columns.words.size);
  const accepted = (number: number): number => {
    let accepts = IS_KNOWN;
    for (let place = 0; place < words.length; place += 1)
      if (isAccepted(place, number)) accepts |= 1 << place;
    return (accepting[number] = accepts);
  };

  // Follows all beginnings of the words at once (Shift-And). Reads numbers like `NumberReader`, but in a single loop.
  const hasWords = (number: number): boolean => {
    let state = 0;
    let group = 0;
    let left = 0;
    for (let at = numberStarts[number] ?? 0, end = numberStarts[number + 1] ?? 0; at < end;) {
      let byte = numbers[at++] ?? 0;
      let value = byte & 127;
      for (let shift = 7; byte > 127; shift += 7) {
        byte = numbers[at++] ?? 0;
        value |= (byte & 127) << shift;
      }
      if (left === 0) {
        group += 1;
        left = group <= COUNTED_GROUPS ? value : Infinity;
        if (group <= COUNTED_GROUPS) continue;
      }
      left -= 1;
      state = ((state << 1) | 1) & (accepting[value] || accepted(value));
      if ((state & last) !== 0) return true;
    }
    return false;
  };

  const whole = bytesOf(search);
  const hasBits = signatures.test(all);
  const isLong = (number: number) => ((flags[number] ?? 0) & HAS_LONG_TEXTS) !== 0;
  return {
    mayHave: (number) => hasBits(number) || isLong(number),
    has: (number) =>
      isLong(number) ||
      hasWords(number) ||
      isWithin(whole, names, nameStarts[number] ?? 0, nameStarts[number + 1] ?? 0),
  };
}
