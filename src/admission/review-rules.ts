import type { Caller } from '../auth/caller.js';
import { type Claims, covers } from '../claims/claims.js';
import { type Contents, mayContain } from '../members/members.js';
import type { MemberKind } from '../source-kinds/member-kinds.js';
import { matchesGlob } from '../sources/entry-filter.js';
import { CONTENT_MISSING, type HoldReason } from './hold-reason.js';

/**
 * Returns the first rule that matches a version, ignoring the case of its name; undefined if the version needs no
 * review. Until its content is stored, a rule with `contains` counts as a match.
 */
export function reviewRuleOf(
  rules: readonly ReviewRule[] | undefined,
  name: string,
  contents: Contents,
): ReviewRule | undefined {
  const lower = name.toLowerCase();
  return rules?.find(
    ({ names, contains }) =>
      names.some((glob) => matchesGlob(glob.toLowerCase(), lower)) && mayContain(contains, contents),
  );
}

/** Returns why a version is held for review, or until its content is stored; null if it is not. */
export function reviewReason(
  rules: readonly ReviewRule[] | undefined,
  name: string,
  contents: Contents,
): HoldReason | null {
  const rule = reviewRuleOf(rules, name, contents);
  if (!rule) return null;
  return rule.contains && contents === null ? CONTENT_MISSING : reviewReasonOf(rule);
}

export function reviewReasonOf(rule: ReviewRule): HoldReason {
  const approvals = approvalsOf(rule);
  const message = approvals === 1 ? 'A reviewer must approve it' : `${approvals} reviewers must approve it`;
  return { policy: 'review', message };
}

/** Returns the number of approvals that a rule requires; one without a rule. */
export function approvalsOf(rule: ReviewRule | undefined): number {
  return rule?.approvals ?? 1;
}

/** Whether the caller is one of the rule's reviewers. An array in `reviewers` lists alternatives. */
export function isReviewer({ claims }: Caller, { reviewers }: ReviewRule): boolean {
  return Object.keys(reviewers).length > 0 && covers(claims, reviewers, 'any');
}

/** SQL: the `personKey` of a stored version's publisher. */
export const PUBLISHER_KEY = `case when v.published_by ->> 'subject' is not null then
  sha256(convert_to(coalesce(v.published_by ->> 'issuer', '') || E'\\n' || (v.published_by ->> 'subject'), 'UTF8')) end`;

/** Who approves publications: an item of `managed.review`. */
export interface ReviewRule {
  readonly names: readonly string[];
  /** An array lists alternatives. */
  readonly reviewers: Claims;
  readonly approvals?: number;
  readonly contains?: readonly MemberKind[];
}
