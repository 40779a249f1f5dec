import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayNotEmpty,
  ArrayUnique,
  IsArray,
  IsIn,
  IsOptional,
  MaxLength,
  ValidateNested,
} from 'class-validator';
import { validRange } from 'semver';
import { type Unchecked, ValidateClass } from '../validation/class-validation.js';
import { IsDuration, IsGlob, IsHttpUrl, IsText, textDecorator } from '../validation/decorators.js';
import { type Issue, issue } from '../validation/value-checks.js';
import { MEMBER_KINDS, type MemberKind } from './member-kinds.js';

/** Few, because each name is compared with every pattern. */
const MAX_RULE_NAMES = 20;
const MAX_RANGE = 200;
export const MAX_REASON = 500;

/** An npm range, such as `^1.2` or `>=2 <3`; `*` is any version. */
export const IsVersionRange = textDecorator('isVersionRange', (text) =>
  text.length <= MAX_RANGE && validRange(text) !== null
    ? undefined
    : `must be an npm range of at most ${MAX_RANGE} characters, such as "^1.2" or ">=2 <3"`,
);

/** What to do with certain names: an `action`, or `versions` or `minAge`. */
@ValidateClass<AdmissionRuleSettings>(actionOrConditions)
export class AdmissionRuleSettings {
  @IsArray() @ArrayNotEmpty() @ArrayMaxSize(MAX_RULE_NAMES) @IsGlob({ each: true }) names: string[];
  /** Only skills and plugins that contain one of these. They are held until their content is stored. */
  @IsOptional()
  @IsArray()
  @ArrayNotEmpty()
  @IsIn(MEMBER_KINDS, { each: true })
  @ArrayUnique()
  contains?: MemberKind[];
  @IsOptional() @IsIn(['admit', 'hold', 'reject']) action?: 'admit' | 'hold' | 'reject';
  /** Other versions are held. */
  @IsOptional() @IsVersionRange() versions?: string;
  @IsOptional() @IsDuration('0s') minAge?: string;
  @IsOptional() @IsText() @MaxLength(MAX_REASON) reason?: string;
}

/** Sends package installations to another registry. */
@ValidateClass<RewriteSettings>(baseOrPrefix)
export class RewriteSettings {
  @IsText() registryType: string;
  @IsOptional() @IsHttpUrl() registryBaseUrl?: string;
  /** A prefix of the identifier, for `oci` packages. */
  @IsOptional() @IsText() from?: string;
  @IsOptional() @IsText() to?: string;
}

/** Which versions of a synced source are admitted (reference/admission). */
export class AdmissionSettings {
  /** How long a version must wait after it was published and first seen here. */
  @IsOptional() @IsDuration('0s') minAge?: string;
  /** Names that the source has not shown before. */
  @IsOptional() @IsIn(['admit', 'hold']) newNames?: 'admit' | 'hold';
  /** Served versions whose document the upstream has changed. */
  @IsOptional() @IsIn(['admit', 'hold']) changed?: 'admit' | 'hold';
  /** The first rule that matches a name decides, before the settings above. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(200)
  @ValidateNested({ each: true })
  @Type(() => AdmissionRuleSettings)
  rules?: AdmissionRuleSettings[];
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(50)
  @ValidateNested({ each: true })
  @Type(() => RewriteSettings)
  rewrite?: RewriteSettings[];
}

function actionOrConditions(rule: Unchecked<AdmissionRuleSettings>): Issue[] {
  const { action, versions, minAge: age } = rule;
  const hasConditions = versions !== undefined || age !== undefined;
  if (action === undefined && !hasConditions) return issue('needs an action, versions or a minAge');
  return action !== undefined && hasConditions
    ? issue('has both an action and versions or minAge: an action takes no conditions')
    : [];
}

function baseOrPrefix(rule: Unchecked<RewriteSettings>): Issue[] {
  const { registryType, registryBaseUrl, from, to } = rule;
  if (registryBaseUrl !== undefined)
    return from === undefined && to === undefined
      ? []
      : issue('must not combine registryBaseUrl with from or to');
  if (from === undefined || to === undefined) return issue('needs a registryBaseUrl, or from and to');
  return registryType === 'oci' ? [] : issue('from and to are only possible for registryType oci');
}
