const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Thrown for text whose brackets or strings are not valid JSON. */
export class JsonSliceError extends Error {}

/** Thrown when an object repeats a key: parsers differ in which value they use. */
export class RepeatedKeyError extends JsonSliceError {
  constructor(readonly path: string) {
    super(`the key "${path}" is given twice`);
  }
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
  /** Number of its values, including arrays and objects; the values of a repeated key count twice. */
  readonly values: number;
}

const MAX_KEY_BYTES = 64;
const MAX_SKELETON_DEPTH = 100;
const MAX_SKELETON_BYTES = 1024 * 1024;
/** With white space, an element may be this many times as long as the maximum. */
const MAX_SPACED = 4;

/**
 * Cuts the elements of the arrays at `data.<list>`, or at `<list>`, out of one JSON text without parsing the whole text, so
 * that each element keeps its original spelling. Cuts a text that is an array itself in the same way.
 *
 * Only brackets, strings and the keys that lead to the lists are checked here. Each element, and the rest of the text
 * with those arrays emptied (`skeleton`), must pass JSON.parse, which checks everything else.
 *
 * @throws JsonSliceError when brackets or strings are not closed.
 * @throws RepeatedKeyError when the key of a list, or `data`, is repeated, in any spelling.
 */
export class JsonSlicer {
  /** The text around the elements, with the sliced arrays empty; complete once `slices()` has ended. */
  skeleton = '';
  /** Number of keys in the skeleton, counted as in a slice. */
  skeletonKeys = 0;
  private readonly seen = new Set<string>();
  private position = 0;
  private skeletonBytes = 0;

  constructor(
    private readonly bytes: Buffer,
    private readonly lists: readonly string[],
    private readonly maxElementBytes: number,
    /**
     * The place of the lists: `data` as in a registry file, or the root object as in an API response. For `text`, the
     * only list is the text, and its key is empty.
     */
    private readonly parent: 'data' | 'root' | 'text' = 'data',
  ) {}

  /**
   * Returns a whole text as one slice.
   *
   * @throws JsonSliceError when brackets or strings are not closed.
   */
  static whole(text: Buffer, maxBytes: number): Slice {
    const slicer = new JsonSlicer(Buffer.concat([text, Buffer.of(CLOSE_BRACKET)]), [], maxBytes, 'text');
    const slice = slicer.element('', 0);
    if (slicer.position < text.length) throw new JsonSliceError('it does not end after its first value');
    return slice;
  }

