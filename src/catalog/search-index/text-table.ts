import type { TimeSlice } from '../../json/time-slice.js';
import { NumberReader, withRoom } from './packed-numbers.js';

/** How a word occurs in a text. */
export const Occurrence = { NONE: 0, INSIDE: 1, AT_WORD_START: 2 } as const;

const ENCODER = new TextEncoder();
const DECODER = new TextDecoder();
const EMPTY = -1;
const MAX_LOAD = 0.7;

export function bytesOf(text: string): Uint8Array {
  return ENCODER.encode(text);
}

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
    return this.added(this.write(text, this.starts[this.count] ?? 0));
  }

  /** Like `add`, for bytes that are no text. */
  addBytes(bytes: Uint8Array): number {
    const start = this.starts[this.count] ?? 0;
    const end = start + bytes.length;
    this.bytes = withRoom(this.bytes, end);
    this.bytes.set(bytes, start);
    return this.added(end);
  }

  /** Returns the number of the text that ends here and was written after all others. */
  private added(end: number): number {
    const slot = this.slotOf(this.starts[this.count] ?? 0, end);
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

  /** Returns how a word occurs in a text, see `Occurrence`. */
  occurrence(word: Uint8Array, number: number): number {
    return occurrenceOf(word, this.bytes, this.starts[number] ?? 0, this.starts[number + 1] ?? 0);
  }

  /** Whether a text contains a word: anywhere, at its start, at its end, or as the whole text. */
  has(word: Uint8Array, number: number, begins: boolean, ends: boolean): boolean {
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

  /** Reads numbers that were added as bytes. */
  reader(number: number): NumberReader {
    return new NumberReader(this.bytes, this.starts[number]);
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

/** Whether a word occurs in the text at these bytes. */
export function isWithin(word: Uint8Array, bytes: Uint8Array, from: number, to: number): boolean {
  const { length } = word;
  const first = word[0];
  for (let at = from, last = to - length; at <= last; at += 1) {
    if (bytes[at] !== first) continue;
    let same = 1;
    while (same < length && bytes[at + same] === word[same]) same += 1;
    if (same === length) return true;
  }
  return false;
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
