import type { Caller } from '../auth/caller.js';
import { type Claims, covers } from '../claims/claims.js';
import { matchesGlob } from '../sources/entry-filter.js';

/** Returns the first rule for a name, whatever its case; undefined if publications of it need no review. */
export function reviewRuleOf(rules: readonly ReviewRule[] | undefined, name: string): ReviewRule | undefined {
  const lower = name.toLowerCase();
  return rules?.find(({ names }) => names.some((glob) => matchesGlob(glob.toLowerCase(), lower)));
}

/** Returns the approvals that a rule asks for; without a rule, one. */
export function approvalsOf(rule: ReviewRule | undefined): number {
  return rule?.approvals ?? 1;
}

/** Is the caller one of the rule's reviewers? An array in `reviewers` lists alternatives. */
export function isReviewer({ claims }: Caller, { reviewers }: ReviewRule): boolean {
  return Object.keys(reviewers).length > 0 && covers(claims, reviewers, 'any');
}

/** SQL: `personKey` of the publisher of a stored version. */
export const PUBLISHER_KEY = `case when v.published_by ->> 'subject' is not null then
  sha256(convert_to(coalesce(v.published_by ->> 'issuer', '') || E'\\n' || (v.published_by ->> 'subject'), 'UTF8')) end`;

/** Who approves publications of these names: an item of `managed.review`. */
export interface ReviewRule {
  readonly names: readonly string[];
  /** An array lists alternatives. */
  readonly reviewers: Claims;
  readonly approvals?: number;
}
