const BITS = 32;

/** Elements of a set of numbers below `count`: number n is bit n % 32 of element n / 32. */
export function elementsFor(count: number): number {
  return Math.ceil(count / BITS);
}

export function hasBit(set: Int32Array, number: number): boolean {
  return (((set[number >>> 5] ?? 0) >>> (number & 31)) & 1) === 1;
}

export function addBit(set: Int32Array, number: number): void {
  const element = number >>> 5;
  set[element] = (set[element] ?? 0) | (1 << (number & 31));
}

/**
 * Removes numbers that fail a test from some elements of a set.
 *
 * @param among only these numbers are tested; undefined: all.
 */
export function retain(
  set: Int32Array,
  [from, to]: readonly [number, number],
  passes: (number: number) => boolean,
  among?: Int32Array,
): void {
  for (let element = from; element < to; element += 1) {
    let kept = set[element] ?? 0;
    let left = among ? kept & (among[element] ?? 0) : kept;
    while (left !== 0) {
      const lowest = left & -left;
      left ^= lowest;
      if (!passes((element << 5) + 31 - Math.clz32(lowest))) kept ^= lowest;
    }
    set[element] = kept;
  }
}

/** Calls `visit` with the numbers in some elements of a set, in ascending order. */
export function forEachBit(
  set: Int32Array,
  [from, to]: readonly [number, number],
  visit: (number: number) => void,
): void {
  for (let element = from; element < to; element += 1)
    for (let left = set[element] ?? 0; left !== 0; left &= left - 1)
      visit((element << 5) + 31 - Math.clz32(left & -left));
}

/** Removes the numbers of one set from some elements of another. */
export function subtract(set: Int32Array, other: Int32Array, [from, to]: readonly [number, number]): void {
  for (let element = from; element < to; element += 1)
    set[element] = (set[element] ?? 0) & ~(other[element] ?? 0);
}

/** Returns how many numbers some elements of a set have. */
export function countBits(set: Int32Array, [from, to]: readonly [number, number]): number {
  let count = 0;
  for (let element = from; element < to; element += 1) {
    let pairs = set[element] ?? 0;
    pairs -= (pairs >>> 1) & 0x55555555;
    pairs = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
    count += Math.imul((pairs + (pairs >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
  }
  return count;
}
