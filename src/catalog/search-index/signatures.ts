import { TimeSlice } from '../../json/time-slice.js';
import { addBit, elementsFor, hasBit } from './bit-sets.js';

const SPACE = 0x20;
const HASHED = 256;
const LETTERS_AND_DIGITS = 'abcdefghijklmnopqrstuvwxyz0123456789';
/** Characters with a slice of their own: printable ASCII in lower case. */
const CHARACTERS = `${LETTERS_AND_DIGITS}!"#$%&'()*+,-./:;<=>?@[\\]^_\`{|}~`;
const STARTS = 64;
const LONGEST_START = 3;
const FIRST_START = HASHED + CHARACTERS.length;
const HAS_OTHERS = FIRST_START + STARTS;
const SLICES = HAS_OTHERS + 1;

/**
 * Bits for each entry: one for each printable ASCII character in its texts; one for each pair of adjacent characters and three
 * for each other character, by a hash; one for each beginning of a word in its name and title, by a hash; and one if it has
 * other texts. An entry can only contain a word if it has all bits of the word, which excludes most entries without reading
 * them.
 *
 * Bits are stored by slice: all entries' first bits, then all second bits. A search reads only the slices of its words, 32
 * entries at once.
 */
export class Signatures {
  static readonly BYTES = SLICES / 8;

  private slices = new Int32Array(0);
  /** Elements of each slice. */
  private width = 0;
  /** The newest element of each slice, which is written only before it is read or when the next one begins. */
  private readonly newest = new Int32Array(SLICES);
  private newestElement = 0;
  private isWritten = true;

  /**
   * Adds the entry with the next number.
   *
   * @param titles its name and title, in lower case.
   * @param own texts that ranked searches look at, in lower case.
   * @param others further texts that lists look at; null if they are unknown, so the entry may contain any word.
   */
  add(
    number: number,
    titles: readonly string[],
    own: readonly string[],
    others: readonly string[] | null,
  ): void {
    const element = number >>> 5;
    if (element !== this.newestElement) this.write();
    this.newestElement = element;
    this.isWritten = false;
    const { newest } = this;
    const bit = 1 << (number & 31);
    if (others) for (const text of [...own, ...others]) mark(text, newest, bit);
    else for (let slice = 0; slice < SLICES; slice += 1) newest[slice] = (newest[slice] ?? 0) | bit;
    for (const text of titles) markStarts(text, newest, bit);
    if (!others || others.length > 0) newest[HAS_OTHERS] = (newest[HAS_OTHERS] ?? 0) | bit;
  }

  /** Returns the slices in which an entry with these words in lower case has its bits. */
  slicesOf(words: readonly string[]): readonly number[] {
    const marked = new Int32Array(SLICES);
    for (const word of words) mark(word, marked, 1);
    return Array.from(marked.keys()).filter((slice) => marked[slice] === 1);
  }

  /** Returns the slices in which an entry has its bits if these words are at the beginning of words in its name or title. */
  slicesOfStarts(words: readonly string[]): readonly number[] {
    const marked = new Int32Array(SLICES);
    for (const word of words) markStart(word, 0, marked, 1);
    return Array.from(marked.keys()).filter((slice) => marked[slice] === 1);
  }

  /** Removes entries that lack a bit in one of these slices from some elements of a set. */
  restrict(set: Int32Array, slices: readonly number[], [from, to]: readonly [number, number]): void {
    this.write();
    for (const slice of slices) {
      const start = slice * this.width;
      for (let element = from; element < to; element += 1)
        set[element] = (set[element] ?? 0) & (this.slices[start + element] ?? 0);
    }
  }

  /** Whether an entry without other texts contains a word if it has the bits of the word. */
  isExact(word: string): boolean {
    return word.length === 1 && CHARACTERS.includes(word);
  }

  /** The set of entries with other texts. */
  get withOthers(): Int32Array {
    this.write();
    return this.slices.subarray(HAS_OTHERS * this.width, SLICES * this.width);
  }

