import { TimeSlice } from './time-slice.js';

export const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
export const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const SPACE = 0x20;

/** Thrown for text whose brackets or strings are not valid JSON. */
export class JsonSliceError extends Error {}

/** Classes of bytes outside strings. */
const enum Kind {
  Other,
  WhiteSpace,
  Quote,
  Open,
  Close,
  Colon,
  /** Part of a number or a word. */
  Token,
}

const KINDS = kindsOfBytes();

/** Reads one element of an array in pieces and copies it without white space between tokens. */
class ElementScan {
  /** Bytes written so far, without white space. */
  written = 0;
  /** Number of keys in all objects so far. */
  keys = 0;
  /** Number of values so far, arrays and objects included. */
  values = 1;
  /** Deepest nesting of arrays and objects so far. */
  depth = 0;
  /** Start of the current string; -1 outside strings. */
  quotedFrom = -1;
  private readonly opened: number[] = [];
  /** The last byte that is not white space. */
  private last = COMMA;
  private isBehindGap = false;

  /**
   * @param position offset of the next byte; at the end, the offset of the "," or "]" after the element.
   * @param target receives the copy; bytes beyond its length are dropped but counted.
   */
  constructor(
    private readonly bytes: Buffer,
    public position: number,
    private readonly target: Buffer,
  ) {}

  /**
   * Nearly all bytes of a file pass through here, so the hot state is kept in local variables.
   *
   * @returns whether the element has ended.
   * @throws JsonSliceError when a closing bracket has no matching opening bracket.
   */
  advance(steps: number): boolean {
    const { bytes, target, opened } = this;
    const end = Math.min(this.position + steps, bytes.length);
    let { position, written, quotedFrom, last, isBehindGap } = this;
    let hasEnded = false;
    while (position < end) {
      let byte = bytes[position] as number;
      if (quotedFrom >= 0) {
        while (position < end) {
          byte = bytes[position] as number;
          target[written] = byte;
          written += 1;
          position += 1;
          if (byte === QUOTE) {
            quotedFrom = -1;
            break;
          }
          if (byte !== BACKSLASH) continue;
          target[written] = bytes[position] as number;
          written += 1;
          position += 1;
        }
        last = QUOTE;
        continue;
      }
      const kind = KINDS[byte] as Kind;
      if (kind === Kind.WhiteSpace) {
        position += 1;
        while (position < end && KINDS[bytes[position] as number] === Kind.WhiteSpace) position += 1;
        isBehindGap = true;
        continue;
      }
      if (isBehindGap) {
        // Dropping white space inside a number or a word would join its halves, so one blank is kept, which JSON.parse
        // rejects.
        if (kind === Kind.Token && KINDS[last] === Kind.Token) {
          target[written] = SPACE;
          written += 1;
        }
        isBehindGap = false;
      }
      if (kind === Kind.Quote) quotedFrom = position;
      else if (kind === Kind.Open) {
        this.depth = Math.max(this.depth, opened.push(byte));
        this.values += 1;
      } else if (kind === Kind.Colon) this.keys += 1;
      else if (opened.length === 0 && (byte === COMMA || byte === CLOSE_BRACKET)) {
        hasEnded = true;
        break;
      } else if (byte === COMMA) this.values += 1;
      else if (kind === Kind.Close) {
        checkCloses(opened.pop(), byte, position);
        // Each bracket was counted with the first value in it.
        if (last === OPEN_BRACE || last === OPEN_BRACKET) this.values -= 1;
      }
      target[written] = byte;
      written += 1;
      position += 1;
      last = byte;
    }
    this.position = position;
    this.written = written;
    this.quotedFrom = quotedFrom;
    this.last = last;
    this.isBehindGap = isBehindGap;
    return hasEnded;
  }
}

/** @throws JsonSliceError when a closing bracket does not match the most recent open bracket. */
function checkCloses(opener: number | undefined, closer: number, position: number): void {
  if (opener !== (closer === CLOSE_BRACE ? OPEN_BRACE : OPEN_BRACKET))
    throw new JsonSliceError(`the closing bracket at byte ${position} has no matching opening bracket`);
}

