import { isDeepStrictEqual } from 'node:util';
import { isPlainMap, memberIssue } from './claim-rules.js';

/**
 * Labels of a source, registry or entry, or a map that grants a role: a flat map of keys to a value or a set of values
 * (contract §5).
 */
export type Claims = Readonly<Record<string, string | readonly string[]>>;

/**
 * One text for all claims that mean the same: keys sorted, arrays sorted and without repetitions. An array of one value
 * is written as that value, because the matcher treats `team: a` and `team: [a]` alike. The text is JSON.
 */
export function canonicalClaims(claims: Claims): string {
  // Written by hand: an object would put keys that look like numbers first, whatever the order they are added in.
  const members = Object.keys(claims)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${JSON.stringify(canonicalValue(claims[key] ?? []))}`);
  return `{${members.join(',')}}`;
}

/**
 * contract §5: claims come back as they were given, arrays in their order and of one value too. What is kept for that beside the
 * canonical form; null when that says it already. Repeated values are not kept: they mean nothing, and take room.
 */
export function givenForm(claims: Claims): Claims | null {
  const given = shownForm(claims);
  return isDeepStrictEqual(given, JSON.parse(canonicalClaims(claims))) ? null : given;
}

/** Claims as they will be shown once they are stored. */
export function shownForm(claims: Claims): Claims {
  return Object.fromEntries(
    Object.entries(claims).map(([key, value]) => [
      key,
      typeof value === 'string' ? value : [...new Set(value)],
    ]),
  );
}

/** Claims in the form that was kept, or, when that is of others by now, as they are. */
export function asGiven(claims: Claims, given: Claims | null): Claims {
  return given !== null && equalClaims(claims, given) ? given : claims;
}

function canonicalValue(value: string | readonly string[]): string | string[] {
  if (typeof value === 'string') return value;
  const values = [...new Set(value)].sort();
  const [first] = values;
  return first !== undefined && values.length === 1 ? first : values;
}

/** Do the two mean the same? Order and repetitions do not count. */
export function equalClaims(one: Claims, other: Claims): boolean {
  return canonicalClaims(one) === canonicalClaims(other);
}

/**
 * contract §5, spec §2.2: does the caller hold everything the resource requires? AND over the keys of `required`; a key
 * the caller lacks fails; a held array matches by any of its elements. Everybody covers `{}`.
 *
 * Fails closed: a `required` that is no map, or has a member that is neither a string nor a flat, non-empty array of
 * strings, is covered by nobody.
 *
 * @param held the caller's claims, straight from the token: any JSON. Numbers and booleans compare by their JSON text.
 * @param required the resource's claims, or those a request wants to set.
 * @param arrays what an array in `required` asks for: `all` its values (always so for writes) or `any` of them (role
 *   rules, and reads with `arrayValues: any`).
 */
export function covers(held: Record<string, unknown>, required: unknown, arrays: 'all' | 'any'): boolean {
  if (!isPlainMap(required)) return false;
  return Object.entries(required).every(([key, wanted]) => {
    // Own members only: `constructor` in a rule must not be satisfied by what every object inherits.
    if (key === '' || !Object.hasOwn(held, key) || memberIssue(wanted) !== undefined) return false;
    const values = heldValues(held[key]);
    if (!Array.isArray(wanted)) return values.has(wanted as string);
    return arrays === 'all'
      ? wanted.every((value) => values.has(value))
      : wanted.some((value) => values.has(value));
  });
}

/**
 * contract §7: does everybody who covers `claims` cover `required` too? Then what is labelled with `claims` is opened to
 * nobody for whom `required` is too much. Fails closed, as `covers` does.
 *
 * @param arrays how an array on a resource is read: with `any`, each further value opens it to more callers.
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

/** Lists of more values than that are made ready to be compared once: thousands of claim sets may ask for the same key. */
const LONG_LIST = 16;
// Nobody changes what was read from a token.
const readyLists = new WeakMap<readonly unknown[], ReadonlySet<string>>();

/** What of a claim that is held can be compared, as texts. */
export function heldValues(value: unknown): ReadonlySet<string> {
  if (!Array.isArray(value)) return comparable([value]);
  if (value.length <= LONG_LIST) return comparable(value);
  const ready = readyLists.get(value) ?? comparable(value);
  readyLists.set(value, ready);
  return ready;
}

function comparable(values: readonly unknown[]): ReadonlySet<string> {
  return new Set(values.flatMap((element) => claimText(element) ?? []));
}

/** contract §5: the text by which a value of a token is compared; undefined for what is compared with nothing. */
export function claimText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  // Beyond 2^53 the text that stood in the token is lost, and two tenants would look alike.
  const isScalar =
    typeof value === 'boolean' ||
    (typeof value === 'number' && (Number.isSafeInteger(value) || isFraction(value)));
  return isScalar ? JSON.stringify(value) : undefined;
}

function isFraction(value: number): boolean {
  return Number.isFinite(value) && !Number.isInteger(value);
}

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
