import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';

type TokenClaims = Record<string, unknown>;

/** A refusal proves something only if the admitted caller differs from the refused one in a single claim. */
export function expectOneClaimApart(allowed: TokenClaims, refused: TokenClaims): void {
  const keys = [...new Set([...Object.keys(allowed), ...Object.keys(refused)])];
  const differing = keys.filter(
    (key) => !isDeepStrictEqual(ownMember(allowed, key), ownMember(refused, key)),
  );
  expect(differing, 'claims that differ between the callers').toHaveLength(1);
}

// A token may name `__proto__`: own members only.
function ownMember(claims: TokenClaims, key: string): unknown {
  return Object.getOwnPropertyDescriptor(claims, key)?.value as unknown;
}

export interface ClaimsPair {
  readonly rule: string;
  /** The claims of a resource. */
  readonly required: Record<string, string | string[]>;
  /** Token claims that cover them. */
  readonly covering: TokenClaims;
  /** Token claims that do not, differing in one claim. */
  readonly lacking: TokenClaims;
}

function pair(
  rule: string,
  required: ClaimsPair['required'],
  covering: TokenClaims,
  lacking: TokenClaims,
): ClaimsPair {
  return { rule, required, covering, lacking };
}

/** The rules checked for further resources, where the full table would repeat itself. */
const SELECTED = new Set([
  'a missing key',
  'every key must match',
  'any element of an array in the token',
  'an array requires all its values',
  'a number as JSON writes it',
  'upper and lower case differ',
  'inherited members are not held',
]);

const UNDER_PROTO = JSON.parse('{"__proto__":{"org":"acme"}}') as TokenClaims;

/**
 * reference/access, one rule per row. Every resource is checked with the same pairs: there is one
 * matcher.
 */
// oxfmt-ignore
export const CLAIMS_PAIRS: readonly ClaimsPair[] = [
  pair('more claims than required', { org: 'acme' }, { org: 'acme', team: 'x' }, { org: 'contoso', team: 'x' }),
  pair('a missing key', { org: 'acme' }, { team: 'x', org: 'acme' }, { team: 'x' }),
  pair('every key', { org: 'acme', team: 'web' }, { org: 'acme', team: 'web' }, { org: 'acme' }),
  pair('every key must match', { org: 'acme', team: 'web' }, { org: 'acme', team: 'web' }, { org: 'acme', team: 'data' }),
  pair('any element of an array in the token', { team: 'web' }, { team: ['data', 'web'] }, { team: ['data', 'ops'] }),
  pair('an empty array in the token', { team: 'web' }, { team: ['web'] }, { team: [] }),
  pair('a one-element array equals its value', { team: ['web'] }, { team: 'web' }, { team: 'data' }),
  pair('an array requires all its values', { team: ['web', 'data'] }, { team: ['data', 'web'] }, { team: ['data'] }),
  pair('one value for an array of two', { team: ['web', 'data'] }, { team: ['ops', 'web', 'data'] }, { team: 'web' }),
  pair('a number as JSON writes it', { level: '3' }, { level: 3 }, { level: 4 }),
  pair('a fraction as JSON writes it', { level: '1.5' }, { level: 1.5 }, { level: 15 }),
  pair('a number matches no other spelling', { level: '03' }, { level: '03' }, { level: 3 }),
  pair('numbers in an array', { level: '3' }, { level: [1, 3] }, { level: [1, 33] }),
  pair('true as JSON writes it', { staff: 'true' }, { staff: true }, { staff: false }),
  pair('true is neither yes nor 1', { staff: 'true' }, { staff: [true] }, { staff: 1 }),
  pair('null is no value', { org: 'null' }, { org: 'null' }, { org: null }),
  pair('an object is no value', { org: 'acme' }, { org: 'acme' }, { org: { acme: 'acme', name: 'acme' } }),
  pair('a nested array is no value', { org: 'acme' }, { org: ['acme'] }, { org: [['acme']] }),
  pair('upper and lower case differ', { org: 'acme' }, { org: 'acme' }, { org: 'Acme' }),
  pair('white space is significant', { org: 'acme' }, { org: 'acme' }, { org: 'acme ' }),
  pair('a substring does not match', { scope: 'read' }, { scope: ['read', 'write'] }, { scope: 'read write' }),
  pair('keys are case-sensitive', { org: 'acme' }, { Org: 'acme', org: 'acme' }, { Org: 'acme' }),
  pair('a dot is part of the key', { 'realm.role': 'a' }, { 'realm.role': 'a', realm: { role: 'a' } }, { realm: { role: 'a' } }),
  pair('the subject is an ordinary claim', { sub: 'pia' }, { sub: 'pia' }, { sub: 'dirk' }),
  pair('the empty string is a value', { org: '' }, { org: '' }, { org: [] }),
  pair('homoglyphs differ', { org: 'é' }, { org: 'é' }, { org: 'e\u0301' }),
  pair('inherited members are not held', { constructor: 'acme' }, { constructor: 'acme' }, {}),
  pair('inherited methods are not held', { hasOwnProperty: 'acme' }, { hasOwnProperty: 'acme' }, {}),
  pair('members of __proto__ are not held', { org: 'acme' }, { ...UNDER_PROTO, org: 'acme' }, UNDER_PROTO),
];

/** One pair for each likely way to bypass the shared matcher. */
export const SELECTED_PAIRS = CLAIMS_PAIRS.filter(({ rule }) => SELECTED.has(rule));