function neverClosed(start: number): JsonSliceError {
  return new JsonSliceError(`the string that begins at byte ${start} is never closed`);
}

function kindsOfBytes(): Uint8Array {
  const kinds = new Uint8Array(256);
  const set = (characters: string, kind: Kind) => {
    for (const byte of Buffer.from(characters)) kinds[byte] = kind;
  };
  set(' \t\r\n', Kind.WhiteSpace);
  set('"', Kind.Quote);
  set('[{', Kind.Open);
  set(']}', Kind.Close);
  set(':', Kind.Colon);
  set('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+-.', Kind.Token);
  return kinds;
}

/** One element of a sliced array, as text. */
export interface Slice {
  /** The key of its array. */
  readonly list: string;
  readonly index: number;
  /**
   * The element without white space between tokens; numbers and strings keep their spelling. Null for an element longer
   * than the limit: only its brackets and strings were checked.
   */
  readonly text: string | null;
  /** The length of the element's text in UTF-8. */
  readonly bytes: number;
  /** Number of keys in all objects of the element; a repeated key counts twice. */
  readonly keys: number;
  /** Nesting depth of its arrays and objects. */
  readonly depth: number;
  /** Number of its values, arrays and objects included; the values of a repeated key count twice. */
  readonly values: number;
}

/** Thrown when an object repeats a key: parsers differ in which value they use. */
export class RepeatedKeyError extends JsonSliceError {
  constructor(readonly path: string) {
    super(`the key "${path}" is given twice`);
  }
}

const PAUSE_CHECK_BYTES = 16_384;
const MAX_KEY_BYTES = 64;
const MAX_SKELETON_DEPTH = 100;
const MAX_SKELETON_BYTES = 1024 * 1024;

/**
 * Cuts the elements of the arrays at `data.<list>`, or at `<list>`, out of one large JSON text without parsing the
 * whole text. A document of any size is read in short time slices, and each element keeps its original spelling.
 *
 * Only brackets, strings and the keys that lead to the lists are checked here. Each element, and the rest of the text
 * with those arrays emptied (`skeleton`), must pass JSON.parse, which checks everything else.
 *
 * @throws JsonSliceError when brackets or strings are not closed.
 * @throws RepeatedKeyError when the key of a list, or `data`, is repeated, in any spelling.
 */
export class JsonSlicer {
  /** Once `slices()` has ended: the text around the elements, with the sliced arrays empty. */
  skeleton = '';
  /** Number of keys in the skeleton, counted as in a slice. */
  skeletonKeys = 0;
  private readonly seen = new Set<string>();
  private readonly slice = new TimeSlice();
  private readonly scratch: Buffer;
  private position = 0;
  private nextPauseCheck = PAUSE_CHECK_BYTES;
  private skeletonBytes = 0;

  constructor(
    private readonly bytes: Buffer,
    private readonly lists: readonly string[],
    private readonly maxElementBytes: number,
    /** Where the lists are: in `data` as in a registry file, or in the root object as in an API response. */
    private readonly parent: 'data' | 'root' = 'data',
  ) {
    // Copying the bytes of an element is much faster than joining strings.
    this.scratch = Buffer.allocUnsafeSlow(Math.min(maxElementBytes, bytes.length));
  }

