import { type Claims, covers } from '../claims/claims.js';
import { matchesGlob } from '../sources/entry-filter.js';

/** The claims required to publish names matching these globs: an item of `managed.names` (contract §2). */
export interface NameRule {
  readonly include: readonly string[];
  readonly claims: Claims;
}

/**
 * Returns whether a name is reserved (contract §7). The first matching rule decides: the publisher's token and the
 * entry's claims must both cover the rule's claims. A name that matches no rule is not reserved. Matching ignores case,
 * so that `Com.Red/x` cannot imitate `com.red/x`.
 *
 * @param held the claims of the publisher's token.
 * @param given the current or new claims of the entry.
 */
export function isReserved(
  rules: readonly NameRule[],
  name: string,
  held: Readonly<Record<string, unknown>>,
  given: Claims,
): boolean {
  const rule = rules.find(({ include }) =>
    include.some((glob) => matchesGlob(glob.toLowerCase(), name.toLowerCase())),
  );
  return rule !== undefined && !(covers(held, rule.claims, 'all') && covers(given, rule.claims, 'all'));
}
