import type { Claims, Me } from '../api/types.js';

/** One pair per value. */
export function claimPairs(claims: Claims): [string, string][] {
  return Object.entries(claims).flatMap(([key, value]) =>
    [value].flat().map((each): [string, string] => [key, each]),
  );
}

/** Adds a value. A second value for a key turns the claim into a list. */
export function withClaim(claims: Claims, key: string, value: string): Claims {
  const before = Object.hasOwn(claims, key) ? [claims[key] ?? []].flat() : [];
  if (before.includes(value)) return claims;
  const after = [...before, value];
  return Object.fromEntries([
    ...Object.entries(claims).filter(([name]) => name !== key),
    [key, after.length === 1 ? value : after],
  ]);
}

/** Removes a value, and also the key if this was its last value. */
export function withoutClaim(claims: Claims, key: string, value: string): Claims {
  return Object.fromEntries(
    Object.entries(claims).flatMap(([name, values]) => {
      if (name !== key) return [[name, values] as const];
      const left = [values].flat().filter((each) => each !== value);
      return left.length === 0 ? [] : [[name, Array.isArray(values) ? left : (left[0] ?? '')] as const];
    }),
  );
}

/** Claims about the token, not about the caller. */
const TOKEN_CLAIMS = new Set(['jti', 'iat', 'exp', 'nbf']);

/** The caller's claims that an entry can require: strings and lists of strings (reference/access). */
export function heldClaims(me: Me | null): Claims {
  return Object.fromEntries(
    Object.entries(me?.claims ?? {}).flatMap(([key, value]) => {
      const strings = [value].flat().filter((each): each is string => typeof each === 'string');
      if (TOKEN_CLAIMS.has(key) || strings.length === 0) return [];
      return [[key, Array.isArray(value) ? strings : (strings[0] ?? '')] as const];
    }),
  );
}

/** Protocol claims are rarely used for access. */
const PROTOCOL_CLAIMS = new Set([
  'iss',
  'aud',
  'sub',
  'azp',
  'scope',
  'client_id',
  'sid',
  'typ',
  'auth_time',
  'acr',
  'amr',
]);

export function isProtocolClaim([key]: readonly [string, string]): boolean {
  return PROTOCOL_CLAIMS.has(key);
}
