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

/** Writes numbers with variable length, 7 bits in each byte, and returns the array and where they end. */
export function writeNumbers(
  array: Uint8Array,
  start: number,
  numbers: readonly number[],
): [array: Uint8Array, end: number] {
  const written = withRoom(array, start + 5 * numbers.length);
  let at = start;
  for (let value of numbers) {
    for (; value > 127; value >>>= 7) written[at++] = (value & 127) | 128;
    written[at++] = value;
  }
  return [written, at];
}

/** Returns numbers as `writeNumbers` writes them. */
export function bytesOfNumbers(numbers: readonly number[]): Uint8Array {
  const [written, end] = writeNumbers(new Uint8Array(0), 0, numbers);
  return written.subarray(0, end);
}

/** Numbers with their count in front, as `NumberReader.groupHas` reads them. */
export function counted(numbers: readonly number[]): number[] {
  return [numbers.length, ...numbers];
}

/** Reads what `writeNumbers` wrote. */
export class NumberReader {
  constructor(
    private readonly numbers: Uint8Array,
    public at = 0,
  ) {}

  next(): number {
    let byte = this.numbers[this.at++] ?? 0;
    let value = byte & 127;
    for (let shift = 7; byte > 127; shift += 7) {
      byte = this.numbers[this.at++] ?? 0;
      value |= (byte & 127) << shift;
    }
    return value;
  }

  skip(count: number): void {
    for (let left = count; left > 0; left -= 1) while ((this.numbers[this.at++] ?? 0) > 127);
  }

  /** Reads a count and as many numbers; returns whether `wanted` is one of them, or undefined. */
  groupHas(wanted: number | undefined): boolean {
    let has = wanted === undefined;
    for (let left = this.next(); left > 0; left -= 1) if (this.next() === wanted) has = true;
    return has;
  }

  /** Reads a count and as many numbers, until one passes; returns whether one did. */
  groupPasses(test: (number: number) => boolean): boolean {
    for (let left = this.next(); left > 0; left -= 1) if (test(this.next())) return true;
    return false;
  }
}
