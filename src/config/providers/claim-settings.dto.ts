import { MAX_CLAIMS } from '../../claims/claim-rules.js';
import type { Claims } from '../../claims/claims.js';
import { elements, isObject, member, parsePointer } from '../../json/json-values.js';
import { Checked, Optional, Rule } from '../../validation/class-checks.js';
import { below, type Issue, issue } from '../../validation/problems.js';
import { httpUrl } from '../../validation/urls.js';
import { type Check, claims, foundKind, oneOf, roleRule, text } from '../../validation/value-checks.js';
import type { ClaimRule, GroupsLocation } from './claim-rules.js';

const MAX_VALUES = 10_000;
/** contract §5: they stay as the provider says them, and name who is meant. */
const RESERVED = ['iss', 'sub'];

const pointer: Check = text((value) => {
  const steps = parsePointer(value);
  return steps === undefined || steps.length === 0
    ? 'must be a JSON Pointer, which begins with "/", such as /groups or /realm_access/roles'
    : undefined;
});

const claimName: Check = (value) => {
  const issues = text()(value);
  if (issues.length > 0 || typeof value !== 'string') return issues;
  if (RESERVED.includes(value)) return issue('must not be iss or sub: they stay as the token has them');
  return claims({ [value]: 'any' }).map(({ message }) => ({ path: [], message }));
};

const translations: Check = (value) => {
  if (!isObject(value)) return issue(`must be a map, not ${foundKind(value)}`);
  const entries = Object.entries(value);
  if (entries.length === 0) return issue('must not be empty: what is not listed is dropped');
  if (entries.length > MAX_VALUES) return issue(`must not have more than ${MAX_VALUES} members`);
  return entries.flatMap(([key, member]) => below([key], text()(member)));
};

/** contract §2: one rule of a provider's `claims`: a value of the token, or a constant. */
@Rule<ClaimRuleSettings>((rule) => {
  const { from, values, value, when } = rule;
  if ((from === undefined) === (value === undefined))
    return issue('needs either from, a place in the token, or value, a constant');
  if (value !== undefined && values !== undefined) return below(['values'], issue('needs from'));
  return from !== undefined && when !== undefined ? below(['when'], issue('needs value')) : [];
})
export class ClaimRuleSettings {
  @Checked(claimName) to: string;
  @Optional() @Checked(pointer) from?: string;
  @Optional() @Checked(translations) values?: Record<string, string>;
  @Optional() @Checked(text()) value?: string;
  @Optional() @Checked(roleRule) when?: Claims;
}

/** contract §2: where groups are that a token does not hold. */
@Rule<GroupsSettings>(({ from, url }) =>
  (from === undefined) === (url === undefined) ? issue('needs either from: userinfo or url') : [],
)
export class GroupsSettings {
  @Optional() @Checked(oneOf('userinfo')) from?: 'userinfo';
  @Optional() @Checked(httpUrl()) url?: string;
}

/** As many claims as anything may have. */
export const fewKeys: Check = (rules): Issue[] =>
  new Set(elements(rules).map((rule) => member(rule, 'to'))).size > MAX_CLAIMS
    ? issue(`must not make more than ${MAX_CLAIMS} claims`)
    : [];

/** The rule that settings stand for; they must have been checked before. */
export function claimRuleOf({ to, from, values, value, when }: ClaimRuleSettings): ClaimRule {
  if (value !== undefined) return { to, value, when: when ?? null };
  return {
    to,
    from: parsePointer(from ?? '') ?? [],
    values: values === undefined ? null : new Map(Object.entries(values)),
  };
}

export function groupsLocationOf({ url }: GroupsSettings): GroupsLocation {
  return url === undefined ? { from: 'userinfo' } : { url };
}
