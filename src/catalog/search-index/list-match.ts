import type { TimeSlice } from '../../json/time-slice.js';
import { bytesOfNumber } from './packed-numbers.js';
import { eachWith, inBlocks, type TextTable } from './text-table.js';

/** Flag of an entry whose other texts are too long for the index. */
export const HAS_LONG_TEXTS = 64;

/** Columns of an `EntryIndex`. */
interface Columns {
  /** Number of entries; the other columns have spare room. */
  readonly count: number;
  readonly words: TextTable;
  readonly flags: Uint8Array;
  /** Whether some entry has `HAS_LONG_TEXTS`. */
  readonly hasLongTexts: boolean;
  readonly names: Uint8Array;
  readonly nameStarts: Uint32Array;
  readonly numbers: Uint8Array;
  readonly numberStarts: Uint32Array;
}

/** Groups of numbers that begin with their count, and those, from 1, that have words of search texts: see `EntryIndex`. */
const COUNTED_GROUPS = 5;
const LISTED_GROUPS = (1 << 3) | (1 << 4) | (1 << 6);
/** Only the first words are checked: further ones exclude few more entries. */
const MAX_WORDS = 4;

/**
 * Whether the index can serve lists with this search text. It knows the order of words in a text, but not the white space
 * between them, which is mostly a single space.
 */
export function isListable(search: string): boolean {
  return search.trim() !== '' && !/[^\S ]| {2}/u.test(search);
}

/**
 * Returns a test, by number of the entry, of whether one of its texts may contain a search text. It accepts every entry that
 * matches, and a few others: those with other white space between the words, and those with long texts.
 *
 * @param search see `isListable`.
 */
export async function listMatch(
  columns: Columns,
  search: string,
  slice: TimeSlice,
): Promise<(number: number) => boolean> {
  const { count, flags, hasLongTexts, names, nameStarts, numbers, numberStarts } = columns;
  const all = search.trim().split(' ');
  const words = all.slice(0, MAX_WORDS);
  const edges = {
    isAtStart: search.startsWith(' '),
    isAtEnd: search.endsWith(' ') || words.length < all.length,
  };
  const phrase = await columns.words.accepting(words, edges, slice);
  const rarest = (phrase?.rarest ?? []).map((number) => Buffer.from(bytesOfNumber(number)));
  const last = 1 << (words.length - 1);

  // Follows all beginnings of the words at once (Shift-And). Reads numbers like `NumberReader`, but in a single loop.
  const hasWords = (number: number, accepting: Uint32Array): boolean => {
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
      if ((LISTED_GROUPS & (1 << group)) === 0) continue;
      const accepts = accepting[value] ?? 0;
      state = accepts === 0 ? 0 : ((state << 1) | 1) & accepts;
      if ((state & last) !== 0) return true;
    }
    return false;
  };

  return inBlocks(count, (first, end, add) => {
    eachWith(Buffer.from(search), names, nameStarts, first, end, add);
    const check = (number: number) => {
      if (phrase && hasWords(number, phrase.accepted)) add(number);
    };
    if (!phrase?.rarest) for (let number = first; number < end; number += 1) check(number);
    else for (const bytes of rarest) eachWith(bytes, numbers, numberStarts, first, end, check);
    if (hasLongTexts)
      for (let number = first; number < end; number += 1)
        if (((flags[number] ?? 0) & HAS_LONG_TEXTS) !== 0) add(number);
  });
}
