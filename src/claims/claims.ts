import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../json/json-values.js';

/** A problem with a claims value. `key` is the invalid member; it is absent if the entire value is invalid. */
export interface ClaimsIssue {
  readonly key?: string;
  readonly message: string;
}

export const MAX_CLAIMS = 100;
export const MAX_VALUES_PER_CLAIM = 1_000;
/** reference/limits: the maximum number of claim values in one body. */
export const MAX_CLAIM_VALUES = 1_000;

/** reference/access: claims that identify a token, not its holder. */
const OF_ONE_TOKEN: readonly string[] = ['jti', 'iat', 'exp', 'nbf'];

// PostgreSQL's jsonb accepts neither NUL nor lone surrogates.
const UNSTORABLE = /\0|\p{Surrogate}/u;

/**
 * reference/access: claims are strings or flat, non-empty arrays of strings, and are never named `jti`, `iat`, `exp` or
 * `nbf`. Checks claims from the configuration, the API and annotations.
 *
 * @returns one issue per invalid member; none if the value is `Claims`.
 */
export function findClaimsIssues(value: unknown): ClaimsIssue[] {
  if (!isPlainMap(value)) return [{ message: 'must be a map of claims' }];
  if (Object.keys(value).length > MAX_CLAIMS)
    return [{ message: `must not have more than ${MAX_CLAIMS} claims` }];
  return Object.entries(value).flatMap(([key, member]) => {
    if (key === '') return [{ key, message: 'a claim must have a name' }];
    // Copying an object with this key would lose the key or set the copy's prototype.
    if (key === '__proto__') return [{ key, message: 'is not a valid claim name' }];
    if (UNSTORABLE.test(key)) return [{ key, message: 'has a name with characters that cannot be stored' }];
    if (OF_ONE_TOKEN.includes(key))
      return [{ key, message: 'identifies a token and cannot be used as a claim' }];
    const message = memberIssue(member);
    return message === undefined ? [] : [{ key, message }];
  });
}

/** Returns the issues as sentences that mention the invalid member. */
export function claimsProblems(value: unknown): string[] {
  return findClaimsIssues(value).map(({ key, message }) =>
    key === undefined ? message : `${JSON.stringify(key)} ${message}`,
  );
}

/** Returns the problem with one claim's value; undefined if the value is valid. */
function memberIssue(member: unknown): string | undefined {
  const values: unknown[] = Array.isArray(member) ? member : [member];
  if (values.length === 0) return 'must not be an empty list';
  if (values.length > MAX_VALUES_PER_CLAIM) return `must not have more than ${MAX_VALUES_PER_CLAIM} values`;
  if (!values.every((value): value is string => typeof value === 'string'))
    return 'must be a string or a list of strings';
  return values.some((value) => UNSTORABLE.test(value)) ? 'has characters that cannot be stored' : undefined;
}

/**
 * Whether this is a plain object. A Date or a Map has no own members and would be mistaken for `{}`, which every caller
 * covers.
 */
