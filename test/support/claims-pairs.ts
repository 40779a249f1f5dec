import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';

type TokenClaims = Record<string, unknown>;

/** A refusal proves something only beside the caller who is let in and differs from the refused one in a single claim. */
export function expectOneClaimApart(allowed: TokenClaims, refused: TokenClaims): void {
  const keys = [...new Set([...Object.keys(allowed), ...Object.keys(refused)])];
  const differing = keys.filter(
    (key) => !isDeepStrictEqual(ownMember(allowed, key), ownMember(refused, key)),
  );
  expect(differing, 'the claims in which the two callers differ').toHaveLength(1);
}

// A token may name `__proto__`: own members only.
function ownMember(claims: TokenClaims, key: string): unknown {
  return Object.getOwnPropertyDescriptor(claims, key)?.value as unknown;
}

export interface ClaimsPair {
  readonly rule: string;
  /** The claims of a resource. */
  readonly required: Record<string, string | string[]>;
  /** Claims of a token that cover them. */
  readonly covering: TokenClaims;
  /** Claims of a token that do not, and differ in one. */
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

/** The rules of those that are asked of a door beside others of the same resource. */
const TELLING = new Set([
  'a missing key',
  'every key has to match',
  'any element of a list in the token',
  'a list asks for all its values',
  'a number as JSON writes it',
  'upper and lower case differ',
  'what every object inherits is not held',
]);

const UNDER_PROTO = JSON.parse('{"__proto__":{"org":"acme"}}') as TokenClaims;

/** spec §2.2 and contract §5, a row a rule. The same pairs are asked of every door: it is one matcher. */
// prettier-ignore
export const CLAIMS_PAIRS: readonly ClaimsPair[] = [
  pair('more claims than required', { org: 'acme' }, { org: 'acme', team: 'x' }, { org: 'contoso', team: 'x' }),
  pair('a missing key', { org: 'acme' }, { team: 'x', org: 'acme' }, { team: 'x' }),
  pair('every key', { org: 'acme', team: 'web' }, { org: 'acme', team: 'web' }, { org: 'acme' }),
  pair('every key has to match', { org: 'acme', team: 'web' }, { org: 'acme', team: 'web' }, { org: 'acme', team: 'data' }),
  pair('any element of a list in the token', { team: 'web' }, { team: ['data', 'web'] }, { team: ['data', 'ops'] }),
  pair('an empty list in the token', { team: 'web' }, { team: ['web'] }, { team: [] }),
  pair('a list of one is that value', { team: ['web'] }, { team: 'web' }, { team: 'data' }),
  pair('a list asks for all its values', { team: ['web', 'data'] }, { team: ['data', 'web'] }, { team: ['data'] }),
  pair('one value for a list of two', { team: ['web', 'data'] }, { team: ['ops', 'web', 'data'] }, { team: 'web' }),
  pair('a number as JSON writes it', { level: '3' }, { level: 3 }, { level: 4 }),
  pair('a fraction as JSON writes it', { level: '1.5' }, { level: 1.5 }, { level: 15 }),
  pair('a number is no other spelling of it', { level: '03' }, { level: '03' }, { level: 3 }),
  pair('numbers in a list', { level: '3' }, { level: [1, 3] }, { level: [1, 33] }),
  pair('true as JSON writes it', { staff: 'true' }, { staff: true }, { staff: false }),
  pair('true is not yes, nor 1', { staff: 'true' }, { staff: [true] }, { staff: 1 }),
  pair('null is no value', { org: 'null' }, { org: 'null' }, { org: null }),
  pair('an object is no value', { org: 'acme' }, { org: 'acme' }, { org: { acme: 'acme', name: 'acme' } }),
  pair('a list in a list is no value', { org: 'acme' }, { org: ['acme'] }, { org: [['acme']] }),
  pair('upper and lower case differ', { org: 'acme' }, { org: 'acme' }, { org: 'Acme' }),
  pair('white space counts', { org: 'acme' }, { org: 'acme' }, { org: 'acme ' }),
  pair('a part of a value is not the value', { scope: 'read' }, { scope: ['read', 'write'] }, { scope: 'read write' }),
  pair('keys are case-sensitive', { org: 'acme' }, { Org: 'acme', org: 'acme' }, { Org: 'acme' }),
  pair('a dot is a character of the key', { 'realm.role': 'a' }, { 'realm.role': 'a', realm: { role: 'a' } }, { realm: { role: 'a' } }),
  pair('the subject is a claim like others', { sub: 'pia' }, { sub: 'pia' }, { sub: 'dirk' }),
  pair('the empty text is a value', { org: '' }, { org: '' }, { org: [] }),
  pair('letters that only look alike differ', { org: 'é' }, { org: 'é' }, { org: 'e\u0301' }),
  pair('what every object inherits is not held', { constructor: 'acme' }, { constructor: 'acme' }, {}),
  pair('nor is a method of objects', { hasOwnProperty: 'acme' }, { hasOwnProperty: 'acme' }, {}),
  pair('what stands below __proto__ is not held', { org: 'acme' }, { ...UNDER_PROTO, org: 'acme' }, UNDER_PROTO),
];

/** A pair for each way in which a door is most likely to judge by something else than the one matcher. */
export const TELLING_PAIRS = CLAIMS_PAIRS.filter(({ rule }) => TELLING.has(rule));
