import { withRoom } from './packed-numbers.js';

const LANES = 4;
const BITS_OF_A_LANE = 32;
const SPACE = 0x20;

/**
 * 128 bits for each entry: one for each pair of adjacent characters in its texts, and for each character that is neither an
 * small ASCII letter nor a digit, by a hash. An entry can only contain a word if it has all bits of the word, which excludes most
 * entries without reading them.
 */
export class Signatures {
  private bits = new Int32Array(0);

  static readonly BYTES = 4 * LANES;

  /** @param texts in lower case. */
  set(number: number, texts: readonly string[]): void {
    const from = number * LANES;
    this.bits = withRoom(this.bits, from + LANES);
    this.bits.fill(0, from, from + LANES);
    for (const text of texts) addBits(text, this.bits, from);
  }

  /** Returns a test of whether an entry may contain all of these words in lower case. */
  test(words: readonly string[]): (number: number) => boolean {
    const { bits } = this;
    const wanted = new Int32Array(LANES);
    for (const word of words) addBits(word, wanted, 0);
    const [first = 0, second = 0, third = 0, fourth = 0] = wanted;
    return (number) => {
      const from = number * LANES;
      return (
        ((bits[from] ?? 0) & first) === first &&
        ((bits[from + 1] ?? 0) & second) === second &&
        ((bits[from + 2] ?? 0) & third) === third &&
        ((bits[from + 3] ?? 0) & fourth) === fourth
      );
    };
  }

  /** Keeps these entries alone, in this order. */
  gather(order: Int32Array): void {
    const gathered = new Int32Array(order.length * LANES);
    for (let position = 0; position < order.length; position += 1) {
      const from = (order[position] ?? 0) * LANES;
      for (let lane = 0; lane < LANES; lane += 1)
        gathered[position * LANES + lane] = this.bits[from + lane] ?? 0;
    }
    this.bits = gathered;
  }
}

function addBits(text: string, bits: Int32Array, from: number): void {
  let before = SPACE;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code > SPACE) {
      if (before > SPACE) addBit((before << 8) ^ code, bits, from);
      if (!isLetterOrDigit(code)) addBit(code, bits, from);
    }
    before = code;
  }
}

function isLetterOrDigit(code: number): boolean {
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x30 && code <= 0x39);
}

function addBit(value: number, bits: Int32Array, from: number): void {
  const bit = Math.imul(value, 0x9e3779b1) >>> 25;
  const lane = from + Math.floor(bit / BITS_OF_A_LANE);
  bits[lane] = (bits[lane] ?? 0) | (1 << (bit % BITS_OF_A_LANE));
}
