import { isDeepStrictEqual } from 'node:util';
import { createPatch, type Operation } from 'rfc6902';

/** The elements of two different lists are compared only if the product of their lengths is at most this. */
const MAX_PAIRS = 2_500;
/** Comparing nested lists takes time exponential in their depth; this many comparisons take about 40 ms. */
const MAX_COMPARISONS = 10_000;

/**
 * Returns a JSON Patch (RFC 6902) that changes one JSON value into another. Long lists that differ are replaced, and so is
 * the whole value if there is too much to compare.
 */
export function jsonDiff(before: unknown, after: unknown): Operation[] {
  let comparisons = 0;
  try {
    return createPatch(before, after, (one, other, pointer) => {
      comparisons += 1;
      if (comparisons > MAX_COMPARISONS) throw new RangeError('There is too much to compare');
      if (!Array.isArray(one) || !Array.isArray(other) || one.length * other.length <= MAX_PAIRS)
        return undefined;
      return isDeepStrictEqual(one, other) ? [] : [{ op: 'replace', path: pointer.toString(), value: other }];
    });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return [{ op: 'replace', path: '', value: after }];
  }
}
