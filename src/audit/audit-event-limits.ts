import { createHash } from 'node:crypto';
import type { Claims } from '../claims/claims.js';

/** Characters of a text that a caller chose: names of subjects, clients, entries, versions. */
const MAX_TEXT = 255;
/** Characters of what was there before a change, and after it, each. */
const MAX_STATE = 16_384;
/** Characters of the claims that decide who sees an event; with more, super-admins alone do. */
export const MAX_SCOPE = 16_384;

// PostgreSQL's jsonb takes neither NUL nor half a surrogate pair.
const UNSTORABLE = /\0|\p{Surrogate}/gu;

/** A text that PostgreSQL takes, cut where it is too long. */
export function boundedText(text: string): string {
  const storable = text.slice(0, MAX_TEXT).replaceAll(UNSTORABLE, '\uFFFD');
  return text.length > MAX_TEXT ? `${storable}…` : storable;
}

/** What there was before a change, or after it: whole, or by its digest, since claims of which a part is missing would say something else. */
export function boundedState(state: object): object {
  const text = JSON.stringify(state);
  if (text.length <= MAX_STATE) return state;
  return { tooLarge: { characters: text.length, sha256: createHash('sha256').update(text).digest('hex') } };
}

/** How many characters the claims have, or more than may be kept; looks at no more than that. */
export function sizeOf(all: readonly Claims[]): number {
  let size = 0;
  for (const claims of all)
    for (const [key, value] of Object.entries(claims)) {
      size += key.length;
      for (const one of [value].flat()) size += one.length;
      if (size > MAX_SCOPE) return size;
    }
  return size;
}
