import type { Claims } from '../api/types.js';

/** A key with each of its values. */
export function pairsIn(claims: Claims): [string, string][] {
  return Object.entries(claims).flatMap(([key, value]) =>
    [value].flat().map((each): [string, string] => [key, each]),
  );
}

/** A key that is there already takes a list. */
export function withClaim(claims: Claims, key: string, value: string): Claims {
  const before = Object.hasOwn(claims, key) ? [claims[key] ?? []].flat() : [];
  if (before.includes(value)) return claims;
  const after = [...before, value];
  return Object.fromEntries([
    ...Object.entries(claims).filter(([name]) => name !== key),
    [key, after.length === 1 ? value : after],
  ]);
}

/** A key goes with its last value. */
export function withoutClaim(claims: Claims, key: string, value: string): Claims {
  return Object.fromEntries(
    Object.entries(claims).flatMap(([name, held]) => {
      if (name !== key) return [[name, held] as const];
      const left = [held].flat().filter((each) => each !== value);
      return left.length === 0 ? [] : [[name, Array.isArray(held) ? left : (left[0] ?? '')] as const];
    }),
  );
}
