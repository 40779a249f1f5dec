import { TimeSlice } from './time-slice.js';

/** One element of a sliced array, still text. */
export interface Slice {
  /** The key of the array it stands in. */
  readonly list: string;
  readonly index: number;
  /**
   * The element with the white space between its tokens removed; numbers and strings are as they were written. Null when
   * that is longer than the slicer was told to keep: such an element is only known to close its brackets and strings.
   */
  readonly text: string | null;
  /** The length of that text in UTF-8. */
  readonly bytes: number;
  /** Keys of all objects in it, counted where they are written, so that a key given twice counts twice. */
  readonly keys: number;
  /** How deep its arrays and objects are nested. */
  readonly depth: number;
}

/** The text is no JSON, as far as its brackets and strings tell. */
export class JsonSliceError extends Error {}

/** The text is JSON, but two readers could read two things out of it. */
export class RepeatedKeyError extends JsonSliceError {
  constructor(readonly path: string) {
    super(`the key "${path}" is given twice`);
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const BLANK = 0x20;
const CHECK_EVERY = 16_384;
const SHORT_PIECE = 64;
const MAX_KEY_BYTES = 64;
const MAX_OUTER_DEPTH = 100;
const MAX_OUTER_BYTES = 1024 * 1024;

/**
 * Cuts the elements of the arrays at `data.<list>`, or at `<list>`, out of one large JSON text, without ever building the
 * whole of it: a document of any size is read in short slices of time, and each element keeps its own spelling.
 *
 * Only brackets, strings and the keys on the way to the lists are understood here. Each element's text, and the rest of
 * the text with those arrays emptied (`skeleton`), have to go through JSON.parse, which checks everything else.
 *
 * @throws JsonSliceError when brackets or strings do not close.
 * @throws RepeatedKeyError when the way to a list, or one of the lists, is given twice, in whatever spelling.
 */
export class JsonSlicer {
  /** After `slices()` has ended: the text around the elements, the sliced arrays empty. */
  skeleton = '';
  /** Keys of all objects in the skeleton, counted like those of a slice. */
  skeletonKeys = 0;
  private readonly seen = new Set<string>();
  private readonly slice = new TimeSlice();
  private readonly scratch: Buffer;
  private position = 0;
  private nextCheck = CHECK_EVERY;
  private outerBytes = 0;

  constructor(
    private readonly bytes: Buffer,
    private readonly lists: readonly string[],
    private readonly maxElementBytes: number,
    /** Where the lists are: a registry file has them in `data`, an answer of an API at the top. */
    private readonly below: 'data' | 'top' = 'data',
  ) {
    // Elements are put together here: making strings of their pieces takes far longer than copying bytes.
    this.scratch = Buffer.allocUnsafeSlow(Math.min(maxElementBytes, bytes.length));
  }

  async *slices(): AsyncGenerator<Slice> {
    const path: string[] = [];
    const opened: number[] = [];
    let keptFrom = 0;
    let key = '';
    while (this.position < this.bytes.length) {
      if (this.isDue()) await this.slice.pause();
      const byte = this.bytes[this.position];
      if (byte === QUOTE) {
        const start = this.position;
        this.position += 1;
        while (!this.endsString(start)) await this.slice.pause();
        key = this.keyFrom(start);
        continue;
      }
      if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        const list = byte === OPEN_BRACKET && this.isWay(path, opened) ? key : null;
        if (list !== null && this.lists.includes(list)) {
          this.see(this.pathOf(list));
          this.keepOuter(keptFrom, this.position + 1);
          this.position += 1;
          yield* this.elements(list);
          // The closing bracket stays in the skeleton.
          keptFrom = this.position;
          this.position += 1;
          continue;
        }
        if (this.below === 'data' && opened.length === 1 && key === 'data') this.see('data');
        if (opened.push(byte) > MAX_OUTER_DEPTH)
          throw new JsonSliceError(
            `the text around the entries is nested deeper than ${MAX_OUTER_DEPTH} levels`,
          );
        path[opened.length - 1] = key;
        key = '';
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) this.checkCloses(opened.pop(), byte);
      else if (byte === COMMA) key = '';
      else if (byte === COLON) this.skeletonKeys += 1;
      this.position += 1;
    }
    if (opened.length > 0) throw new JsonSliceError('the text ends before its last bracket is closed');
    this.keepOuter(keptFrom, this.bytes.length);
  }

  private isWay(path: readonly string[], opened: readonly number[]): boolean {
    if (this.below === 'top') return opened.length === 1 && opened[0] === OPEN_BRACE;
    return opened.length === 2 && path[1] === 'data';
  }

  private pathOf(list: string): string {
    return this.below === 'top' ? list : `data.${list}`;
  }

  private see(path: string): void {
    if (this.seen.has(path)) throw new RepeatedKeyError(path);
    this.seen.add(path);
  }

  private keepOuter(from: number, to: number): void {
    this.outerBytes += to - from;
    if (this.outerBytes > MAX_OUTER_BYTES)
      throw new JsonSliceError('there is more than 1 MiB of text around the entries');
    this.skeleton += this.bytes.toString('utf8', from, to);
  }

  // Keys are compared by what they say: "s\u0065rvers" is another spelling of "servers".
  private keyFrom(start: number): string {
    if (this.position - start > MAX_KEY_BYTES) return '';
    try {
      return String(JSON.parse(this.bytes.toString('utf8', start, this.position)));
    } catch {
      // It stays in the skeleton, which will be found malformed.
      return '';
    }
  }

  // From behind the "[" to the "]" that closes the list.
  private async *elements(list: string): AsyncGenerator<Slice> {
    for (let index = 0; ; index += 1) {
      const element = await this.element(list, index);
      const end = this.bytes[this.position];
      const isLast = end === CLOSE_BRACKET;
      // "[]" holds nothing; "[1,]" holds an element without text, which JSON.parse will refuse.
      if (element.text !== '' || index > 0 || !isLast) yield element;
      if (isLast) return;
      this.position += 1;
    }
  }

  // Stops at the "," or "]" behind the element.
  private async element(list: string, index: number): Promise<Slice> {
    const opened: number[] = [];
    let from = this.position;
    let bytes = 0;
    let keys = 0;
    let depth = 0;
    const keep = () => {
      const length = this.position - from;
      if (bytes + length <= this.maxElementBytes) copy(this.bytes, from, this.position, this.scratch, bytes);
      bytes += length;
    };
    for (;;) {
      if (this.isDue()) await this.slice.pause();
      const byte = this.bytes[this.position];
      if (byte === undefined) throw new JsonSliceError(`the text ends inside ${this.pathOf(list)}[${index}]`);
      if (byte === QUOTE) {
        const start = this.position;
        this.position += 1;
        while (!this.endsString(start)) await this.slice.pause();
        continue;
      }
      if (opened.length === 0 && (byte === COMMA || byte === CLOSE_BRACKET)) break;
      if (isBlank(byte)) {
        keep();
        const joins = isWordByte(this.bytes[this.position - 1]);
        while (!this.endsBlank()) await this.slice.pause();
        from = this.position;
        // A blank inside a number or a word would vanish and glue its halves together: keep one, and let JSON.parse judge.
        if (joins && isWordByte(this.bytes[this.position])) {
          if (bytes < this.maxElementBytes) this.scratch[bytes] = BLANK;
          bytes += 1;
        }
        continue;
      }
      if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth = Math.max(depth, opened.push(byte));
      else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) this.checkCloses(opened.pop(), byte);
      else if (byte === COLON) keys += 1;
      this.position += 1;
    }
    keep();
    const text = bytes <= this.maxElementBytes ? this.scratch.toString('utf8', 0, bytes) : null;
    return { list, index, text, bytes, keys, depth };
  }