function isPlainMap(value: unknown): value is Record<string, unknown> {
  if (!isObject(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** OpenAPI schema of one claim's value, the component `ClaimValue`; client generators need a name for a union. */
export const CLAIM_VALUE_SCHEMA = {
  oneOf: [
    { type: 'string' as const },
    { type: 'array' as const, items: { type: 'string' as const }, minItems: 1 },
  ],
};

/** OpenAPI schema of claims; `findClaimsIssues` is stricter. */
export const CLAIMS_SCHEMA = {
  type: 'object' as const,
  additionalProperties: { $ref: '#/components/schemas/ClaimValue' },
  example: { org: 'acme', team: ['platform'] },
};

/**
 * Claims of a source, registry, entry or role rule: a flat map from keys to a value or a set of values (reference/access).
 */
export type Claims = Readonly<Record<string, string | readonly string[]>>;

/**
 * Returns the same JSON text for all equivalent claims: keys and arrays are sorted, and duplicates removed. An array of
 * one value becomes the value itself, because the matcher treats `team: a` and `team: [a]` alike.
 */
export function canonicalClaims(claims: Claims): string {
  // JSON.stringify would put the integer keys of an object first.
  const members = Object.keys(claims)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${JSON.stringify(canonicalValue(claims[key] ?? []))}`);
  return `{${members.join(',')}}`;
}

/**
 * Returns the form to store alongside the canonical form, because the API returns claims as given (reference/access): arrays
 * keep their order, and arrays of one value stay arrays. Returns null if both forms are equal.
 */
export function givenForm(claims: Claims): Claims | null {
  const given = shownForm(claims);
  return isDeepStrictEqual(given, JSON.parse(canonicalClaims(claims))) ? null : given;
}

/** Claims as returned by the API: as given, without repeated values. */
export function shownForm(claims: Claims): Claims {
  return Object.fromEntries(
    Object.entries(claims).map(([key, value]) => [
      key,
      typeof value === 'string' ? value : [...new Set(value)],
    ]),
  );
}

/** Returns the given form if it is still equivalent to the claims, else the canonical form. */
export function asGiven(claims: Claims, given: Claims | null): Claims {
  return given !== null && equalClaims(claims, given) ? given : claims;
}

function canonicalValue(value: string | readonly string[]): string | string[] {
  if (typeof value === 'string') return value;
  const values = [...new Set(value)].sort();
  const [first] = values;
  return first !== undefined && values.length === 1 ? first : values;
}

/** Whether these claims are equivalent. Order and duplicates do not matter. */
export function equalClaims(one: Claims, other: Claims): boolean {
  return canonicalClaims(one) === canonicalClaims(other);
}

/**
 * reference/access: does the caller hold everything that the resource requires? Every key of `required` must
 * match; a held array matches if any of its elements does. Every caller covers `{}`.
 *
 * Fails closed: no caller covers a `required` value that is not a map, or that has a member that is neither a string
 * nor a flat, non-empty array of strings.
 *
 * @param held the caller's claims from the token, which may be any JSON. Numbers and booleans are compared as JSON
 *   text.
 * @param required the resource's claims, or the claims that a request sets.
 * @param arrays whether an array in `required` requires `all` of its values (always for writes) or `any` of them (role
 *   rules, and reads with `arrayValues: any`).
 */
export function covers(held: Record<string, unknown>, required: unknown, arrays: 'all' | 'any'): boolean {
  if (!isPlainMap(required)) return false;
  return Object.entries(required).every(([key, wanted]) => {
    // Only own members count: a rule with the key `constructor` must not match an inherited member.
    if (key === '' || !Object.hasOwn(held, key) || memberIssue(wanted) !== undefined) return false;
    const values = heldValues(held[key]);
    if (!Array.isArray(wanted)) return values.has(wanted as string);
    return arrays === 'all'
      ? wanted.every((value) => values.has(value))
      : wanted.some((value) => values.has(value));
  });
}

/**
 * reference/access: do all callers who cover `claims` also cover `required`? Fails closed, like `covers`.
 *
 * @param arrays how arrays in a resource's claims are read; with `any`, each additional value admits more callers.
 */
export function implies(claims: Claims, required: unknown, arrays: 'all' | 'any'): boolean {
  if (!covers(claims, required, arrays)) return false;
  return (
    arrays === 'all' ||
    Object.entries(required as Claims).every(([key, wanted]) =>
      [claims[key] ?? []].flat().every((value) => covers({ [key]: value }, { [key]: wanted }, arrays)),
    )
  );
}

/** The texts of lists longer than this are cached, because thousands of claim sets may require the same key. */
const LONG_LIST = 16;
// Entries never become stale, because a token's claims never change.
const cachedTexts = new WeakMap<readonly unknown[], ReadonlySet<string>>();

/** Returns the values of a held claim as texts to compare. */
function heldValues(value: unknown): ReadonlySet<string> {
  if (!Array.isArray(value)) return comparable([value]);
  if (value.length <= LONG_LIST) return comparable(value);
  const texts = cachedTexts.get(value) ?? comparable(value);
  cachedTexts.set(value, texts);
  return texts;
}

function comparable(values: readonly unknown[]): ReadonlySet<string> {
  return new Set(values.flatMap((element) => claimText(element) ?? []));
}

/** reference/access: returns the text to compare for a token's value; undefined if the value cannot match anything. */
export function claimText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  // Numbers beyond 2^53 are rounded, so the IDs of two tenants could become equal.
  const isScalar =
    typeof value === 'boolean' ||
    (typeof value === 'number' && (Number.isSafeInteger(value) || isFraction(value)));
  return isScalar ? JSON.stringify(value) : undefined;
}

function isFraction(value: number): boolean {
  return Number.isFinite(value) && !Number.isInteger(value);
}

const NONE: ReadonlySet<string> = new Set();
/** Maximum number of held values listed for a missing claim. */
const MAX_HELD = 20;

/** How an array in required claims is read (reference/access). */
export type ArrayValues = 'all' | 'any';

/** A required value that the caller does not hold. */
export interface MissingClaim {
  readonly key: string;
  readonly needs: string;
  /** The caller's values for this key. */
  readonly held: readonly string[];
  /** All accepted values, if one of several is enough. */
  readonly anyOf?: readonly string[];
}

/**
 * Returns the minimal missing values (reference/explain): `covers` succeeds with all of them and fails if any one of them is
 * left out. If one of several values is enough, returns the first.
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

/** Adds missing values to held claims. */
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
