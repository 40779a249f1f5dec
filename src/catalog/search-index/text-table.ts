import type { TimeSlice } from '../../json/time-slice.js';

/** Copies an array into a larger one if it has no room for `length` elements. */
export function withRoom<Columns extends Uint8Array | Uint32Array | Int32Array | Float64Array>(
  array: Columns,
  length: number,
): Columns {
  if (array.length >= length) return array;
  const Typed = array.constructor as new (size: number) => Columns;
  const larger = new Typed(Math.max(length, Math.ceil(array.length * 1.5), 64));
  larger.set(array as never);
  return larger;
}

/** How a word occurs in a text. */
export const Occurrence = { NONE: 0, INSIDE: 1, AT_WORD_START: 2 } as const;

const ENCODER = new TextEncoder();
const DECODER = new TextDecoder();
const EMPTY = -1;
const MAX_LOAD = 0.7;

export function bytesOf(text: string): Uint8Array {
  return ENCODER.encode(text);
}

/** Which texts the words of a phrase match. */
export interface AcceptedTexts {
  /** For each text, one bit for each word that it matches. */
  readonly accepted: Uint32Array;
  /** The texts that match the rarest word; null if every word matches many. */
  readonly rarest: readonly number[] | null;
}

/** How a word occurs in each text. */
export interface Occurrences {
  /** See `Occurrence`. */
  readonly found: Uint8Array;
  /** The texts in which it occurs; null if there are many. */
  readonly few: readonly number[] | null;
}

const MAX_RAREST = 8;
/** Texts that are searched together: most lists need only the first ones. */
const BLOCK = 256;

/**
 * Distinct texts, numbered from 0 in the order in which they were added. Their bytes are kept outside the heap, in about
 * a tenth of the memory of a Map of strings.
 */
export class TextTable {
  private bytes = new Uint8Array(0);
  /** Text n is at `starts[n]` to `starts[n + 1]`. */
  private starts = new Uint32Array(64);
  /** Hash table with linear probing: numbers of texts. */
  private slots = new Int32Array(128).fill(EMPTY);
  private count = 0;

  get size(): number {
    return this.count;
  }

  get byteLength(): number {
    return this.bytes.byteLength + this.starts.byteLength + this.slots.byteLength;
  }

  /** Returns the number of a text, and adds it if it is new. */
  add(text: string): number {
    const start = this.starts[this.count] ?? 0;
    const end = this.write(text, start);
    const slot = this.slotOf(start, end);
    const found = this.slots[slot] ?? EMPTY;
    if (found !== EMPTY) return found;
    this.slots[slot] = this.count;
    this.count += 1;
    this.starts = withRoom(this.starts, this.count + 1);
    this.starts[this.count] = end;
    if (this.count > this.slots.length * MAX_LOAD) this.rehash();
    return this.count - 1;
  }

  /** Returns the number of a text, or -1 if the table lacks it. */
  find(text: string): number {
    const start = this.starts[this.count] ?? 0;
    return this.slots[this.slotOf(start, this.write(text, start))] ?? EMPTY;
  }

  text(number: number): string {
    return DECODER.decode(this.bytes.subarray(this.starts[number], this.starts[number + 1]));
  }

  /** Whether a text, or two adjacent texts together, contain these bytes. The native search is several times faster. */
  private mayContain(word: Uint8Array): boolean {
    const { bytes, starts, count } = this;
    return Buffer.from(bytes.buffer, bytes.byteOffset, starts[count]).includes(Buffer.from(word));
  }

