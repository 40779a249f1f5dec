import { COUNTED_GROUPS, type EntryColumns, HAS_LONG_TEXTS } from './entry-columns.js';
import { bytesOf, isWithin } from './text-table.js';

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

/** Returns the words of a search; each must be part of one word of a text. */
export function listWords(search: string): readonly string[] {
  return search.trim().split(' ');
}

/**
 * Returns a test of entries, by number, that have all bits of the words (see `Signatures`). It accepts every entry that matches,
 * and a few others: those with other white space between the words, and those with long texts.
 *
 * @param search see `isListable`.
 */
export function listMatch(columns: EntryColumns, search: string): (number: number) => boolean {
  const { flags, names, nameStarts, numbers, numberStarts } = columns;
  const all = listWords(search);
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
  /** For each text, one bit for each word that it matches, and `IS_KNOWN`. Most searches need none. */
  let accepting = NOTHING;
  const accepted = (number: number): number => {
    let accepts = IS_KNOWN;
    for (let place = 0; place < words.length; place += 1)
      if (isAccepted(place, number)) accepts |= 1 << place;
    return (accepting[number] = accepts);
  };

  // Follows all beginnings of the words at once (Shift-And). Reads numbers like `NumberReader`, but in a single loop.
  const hasWords = (number: number): boolean => {
    if (accepting === NOTHING) accepting = new Uint8Array(columns.words.size);
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
  return (number) =>
    ((flags[number] ?? 0) & HAS_LONG_TEXTS) !== 0 ||
    hasWords(number) ||
    isWithin(whole, names, nameStarts[number] ?? 0, nameStarts[number + 1] ?? 0);
}
