import { validRange } from 'semver';
import {
  IsHttpUrl,
  IsIn,
  IsOptional,
  IsText,
  type Unchecked,
  Validate,
  ValidateClass,
  ValidateNested,
} from '../validation/class-validation.js';
import { durationFrom, globs, type Issue, issue, text } from '../validation/value-checks.js';

const MAX_RULES = 200;
const MAX_RULE_NAMES = 20;
const MAX_REWRITES = 50;
const MAX_RANGE = 200;
const MAX_REASON = 500;

/** A duration that may be zero: nothing waits. */
const minAge = durationFrom('0s', '365d');

/** An npm range, such as `^1.2` or `>=2 <3`; `*` is any version. */
export const versionRange = text((value) =>
  value.length <= MAX_RANGE && validRange(value) !== null
    ? undefined
    : `must be an npm range of at most ${MAX_RANGE} characters, such as "^1.2" or ">=2 <3"`,
);

export const reasonText = text((value) =>
  value.length <= MAX_REASON ? undefined : `must have at most ${MAX_REASON} characters`,
);

/** At least one glob, and few, because each name is compared with all of them. */
export function fewNames(value: unknown): Issue[] {
  if (Array.isArray(value) && value.length === 0) return issue('must not be an empty list');
  if (Array.isArray(value) && value.length > MAX_RULE_NAMES)
    return issue(`must not have more than ${MAX_RULE_NAMES} items`);
  return globs(value);
}

/** What to do with some names: an `action`, or `versions` or `minAge`. */
@ValidateClass<AdmissionRuleSettings>(actionOrConditions)
export class AdmissionRuleSettings {
  @Validate(fewNames) names: string[];
  @IsOptional() @IsIn(['admit', 'hold', 'reject']) action?: 'admit' | 'hold' | 'reject';
  /** Other versions are held. */
  @IsOptional() @Validate(versionRange) versions?: string;
  @IsOptional() @Validate(minAge) minAge?: string;
  @IsOptional() @Validate(reasonText) reason?: string;
}

/** Sends package installations to another registry. */
@ValidateClass<RewriteSettings>(baseOrPrefix)
export class RewriteSettings {
  @IsText() registryType: string;
  @IsOptional() @IsHttpUrl() registryBaseUrl?: string;
  /** For `oci`: a prefix of the identifier. */
  @IsOptional() @IsText() from?: string;
  @IsOptional() @IsText() to?: string;
}

/** What may come in from a synced source (reference/admission). */
export class AdmissionSettings {
  /** How long a version waits after it was published, and after it was first seen here. */
  @IsOptional() @Validate(minAge) minAge?: string;
  /** Names that the source has not shown before. */
  @IsOptional() @IsIn(['admit', 'hold']) newNames?: 'admit' | 'hold';
  /** Versions whose document the upstream changed while they are served. */
  @IsOptional() @IsIn(['admit', 'hold']) changed?: 'admit' | 'hold';
  /** The first rule that matches a name decides, before the settings above. */
  @IsOptional()
  @ValidateNested(() => AdmissionRuleSettings, { each: true, most: MAX_RULES })
  rules?: AdmissionRuleSettings[];
  @IsOptional()
  @ValidateNested(() => RewriteSettings, { each: true, most: MAX_REWRITES })
  rewrite?: RewriteSettings[];
}

function actionOrConditions(rule: Unchecked<AdmissionRuleSettings>): Issue[] {
  const { action, versions, minAge: age } = rule;
  const hasConditions = versions !== undefined || age !== undefined;
  if (action === undefined && !hasConditions) return issue('needs an action, versions or a minAge');
  return action !== undefined && hasConditions
    ? issue('has an action beside versions or minAge: an action needs no conditions')
    : [];
}

function baseOrPrefix(rule: Unchecked<RewriteSettings>): Issue[] {
  const { registryType, registryBaseUrl, from, to } = rule;
  if (registryBaseUrl !== undefined)
    return from === undefined && to === undefined ? [] : issue('has a registryBaseUrl beside from and to');
  if (from === undefined || to === undefined) return issue('needs a registryBaseUrl, or from and to');
  return registryType === 'oci' ? [] : issue('from and to are only possible for registryType oci');
}