  async *slices(): AsyncGenerator<Slice> {
    const path: string[] = [];
    const opened: number[] = [];
    let skeletonFrom = 0;
    let key = '';
    while (this.position < this.bytes.length) {
      if (this.shouldPause()) await this.slice.pause();
      const byte = this.bytes[this.position];
      if (byte === QUOTE) {
        const start = this.position;
        this.position += 1;
        while (!this.skipString(start)) await this.slice.pause();
        key = this.keyFrom(start);
        continue;
      }
      if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        const list = byte === OPEN_BRACKET && this.isListPlace(path, opened) ? key : null;
        if (list !== null && this.lists.includes(list)) {
          this.markSeen(this.pathOf(list));
          this.appendSkeleton(skeletonFrom, this.position + 1);
          this.position += 1;
          yield* this.elements(list);
          // The closing bracket stays in the skeleton.
          skeletonFrom = this.position;
          this.position += 1;
          continue;
        }
        if (this.parent === 'data' && opened.length === 1 && key === 'data') this.markSeen('data');
        if (opened.push(byte) > MAX_SKELETON_DEPTH)
          throw new JsonSliceError(
            `the text around the entries is nested deeper than ${MAX_SKELETON_DEPTH} levels`,
          );
        path[opened.length - 1] = key;
        key = '';
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET)
        checkCloses(opened.pop(), byte, this.position);
      else if (byte === COMMA) key = '';
      else if (byte === COLON) this.skeletonKeys += 1;
      this.position += 1;
    }
    if (opened.length > 0) throw new JsonSliceError('the text ends before its last bracket is closed');
    this.appendSkeleton(skeletonFrom, this.bytes.length);
  }

  private isListPlace(path: readonly string[], opened: readonly number[]): boolean {
    if (this.parent === 'root') return opened.length === 1 && opened[0] === OPEN_BRACE;
    return opened.length === 2 && path[1] === 'data';
  }

  private pathOf(list: string): string {
    return this.parent === 'root' ? list : `data.${list}`;
  }

  private markSeen(path: string): void {
    if (this.seen.has(path)) throw new RepeatedKeyError(path);
    this.seen.add(path);
  }

  private appendSkeleton(from: number, to: number): void {
    this.skeletonBytes += to - from;
    if (this.skeletonBytes > MAX_SKELETON_BYTES)
      throw new JsonSliceError('there is more than 1 MiB of text around the entries');
    this.skeleton += this.bytes.toString('utf8', from, to);
  }

  // Keys are compared by their value: "s\u0065rvers" is another spelling of "servers".
  private keyFrom(start: number): string {
    if (this.position - start > MAX_KEY_BYTES) return '';
    try {
      return String(JSON.parse(this.bytes.toString('utf8', start, this.position)));
    } catch {
      // The invalid key stays in the skeleton, which JSON.parse will refuse.
      return '';
    }
  }

  // Starts after the "[" and reads up to the "]" that closes the list.
  private async *elements(list: string): AsyncGenerator<Slice> {
    for (let index = 0; ; index += 1) {
      const element = await this.element(list, index);
      const end = this.bytes[this.position];
      const isLast = end === CLOSE_BRACKET;
      // "[]" has no element; "[1,]" has an empty one, which JSON.parse will refuse.
      if (element.text !== '' || index > 0 || !isLast) yield element;
      if (isLast) return;
      this.position += 1;
    }
  }

  // Stops at the "," or "]" after the element.
  private async element(list: string, index: number): Promise<Slice> {
    const { bytes, scratch } = this;
    const scan = new ElementScan(bytes, this.position, scratch);
    while (!scan.advance(PAUSE_CHECK_BYTES)) {
      if (scan.position < bytes.length) await this.slice.pause();
      else if (scan.quotedFrom >= 0) throw neverClosed(scan.quotedFrom);
      else throw new JsonSliceError(`the text ends inside ${this.pathOf(list)}[${index}]`);
    }
    this.position = scan.position;
    const { written, keys, depth, values } = scan;
    const text = written <= this.maxElementBytes ? scratch.toString('utf8', 0, written) : null;
    return { list, index, text, bytes: written, keys, depth, values };
  }

  // Counts bytes, not steps: one step may skip a long string.
  private shouldPause(): boolean {
    if (this.position < this.nextPauseCheck) return false;
    this.nextPauseCheck = this.position + PAUSE_CHECK_BYTES;
    return true;
  }

  // Skips the rest of a string; returns true after its closing quote, false when it is time to pause.
  private skipString(start: number): boolean {
    const { bytes } = this;
    const end = Math.min(this.position + PAUSE_CHECK_BYTES, bytes.length);
    let position = this.position;
    while (position < end) {
      const byte = bytes[position];
      position += byte === BACKSLASH ? 2 : 1;
      if (byte !== QUOTE) continue;
      this.position = position;
      return true;
    }
    this.position = position;
    if (position >= bytes.length) throw neverClosed(start);
    return false;
  }
}
