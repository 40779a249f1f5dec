import { type Claims, covers, heldValues } from './claims.js';

const NONE: ReadonlySet<string> = new Set();
/** Values that are shown of what is held of one key. */
const MAX_HELD = 20;

/** How an array in required claims is read (contract §5). */
export type ArrayValues = 'all' | 'any';

/** One value that is not held and would have to be. */
export interface MissingClaim {
  readonly key: string;
  readonly needs: string;
  /** What is held of this key, as it is compared. */
  readonly held: readonly string[];
  /** Where one of several values is enough: all of them. */
  readonly anyOf?: readonly string[];
}

/**
 * What of `required` is not held (contract §10), the least that is enough: with all of it `covers` holds, and with all but one value
 * it does not. Where one of several values is enough it is the first.
 */
export function findMissing(
  held: Readonly<Record<string, unknown>>,
  required: Claims,
  arrays: ArrayValues,
): MissingClaim[] {
  return Object.entries(required).flatMap(([key, wanted]) => {
    if (covers(held, { [key]: wanted }, arrays)) return [];
    const own = Object.hasOwn(held, key) ? heldValues(held[key]) : NONE;
    const texts = [...own].slice(0, MAX_HELD);
    const values = [...new Set([wanted].flat())];
    const lacking = values.filter((value) => !own.has(value));
    if (arrays === 'all' || values.length < 2) return lacking.map((needs) => ({ key, needs, held: texts }));
    return lacking.slice(0, 1).map((needs) => ({ key, needs, held: texts, anyOf: values }));
  });
}

/** These claims and what is missing of others. */
export function withClaims(
  held: Readonly<Record<string, unknown>>,
  missing: readonly Pick<MissingClaim, 'key' | 'needs'>[],
): Record<string, unknown> {
  const more = new Map<string, unknown>(Object.entries(held));
  for (const { key, needs } of missing) {
    const before = more.get(key);
    more.set(key, before === undefined ? needs : [before, needs].flat());
  }
  return Object.fromEntries(more);
}
