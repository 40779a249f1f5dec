import { type Claims, covers } from '../claims/claims.js';
import { matchesGlob } from '../sources/entry-filter.js';

/** Who may publish the names that these globs match: a member of `managed.names` (contract §2). */
export interface NameRule {
  readonly include: readonly string[];
  readonly claims: Claims;
}

/**
 * contract §7: the first rule whose globs have the name decides; its claims must be covered by the publisher's token and by the
 * entry's claims. Names of no rule are free. Letter case is passed over, or `Com.Red/x` would stand beside `com.red/x`.
 *
 * @param held the claims of the publisher's token.
 * @param given the claims the entry has, or is to have.
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
