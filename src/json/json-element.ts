export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_BRACKET = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSE_BRACKET = 0x5d;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;
const SPACE = 0x20;

/** The text is no JSON, judged by its brackets and strings. */
export class JsonSliceError extends Error {}

/** What a byte outside of strings is. */
const enum Kind {
  Other,
  WhiteSpace,
  Quote,
  Open,
  Close,
  Colon,
  /** Of a number or a word. */
  Token,
}

const KINDS = kindsOfBytes();

/** Reads one element of an array, piece by piece, and writes it without the white space between its tokens. */
export class ElementScan {
  /** Its length without white space. */
  written = 0;
  /** Keys of all its objects. */
  keys = 0;
  /** How deep its arrays and objects are nested. */
  depth = 0;
  /** Where the string began that is being read; -1 outside of strings. */
  quotedFrom = -1;
  private readonly opened: number[] = [];
  /** The last byte that is no white space. */
  private last = COMMA;
  private isBehindGap = false;

  /**
   * @param position of its first byte; where it has ended, of the "," or "]" behind it.
   * @param target what is longer than that is lost, and counted all the same.
   */
  constructor(
    private readonly bytes: Buffer,
    public position: number,
    private readonly target: Buffer,
  ) {}

  /**
   * Nearly all bytes of a file pass through here: what each of them needs is kept in local variables.
   *
   * @returns whether the element has ended.
   * @throws JsonSliceError when a bracket closes nothing.
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
        // A blank inside a number or a word would vanish and glue its halves together: keep one, and let JSON.parse judge.
        if (kind === Kind.Token && KINDS[last] === Kind.Token) {
          target[written] = SPACE;
          written += 1;
        }
        isBehindGap = false;
      }
      if (kind === Kind.Quote) quotedFrom = position;
      else if (kind === Kind.Open) this.depth = Math.max(this.depth, opened.push(byte));
      else if (kind === Kind.Colon) this.keys += 1;
      else if (opened.length === 0 && (byte === COMMA || byte === CLOSE_BRACKET)) {
        hasEnded = true;
        break;
      } else if (kind === Kind.Close) checkCloses(opened.pop(), byte, position);
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

/** @throws JsonSliceError when a closing bracket is not that of the one that was opened last. */
export function checkCloses(opener: number | undefined, closer: number, position: number): void {
  if (opener !== (closer === CLOSE_BRACE ? OPEN_BRACE : OPEN_BRACKET))
    throw new JsonSliceError(`the bracket at byte ${position} closes nothing`);
}

export function neverClosed(start: number): JsonSliceError {
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
