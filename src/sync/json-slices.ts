import { TimeSlice } from './time-slice.js';

/** One element of a sliced array, still text. */
export interface Slice {
  /** The key of the array it stands in, below `data`. */
  readonly list: string;
  readonly index: number;
  /** The element with the white space between its tokens removed; numbers and strings are as they were written. */
  readonly text: string;
  /** Keys of all objects in it, counted where they are written, so that a key given twice counts twice. */
  readonly keys: number;
  /** How deep its arrays and objects are nested. */
  readonly depth: number;
}

/** The text is no JSON, as far as its brackets and strings tell. */
export class JsonSliceError extends Error {}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const CHECK_EVERY = 16_384;
const MAX_OUTER_DEPTH = 100;
const MAX_OUTER_BYTES = 4 * 1024 * 1024;

/**
 * Cuts the elements of the arrays at `data.<list>` out of one large JSON text, without ever building the whole of it: a
 * document of any size is read in short slices of time, and each element keeps its own spelling.
 *
 * Only brackets and strings are understood here. Each element's text, and the rest of the text with those arrays emptied
 * (`skeleton`), have to go through JSON.parse, which checks everything else.
 *
 * @throws JsonSliceError when brackets or strings do not close, or one of the lists stands there twice.
 */
export class JsonSlicer {
  /** After `slices()` has ended: the text around the elements, the sliced arrays empty. */
  skeleton = '';
  private readonly seen = new Set<string>();
  private position = 0;

  constructor(
    private readonly bytes: Buffer,
    private readonly lists: readonly string[],
  ) {}

  async *slices(): AsyncGenerator<Slice> {
    const slice = new TimeSlice();
    const path: string[] = [];
    const opened: number[] = [];
    let keptFrom = 0;
    let key = '';
    while (this.position < this.bytes.length) {
      const byte = this.bytes[this.position];
      if (byte === QUOTE) {
        const start = this.position;
        this.skipString();
        key = this.bytes.toString('utf8', start, this.position);
        continue;
      }
      if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        const list =
          byte === OPEN_BRACKET && opened.length === 2 && path[1] === '"data"' ? this.listOf(key) : null;
        if (list !== null) {
          this.skeleton += this.bytes.toString('utf8', keptFrom, this.position + 1);
          this.position += 1;
          yield* this.elements(list, slice);
          // The closing bracket stays in the skeleton.
          keptFrom = this.position;
          this.position += 1;
          continue;
        }
        if (opened.push(byte) > MAX_OUTER_DEPTH)
          throw new JsonSliceError(
            `the text around the entries is nested deeper than ${MAX_OUTER_DEPTH} levels`,
          );
        path[opened.length - 1] = key;
        key = '';
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        this.checkCloses(opened.pop(), byte);
      } else if (byte === COMMA) key = '';
      this.position += 1;
      if (this.position % CHECK_EVERY === 0) await slice.pause();
    }
    if (opened.length > 0) throw new JsonSliceError('the text ends before its last bracket is closed');
    if (this.skeleton.length + this.bytes.length - keptFrom > MAX_OUTER_BYTES)
      throw new JsonSliceError('there are more than 4 MiB of text around the entries');
    this.skeleton += this.bytes.toString('utf8', keptFrom);
  }

  private listOf(key: string): string | null {
    const list = this.lists.find((name) => key === `"${name}"`);
    if (list === undefined) return null;
    if (this.seen.has(list)) throw new JsonSliceError(`data.${list} stands there twice`);
    this.seen.add(list);
    return list;
  }

  // From behind the "[" to the "]" that closes the list.
  private async *elements(list: string, slice: TimeSlice): AsyncGenerator<Slice> {
    for (let index = 0; ; index += 1) {
      const element = await this.element(list, index, slice);
      const end = this.bytes[this.position];
      const isLast = end === CLOSE_BRACKET;
      // "[]" holds nothing; "[1,]" holds an element without text, which JSON.parse will refuse.
      if (element.text !== '' || index > 0 || !isLast) yield element;
      if (isLast) return;
      this.position += 1;
      await slice.pause();
    }
  }

  // Stops at the "," or "]" behind the element.
  private async element(list: string, index: number, slice: TimeSlice): Promise<Slice> {
    const parts: string[] = [];
    const opened: number[] = [];
    let from = this.position;
    let keys = 0;
    let depth = 0;
    for (let step = 1; ; step += 1) {
      if (step % CHECK_EVERY === 0) await slice.pause();
      const byte = this.bytes[this.position];
      if (byte === undefined) throw new JsonSliceError(`the text ends inside data.${list}[${index}]`);
      if (byte === QUOTE) {
        this.skipString();
        continue;
      }
      if (opened.length === 0 && (byte === COMMA || byte === CLOSE_BRACKET)) break;
      if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) {
        // A blank inside a number or a word would vanish and glue its halves together: keep one, and let JSON.parse judge.
        if (from < this.position) parts.push(this.bytes.toString('utf8', from, this.position));
        const joins = isWordByte(this.bytes[this.position - 1]);
        this.skipBlank();
        if (joins && isWordByte(this.bytes[this.position])) parts.push(' ');
        from = this.position;
        continue;
      }
      if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth = Math.max(depth, opened.push(byte));
      else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) this.checkCloses(opened.pop(), byte);
      else if (byte === COLON) keys += 1;
      this.position += 1;
    }
    if (from < this.position) parts.push(this.bytes.toString('utf8', from, this.position));
    return { list, index, text: parts.join(''), keys, depth };
  }

  private skipBlank(): void {
    for (;;) {
      const byte = this.bytes[this.position];
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return;
      this.position += 1;
    }
  }

  // From an opening quote to behind the closing one.
  private skipString(): void {
    const start = this.position;
    for (;;) {
      const quote = this.bytes.indexOf(QUOTE, this.position + 1);
      if (quote < 0) throw new JsonSliceError(`the string that begins at byte ${start} is never closed`);
      let backslashes = 0;
      while (this.bytes[quote - 1 - backslashes] === BACKSLASH) backslashes += 1;
      this.position = quote;
      if (backslashes % 2 === 0) break;
    }
    this.position += 1;
  }

  private checkCloses(opener: number | undefined, closer: number): void {
    if (opener !== (closer === CLOSE_BRACE ? OPEN_BRACE : OPEN_BRACKET))
      throw new JsonSliceError(`the bracket at byte ${this.position} closes nothing`);
  }
}

function isWordByte(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  return (
    (byte >= 0x30 && byte <= 0x39) ||
    (byte >= 0x41 && byte <= 0x5a) ||
    (byte >= 0x61 && byte <= 0x7a) ||
    byte === 0x2b ||
    byte === 0x2d ||
    byte === 0x2e
  );
}