  /**
   * Finds the texts that each word of a phrase matches. The first word may match the end of a text, unless the phrase
   * `isAtStart`; the last word may match the beginning of a text, unless it `isAtEnd`. Returns null if a word matches none.
   */
  async accepting(
    phrase: readonly string[],
    { isAtStart, isAtEnd }: { readonly isAtStart: boolean; readonly isAtEnd: boolean },
    slice: TimeSlice,
  ): Promise<AcceptedTexts | null> {
    const accepted = new Uint32Array(this.count);
    let rarest: readonly number[] | null = null;
    for (const [place, word] of phrase.entries()) {
      const bytes = bytesOf(word);
      if (!this.mayContain(bytes)) return null;
      const begins = isAtStart || place > 0;
      const ends = isAtEnd || place < phrase.length - 1;
      const some: number[] = [];
      for (let number = 0; number < accepted.length; number += 1) {
        if (slice.isOverAt(number)) await slice.pause();
        if (!this.has(number, bytes, begins, ends)) continue;
        accepted[number] = (accepted[number] ?? 0) | (1 << place);
        if (some.length <= MAX_RAREST) some.push(number);
      }
      if (some.length === 0) return null;
      if (some.length <= (rarest?.length ?? MAX_RAREST)) rarest = some;
    }
    return { accepted, rarest };
  }

  /** Whether a text contains a word: anywhere, at its start, at its end, or as the whole text. */
  private has(number: number, word: Uint8Array, begins: boolean, ends: boolean): boolean {
    const { bytes, starts } = this;
    const from = starts[number] ?? 0;
    const to = starts[number + 1] ?? 0;
    const { length } = word;
    if (length > to - from || (begins && ends && length < to - from)) return false;
    if (!begins && !ends) return occurrenceOf(word, bytes, from, to) !== Occurrence.NONE;
    const start = begins ? from : to - length;
    let same = 0;
    while (same < length && bytes[start + same] === word[same]) same += 1;
    return same === length;
  }

  /** Returns how a word occurs in each text; null if it occurs in none. */
  occurrences(word: Uint8Array): Occurrences | null {
    if (!this.mayContain(word)) return null;
    const { bytes, starts, count } = this;
    const found = new Uint8Array(count);
    const some: number[] = [];
    for (let number = 0; number < count; number += 1) {
      const occurrence = occurrenceOf(word, bytes, starts[number] ?? 0, starts[number + 1] ?? 0);
      if (occurrence === Occurrence.NONE) continue;
      found[number] = occurrence;
      if (some.length <= MAX_RAREST) some.push(number);
    }
    return some.length === 0 ? null : { found, few: some.length > MAX_RAREST ? null : some };
  }

  /** Writes a text after all others, and returns where it ends. */
  private write(text: string, start: number): number {
    this.bytes = withRoom(this.bytes, start + 3 * text.length);
    const { bytes } = this;
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index);
      if (code >= 0x80) return start + ENCODER.encodeInto(text, bytes.subarray(start)).written;
      bytes[start + index] = code;
    }
    return start + text.length;
  }

  /** Returns the slot that holds an equal text, or an empty one. */
  private slotOf(start: number, end: number): number {
    const { bytes, slots, starts } = this;
    const mask = slots.length - 1;
    for (let slot = hashOf(bytes, start, end) & mask; ; slot = (slot + 1) & mask) {
      const number = slots[slot] ?? EMPTY;
      if (number === EMPTY) return slot;
      const from = starts[number] ?? 0;
      if ((starts[number + 1] ?? 0) - from !== end - start) continue;
      let same = 0;
      while (start + same < end && bytes[from + same] === bytes[start + same]) same += 1;
      if (start + same === end) return slot;
    }
  }

  private rehash(): void {
    this.slots = new Int32Array(2 * this.slots.length).fill(EMPTY);
    for (let number = 0; number < this.count; number += 1) {
      const slot = this.slotOf(this.starts[number] ?? 0, this.starts[number + 1] ?? 0);
      this.slots[slot] = number;
    }
  }
}

/** FNV-1a, with a final mix for its low bits. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let at = start; at < end; at += 1) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193);
  return hash ^ (hash >>> 15);
}

/**
 * Returns how a word occurs in the text at these bytes: at the beginning of a word if no letter or digit precedes it
 * somewhere.
 */
export function occurrenceOf(word: Uint8Array, bytes: Uint8Array, from: number, to: number): number {
  const { length } = word;
  const first = word[0];
  let found: number = Occurrence.NONE;
  for (let at = from, last = to - length; at <= last; at += 1) {
    if (bytes[at] !== first) continue;
    let same = 1;
    while (same < length && bytes[at + same] === word[same]) same += 1;
    if (same < length) continue;
    if (beginsWord(bytes, from, at)) return Occurrence.AT_WORD_START;
    found = Occurrence.INSIDE;
  }
  return found;
}