  *slices(): Generator<Slice> {
    const { bytes } = this;
    const path: string[] = [];
    const opened: number[] = [];
    let skeletonFrom = 0;
    let key = '';
    for (; this.position < bytes.length; this.position += 1) {
      const byte = bytes[this.position];
      if (byte === QUOTE) {
        const end = endOfString(bytes, this.position);
        key = this.keyBetween(this.position, end);
        this.position = end - 1;
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        if (byte === OPEN_BRACKET && this.isListPlace(path, opened) && this.lists.includes(key)) {
          this.markSeen(this.pathOf(key));
          this.position += 1;
          this.appendSkeleton(skeletonFrom);
          yield* this.elements(key);
          // The closing bracket stays in the skeleton.
          skeletonFrom = this.position;
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
    }
    if (opened.length > 0) throw new JsonSliceError('the text ends before its last bracket is closed');
    this.appendSkeleton(skeletonFrom);
  }

  private isListPlace(path: readonly string[], opened: readonly number[]): boolean {
    if (this.parent === 'text') return opened.length === 0 && this.seen.size === 0;
    if (this.parent === 'root') return opened.length === 1 && opened[0] === OPEN_BRACE;
    return opened.length === 2 && path[1] === 'data';
  }

  private pathOf(list: string): string {
    return this.parent === 'data' ? `data.${list}` : list;
  }

  private markSeen(path: string): void {
    if (this.seen.has(path)) throw new RepeatedKeyError(path);
    this.seen.add(path);
  }

  private appendSkeleton(from: number): void {
    this.skeletonBytes += this.position - from;
    if (this.skeletonBytes > MAX_SKELETON_BYTES)
      throw new JsonSliceError('there is more than 1 MiB of text around the entries');
    this.skeleton += this.bytes.toString('utf8', from, this.position);
  }

  // Keys are compared by their value: "s\u0065rvers" is another spelling of "servers".
  private keyBetween(start: number, end: number): string {
    if (end - start > MAX_KEY_BYTES) return '';
    try {
      return String(JSON.parse(this.bytes.toString('utf8', start, end)));
    } catch {
      // The invalid key stays in the skeleton, which JSON.parse will refuse.
      return '';
    }
  }

  // Starts after the "[" and reads up to the "]" that closes the list.
  private *elements(list: string): Generator<Slice> {
    for (let index = 0; ; index += 1) {
      const element = this.element(list, index);
      const isLast = this.bytes[this.position] === CLOSE_BRACKET;
      // "[]" has no element; "[1,]" has an empty one, which JSON.parse will refuse.
      if (element.text !== '' || index > 0 || !isLast) yield element;
      if (isLast) return;
      this.position += 1;
    }
  }

  // Stops at the "," or "]" after the element.
  private element(list: string, index: number): Slice {
    const { bytes } = this;
    const start = this.position;
    const opened: number[] = [];
    let [keys, values, depth, hasGaps, last] = [0, 1, 0, false, COMMA];
    for (; this.position < bytes.length; this.position += 1) {
      const byte = bytes[this.position] as number;
      if (isWhiteSpace(byte)) {
        hasGaps = true;
        continue;
      }
      if (byte === QUOTE) this.position = endOfString(bytes, this.position) - 1;
      else if (opened.length === 0 && (byte === COMMA || byte === CLOSE_BRACKET)) {
        const { text, length } = this.textOf(start, hasGaps);
        return { list, index, text, bytes: length, keys, depth, values };
      } else if (byte === COMMA) values += 1;
      else if (byte === COLON) keys += 1;
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        depth = Math.max(depth, opened.push(byte));
        values += 1;
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        checkCloses(opened.pop(), byte, this.position);
        // Each bracket was counted with the first value in it.
        if (last === OPEN_BRACE || last === OPEN_BRACKET) values -= 1;
      }
      last = byte;
    }
    throw new JsonSliceError(`the text ends inside ${this.pathOf(list)}[${index}]`);
  }

  private textOf(start: number, hasGaps: boolean): { text: string | null; length: number } {
    const length = this.position - start;
    if (length > this.maxElementBytes * (hasGaps ? MAX_SPACED : 1)) return { text: null, length };
    const written = this.bytes.subarray(start, this.position);
    const kept = hasGaps ? withoutGaps(written) : written;
    return { text: kept.length <= this.maxElementBytes ? kept.toString() : null, length: kept.length };
  }
}

function isWhiteSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/**
 * Drops the white space between tokens, unless that would join two numbers or words. A regular expression would exhaust
 * its stack on long texts.
 */
function withoutGaps(text: Buffer): Buffer {
  const kept = Buffer.allocUnsafe(text.length);
  let length = 0;
  for (let position = 0; position < text.length;) {
    const from = position;
    const byte = text[position] as number;
    if (byte === QUOTE) position = endOfString(text, position);
    else if (isWhiteSpace(byte)) {
      while (isWhiteSpace(text[position])) position += 1;
      if (!isWordByte(text[from - 1]) || !isWordByte(text[position])) continue;
    } else position += 1;
    if (position - from === 1) kept[length] = byte;
    else text.copy(kept, length, from, position);
    length += position - from;
  }
  return kept.subarray(0, length);
}

/** Whether a number or a word can contain the byte: a letter, a digit, or one of `_`, `.`, `+` and `-`. */
function isWordByte(byte: number | undefined): boolean {
  return byte !== undefined && /[\w.+-]/.test(String.fromCharCode(byte));
}

/** Returns the position after the string that begins here. */
function endOfString(bytes: Buffer, start: number): number {
  for (let position = start + 1; position < bytes.length; position += bytes[position] === BACKSLASH ? 2 : 1)
    if (bytes[position] === QUOTE) return position + 1;
  throw new JsonSliceError(`the string that begins at byte ${start} is never closed`);
}

/** @throws JsonSliceError when a closing bracket does not match the most recent open bracket. */
function checkCloses(opener: number | undefined, closer: number, position: number): void {
  if (opener !== (closer === CLOSE_BRACE ? OPEN_BRACE : OPEN_BRACKET))
    throw new JsonSliceError(`the closing bracket at byte ${position} has no matching opening bracket`);
}
