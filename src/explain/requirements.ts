import type { Caller } from '../auth/caller.js';
import type { Judgement, Recorder } from '../authz/access-policy.js';
import type { ArrayValues, Claims } from '../claims/claims.js';

/** Required claims, and how to interpret arrays in them. */
export interface Condition {
  readonly required: Claims;
  readonly arrays: ArrayValues;
}

/** Longer arrays are summarized by their length. */
const MAX_NAMED = 20;

/** reference/explain: describes conditions in one sentence, such as `org is acme and team is both platform and data`. */
export function sentenceOf(conditions: readonly Condition[]): string {
  const clauses = conditions.flatMap(({ required, arrays }) =>
    Object.entries(required).map(([key, wanted]) => `${key} is ${valuesOf([wanted].flat(), arrays)}`),
  );
  return [...new Set(clauses)].join(' and ');
}

/**
 * Combines two sets of required claims. If one value of an array is enough (`any`), keeps the values that satisfy both
 * sets.
 *
 * @returns undefined if no single set of claims can express both.
 */
export function bothOf(one: Claims, other: Claims, arrays: ArrayValues): Claims | undefined {
  const joined = new Map<string, string | readonly string[]>(Object.entries(one));
  for (const [key, wanted] of Object.entries(other)) {
    const before = joined.get(key);
    if (before === undefined) {
      joined.set(key, wanted);
      continue;
    }
    const [held, more] = [[before].flat(), new Set([wanted].flat())];
    const values =
      arrays === 'all' ? [...new Set([...held, ...more])] : held.filter((value) => more.has(value));
    const [first] = values;
    if (first === undefined) return undefined;
    joined.set(key, values.length === 1 ? first : values);
  }
  return Object.fromEntries(joined);
}

function valuesOf(values: readonly string[], arrays: ArrayValues): string {
  const named = [...new Set(values)];
  if (named.length > MAX_NAMED) return `${arrays === 'all' ? 'all' : 'one'} of ${named.length} values`;
  const [first = ''] = named;
  if (named.length === 1) return first;
  const list = `${named.slice(0, -1).join(', ')} ${arrays === 'all' ? 'and' : 'or'} ${named.at(-1) ?? ''}`;
  if (arrays === 'any') return list;
  return named.length === 2 ? `both ${list}` : `all of ${list}`;
}

/**
 * Returns the smallest claims that satisfy these where one value of an array is enough: one for each choice of values.
 *
 * @param most the maximum number of results; the rest is left out.
 */
export function alternatives(claims: Claims, most = Infinity): Claims[] {
  return Object.entries(claims).reduce<Claims[]>(
    (found, [key, values]) =>
      pairsOf(found, [values].flat(), most).map(([one, value]) => ({ ...one, [key]: value })),
    [{}],
  );
}

/**
 * Returns the claims of each pair together.
 *
 * @param most the maximum number of pairs; the rest is left out.
 */
export function joined(some: readonly Claims[], others: readonly Claims[], most = Infinity): Claims[] {
  return pairsOf(some, others, most).flatMap(([one, other]) => {
    const both = bothOf(one, other, 'all');
    return both ? [both] : [];
  });
}

/** Stops at `most` pairs: all of them may be too many. */
function pairsOf<T, U>(some: readonly T[], others: readonly U[], most: number): [T, U][] {
  const pairs: [T, U][] = [];
  for (const one of some)
    for (const other of others) {
      if (pairs.length >= most) return pairs;
      pairs.push([one, other]);
    }
  return pairs;
}

export const EVERYBODY = 'every caller';
export const SUPER_ADMINS = 'super-admins only';
/** A caller without claims, used to find out what the policy requires of everyone. */
export const WITHOUT_CLAIMS: Caller = { subject: null, issuer: null, claims: {}, identified: true };

/** Returns what a check of the policy requires of callers. */
export function requirementOf(
  check: (record: Recorder) => boolean,
): Condition | typeof EVERYBODY | typeof SUPER_ADMINS {
  let judgement: Judgement | undefined;
  if (check((recorded) => (judgement = recorded))) return EVERYBODY;
  const { required, arrays } = judgement ?? {};
  return required && arrays ? { required, arrays } : SUPER_ADMINS;
}