const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u;
const IS_ASCII_LETTER_OR_DIGIT = Uint8Array.from({ length: 128 }, (_, code) =>
  LETTER_OR_DIGIT.test(String.fromCharCode(code)) ? 1 : 0,
);

function beginsWord(bytes: Uint8Array, from: number, at: number): boolean {
  if (at === from) return true;
  const before = bytes[at - 1] ?? 0;
  if (before < 0x80) return IS_ASCII_LETTER_OR_DIGIT[before] === 0;
  let start = at - 1;
  while (start > from && ((bytes[start] ?? 0) & 0xc0) === 0x80) start -= 1;
  return !LETTER_OR_DIGIT.test(DECODER.decode(bytes.subarray(start, at)));
}

/** Copies the first texts of concatenated ones, without spare room. Text n is at `starts[n]` to `starts[n + 1]`. */
export function firstTexts(
  count: number,
  bytes: Uint8Array,
  starts: Uint32Array,
): [bytes: Uint8Array, starts: Uint32Array] {
  return [bytes.slice(0, starts[count]), starts.slice(0, count + 1)];
}

/** Concatenates some of these texts in another order. */
export async function gatherTexts(
  order: Int32Array,
  bytes: Uint8Array,
  starts: Uint32Array,
  slice: TimeSlice,
): Promise<[bytes: Uint8Array, starts: Uint32Array]> {
  const newStarts = new Uint32Array(order.length + 1);
  order.forEach((number, position) => {
    newStarts[position + 1] = (newStarts[position] ?? 0) + (starts[number + 1] ?? 0) - (starts[number] ?? 0);
  });
  const gathered = new Uint8Array(newStarts[order.length] ?? 0);
  for (let position = 0; position < order.length; position += 1) {
    if (slice.isOverAt(position)) await slice.pause();
    const number = order[position] ?? 0;
    gathered.set(bytes.subarray(starts[number], starts[number + 1]), newStarts[position]);
  }
  return [gathered, newStarts];
}

export function compareBytes(
  one: Uint8Array,
  oneStart: number,
  oneEnd: number,
  other: Uint8Array,
  otherStart: number,
  otherEnd: number,
): number {
  const length = Math.min(oneEnd - oneStart, otherEnd - otherStart);
  for (let at = 0; at < length; at += 1) {
    const difference = (one[oneStart + at] ?? 0) - (other[otherStart + at] ?? 0);
    if (difference !== 0) return difference;
  }
  return oneEnd - oneStart - (otherEnd - otherStart);
}

/** Returns a test of the numbers below `count` that searches a block of them when it is first asked about one. */
export function inBlocks(
  count: number,
  search: (first: number, end: number, add: (number: number) => void) => void,
): (number: number) => boolean {
  const blocks: Uint8Array[] = [];
  const searched = (at: number): Uint8Array => {
    const found = new Uint8Array(BLOCK);
    const first = at * BLOCK;
    search(first, Math.min(first + BLOCK, count), (number) => (found[number - first] = 1));
    return (blocks[at] = found);
  };
  return (number) => {
    const at = Math.floor(number / BLOCK);
    return (blocks[at] ?? searched(at))[number % BLOCK] === 1;
  };
}

/**
 * Calls `each` for the texts from `first` to `end` that contain these bytes. The native search is several times faster than
 * one of ours.
 */
export function eachWith(
  bytes: Buffer,
  texts: Uint8Array,
  starts: Uint32Array,
  first: number,
  end: number,
  each: (number: number) => void,
): void {
  const start = starts[first] ?? 0;
  const range = Buffer.from(texts.buffer, texts.byteOffset + start, (starts[end] ?? 0) - start);
  let number = first;
  for (let at = range.indexOf(bytes); at !== -1;) {
    while ((starts[number + 1] ?? 0) <= start + at) number += 1;
    const next = (starts[number + 1] ?? 0) - start;
    const isInside = at + bytes.length <= next;
    if (isInside) each(number);
    at = range.indexOf(bytes, isInside ? next : at + 1);
  }
}
