import { COUNTED_GROUPS, type EntryColumns, HAS_UPPER_CASE } from './entry-columns.js';
import { NumberReader } from './packed-numbers.js';
import { bytesOf, isWithin, Occurrence, occurrenceOf } from './text-table.js';

/** Finds a word in entries, by their numbers. */
export interface WordMatch {
  /** Sets of entries that certainly have it. */
  readonly certain: readonly Int32Array[];
  /** Whether it is in the name, title, description or tags. */
  has(number: number): boolean;
  /** Whether it is at the beginning of a word in the name or title. */
  begins(number: number): boolean;
}

/** @param word in lower case. */
export function matchWord(columns: EntryColumns, word: string): WordMatch {
  const bytes = bytesOf(word);
  const { words, kinds, kindOf, names, nameStarts, numbers, numberStarts } = columns;
  const isIn = once(words.size, (number) => words.occurrence(bytes, number) !== Occurrence.NONE);
  const beginsIn = once(words.size, (number) => words.occurrence(bytes, number) === Occurrence.AT_WORD_START);
  const isInKind = once(kinds.size, (kind) => {
    const reader = kinds.reader(kind);
    reader.skip(reader.next());
    reader.skip(reader.next());
    return reader.groupPasses(isIn);
  });
  const isInName = (number: number) =>
    isWithin(bytes, names, nameStarts[number] ?? 0, nameStarts[number + 1] ?? 0);
  // Reads numbers like `NumberReader`, but in a single loop.
  const isInTexts = (number: number) => {
    let group = 0;
    let left = 0;
    for (let at = numberStarts[number] ?? 0; ;) {
      let byte = numbers[at++] ?? 0;
      let value = byte & 127;
      for (let shift = 7; byte > 127; shift += 7) {
        byte = numbers[at++] ?? 0;
        value |= (byte & 127) << shift;
      }
      if (left > 0) {
        if (isIn(value)) return true;
        left -= 1;
      } else {
        left = value;
        group += 1;
      }
      if (left === 0 && group === COUNTED_GROUPS) return false;
    }
  };
  return {
    certain: columns.denseWords.setsOf(isIn),
    has: (number) => isInName(number) || isInTexts(number) || isInKind(kindOf[number] ?? 0),
    begins: (number) => {
      const start = nameStarts[number] ?? 0;
      const { AT_WORD_START } = Occurrence;
      if (occurrenceOf(bytes, names, start, nameStarts[number + 1] ?? 0) === AT_WORD_START) return true;
      const reader = new NumberReader(numbers, numberStarts[number]);
      return reader.groupPasses(beginsIn);
    },
  };
}

/** Returns a test of whether an entry has this name in lower case (0), or this last segment of it (1). */
export function nameRank(columns: EntryColumns, word: string): (number: number) => 0 | 1 | undefined {
  const bytes = bytesOf(word);
  const asSegment = word.includes('/') ? null : bytesOf(`/${word}`);
  const { flags } = columns;
  return (number) => {
    if (((flags[number] ?? 0) & HAS_UPPER_CASE) !== 0) {
      const name = columns.nameOf(number).toLowerCase();
      if (name === word) return 0;
      return asSegment && name.endsWith(`/${word}`) ? 1 : undefined;
    }
    if (columns.nameLength(number) === bytes.length)
      return columns.nameBeginsWith(number, bytes) ? 0 : undefined;
    return asSegment && columns.nameEndsWith(number, asSegment) ? 1 : undefined;
  };
}

/** Returns a test of numbers below `count` that tests each number at most once. */
export function once(count: number, test: (number: number) => boolean): (number: number) => boolean {
  /** Two bits for each number: 0 if unknown, 1 if it fails, 2 if it passes. Most searches need none. */
  let results: Uint8Array | undefined;
  return (number) => {
    results ??= new Uint8Array((count >>> 2) + 1);
    const at = number >>> 2;
    const shift = (number & 3) << 1;
    const known = ((results[at] ?? 0) >>> shift) & 3;
    if (known !== 0) return known === 2;
    const result = test(number);
    results[at] = (results[at] ?? 0) | ((result ? 2 : 1) << shift);
    return result;
  };
}
