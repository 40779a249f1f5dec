/** Statuses of answers that lead elsewhere. */
export const REDIRECT_STATUSES = [301, 302, 303, 307, 308];

/** Which redirects are followed, and how many one after the other. */
export const REDIRECT_POLICIES = {
  /** For answers that are trusted because of the origin they come from. */
  'same-origin': { limit: 3, limitInWords: 'three' },
  /** Never from https to http. */
  'any-origin': { limit: 5, limitInWords: 'five' },
} as const;

export type RedirectPolicy = keyof typeof REDIRECT_POLICIES;

/**
 * Where a redirect leads to, or why it is not followed, as a part of a sentence.
 *
 * @param origin that of the first URL.
 */
export function redirectTarget(
  location: string,
  from: URL,
  origin: string,
  policy: RedirectPolicy,
): URL | string {
  const next = URL.canParse(location, from.href) ? new URL(location, from) : null;
  if (!next || !['http:', 'https:'].includes(next.protocol))
    return 'it redirects to something that is no web address';
  if (policy === 'same-origin' && next.origin !== origin)
    return 'it redirects to another origin, which is not followed';
  if (from.protocol === 'https:' && next.protocol === 'http:')
    return 'it redirects from https to http, which is not followed';
  return next;
}