  // Counted in bytes, not in steps: one step may pass a long string.
  private isDue(): boolean {
    if (this.position < this.nextCheck) return false;
    this.nextCheck = this.position + CHECK_EVERY;
    return true;
  }

  // Goes on inside a string, and stops behind its closing quote (true) or when it is time to pause. Nearly all bytes pass
  // through here or through endsBlank: what is looked at for each of them is kept in variables.
  private endsString(start: number): boolean {
    const { bytes } = this;
    const end = Math.min(this.position + CHECK_EVERY, bytes.length);
    let position = this.position;
    while (position < end) {
      const byte = bytes[position];
      position += byte === BACKSLASH ? 2 : 1;
      if (byte !== QUOTE) continue;
      this.position = position;
      return true;
    }
    this.position = position;
    if (position >= bytes.length)
      throw new JsonSliceError(`the string that begins at byte ${start} is never closed`);
    return false;
  }

  // Goes on in white space, and stops behind it (true) or when it is time to pause.
  private endsBlank(): boolean {
    const { bytes } = this;
    const end = Math.min(this.position + CHECK_EVERY, bytes.length);
    let position = this.position;
    while (position < end && isBlank(bytes[position])) position += 1;
    this.position = position;
    return position < end || position === bytes.length;
  }

  private checkCloses(opener: number | undefined, closer: number): void {
    if (opener !== (closer === CLOSE_BRACE ? OPEN_BRACE : OPEN_BRACKET))
      throw new JsonSliceError(`the bracket at byte ${this.position} closes nothing`);
  }
}

// Most pieces are so short that calling Buffer.copy takes longer than to copy them.
function copy(bytes: Buffer, from: number, end: number, target: Buffer, at: number): void {
  if (end - from > SHORT_PIECE) bytes.copy(target, at, from, end);
  else
    for (let read = from, write = at; read < end; read += 1, write += 1)
      target[write] = bytes[read] as number;
}

function isBlank(byte: number | undefined): boolean {
  return byte === BLANK || byte === 0x0a || byte === 0x0d || byte === 0x09;
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
