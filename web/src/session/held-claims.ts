import type { Claims, Me } from '../api/types.js';

/** They say when a token was made, and never what somebody holds. */
const OF_THE_TOKEN = new Set(['jti', 'iat', 'exp', 'nbf']);

/** The claims somebody holds, as far as an entry could ask for them (contract §5): texts, and lists of texts. */
export function heldClaims(me: Me | null): Claims {
  return Object.fromEntries(
    Object.entries(me?.claims ?? {}).flatMap(([key, value]) => {
      const texts = [value].flat().filter((each): each is string => typeof each === 'string');
      if (OF_THE_TOKEN.has(key) || texts.length === 0) return [];
      return [[key, Array.isArray(value) ? texts : (texts[0] ?? '')] as const];
    }),
  );
}