  /** Keeps these entries alone, in this order. */
  async gather(order: Int32Array): Promise<void> {
    this.write();
    const pausing = new TimeSlice();
    const width = elementsFor(order.length);
    const gathered = new Int32Array(SLICES * width);
    const isInOrder = order.every((number, position) => number === position);
    const beyond = order.length % 32 === 0 ? 0 : -1 << (order.length % 32);
    for (let slice = 0; slice < SLICES; slice += 1) {
      await pausing.pause();
      const from = this.slices.subarray(slice * this.width, (slice + 1) * this.width);
      const to = gathered.subarray(slice * width, (slice + 1) * width);
      if (isInOrder) {
        to.set(from.subarray(0, width));
        if (width > 0) to[width - 1] = (to[width - 1] ?? 0) & ~beyond;
        continue;
      }
      for (let position = 0; position < order.length; position += 1) {
        if (pausing.isOverAt(position)) await pausing.pause();
        if (hasBit(from, order[position] ?? 0)) addBit(to, position);
      }
    }
    this.slices = gathered;
    this.width = width;
  }

  private write(): void {
    if (this.isWritten) return;
    const { newest, newestElement: element } = this;
    if (element >= this.width) this.widen(element + 1);
    for (let slice = 0; slice < SLICES; slice += 1) {
      const at = slice * this.width + element;
      this.slices[at] = (this.slices[at] ?? 0) | (newest[slice] ?? 0);
    }
    newest.fill(0);
    this.isWritten = true;
  }

  private widen(elements: number): void {
    const width = Math.max(elements, Math.ceil(1.5 * this.width));
    const larger = new Int32Array(SLICES * width);
    for (let slice = 0; slice < SLICES; slice += 1)
      larger.set(this.slices.subarray(slice * this.width, (slice + 1) * this.width), slice * width);
    this.slices = larger;
    this.width = width;
  }
}

/** The slice of each of `CHARACTERS`; 0 for other characters. */
const SLICE_OF = new Uint16Array(0x80);
for (let at = 0; at < CHARACTERS.length; at += 1) SLICE_OF[CHARACTERS.charCodeAt(at)] = HASHED + at;

function isLetterOrDigit(code: number): boolean {
  const slice = SLICE_OF[code] ?? 0;
  return slice !== 0 && slice < HASHED + LETTERS_AND_DIGITS.length;
}

/** Adds a bit to the slices of a text. */
function mark(text: string, slices: Int32Array, bit: number): void {
  let before = SPACE;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code > SPACE) {
      if (before > SPACE) add(slices, hashed((before << 8) ^ code), bit);
      add(slices, SLICE_OF[code] || hashed(code), bit);
      if (code >= 0x80) {
        add(slices, hashed(code << 16), bit);
        add(slices, hashed(~code), bit);
      }
    }
    before = code;
  }
}

/** Adds a bit to the slices of all beginnings of words in a text, and possibly of others: see `Occurrence.AT_WORD_START`. */
function markStarts(text: string, slices: Int32Array, bit: number): void {
  for (let at = 0; at < text.length; at += 1)
    if (at === 0 || !isLetterOrDigit(text.charCodeAt(at - 1))) markStart(text, at, slices, bit);
}

/** Adds a bit to the slices of a beginning with one, two and three characters, if it is as long. */
function markStart(text: string, start: number, slices: Int32Array, bit: number): void {
  let value = 0;
  for (let at = start; at < Math.min(text.length, start + LONGEST_START); at += 1) {
    const code = text.charCodeAt(at);
    if (code <= SPACE) return;
    value = Math.imul(value + code, 0x01000193);
    add(slices, FIRST_START + (Math.imul(value, 0x9e3779b1) >>> 26), bit);
  }
}

function add(slices: Int32Array, slice: number, bit: number): void {
  slices[slice] = (slices[slice] ?? 0) | bit;
}

function hashed(value: number): number {
  return Math.imul(value, 0x9e3779b1) >>> 24;
}
