import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { Equals, IsDefined, IsIn, IsOptional, MaxLength, ValidateNested } from 'class-validator';
import { type Role, ROLES } from '../auth/route.js';
import { type Claims, CLAIMS_SCHEMA } from '../claims/claims.js';
import { ENTRY_TYPE_NAMES, type EntryType } from '../documents/entry-types.js';
import { ERRORS, type ErrorCode } from '../http/errors.js';
import { isDeeperThan } from '../json/json-text.js';
import { isObject, member } from '../json/json-values.js';
import { ValidateClass } from '../validation/class-validation.js';
import { decoratorOf, IsClaims, IsStorable, IsText, MayBeEmpty } from '../validation/decorators.js';
import { type Check, foundKind, type Issue, issue } from '../validation/value-checks.js';
import {
  type Action,
  ACTIONS,
  type Conclusion,
  CONCLUSIONS,
  type StepOutcome,
  STEP_OUTCOMES,
  type StepName,
  STEPS,
} from './outcomes.js';

const MAX_NAME = 500;
/** Limits on assumed claims; a real token must fit in a header. */
const MAX_HELD = 200;
const MAX_HELD_BYTES = 64 * 1_024;
const MAX_HELD_DEPTH = 20;

/** Accepts any JSON, as in a token (reference/access); the claim matcher ignores values that it cannot compare. */
const heldClaims: Check = (value) => {
  if (!isObject(value)) return issue(`must be a map of claims, not ${foundKind(value)}`);
  if (Object.keys(value).length > MAX_HELD) return issue(`must not have more than ${MAX_HELD} claims`);
  const text = Buffer.from(JSON.stringify(value));
  if (text.length > MAX_HELD_BYTES) return issue(`must not be longer than ${MAX_HELD_BYTES} bytes`);
  return isDeeperThan(text, MAX_HELD_DEPTH)
    ? issue(`must not be nested deeper than ${MAX_HELD_DEPTH} levels`)
    : [];
};
const IsTokenClaims = () => decoratorOf('isTokenClaims', heldClaims);

export class AskedEntryBody {
  @IsIn(ENTRY_TYPE_NAMES) type: EntryType;

  @ApiProperty({ description: 'For a skill, `namespace/name`', example: 'io.github.example/weather' })
  @IsStorable()
  @MaxLength(MAX_NAME)
  name: string;

  /** An exact version; the latest by default */
  @IsOptional() @IsStorable() @MaxLength(MAX_NAME) version?: string;
}

export class AssumedTokenBody {
  /** The name of the provider in the configuration */
  @IsText() provider: string;

  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    description: "The claims of the token, to which the provider's mapping is applied",
    example: { sub: 'alice', realm_access: { roles: ['platform'] } },
  })
  @IsTokenClaims()
  claims: Readonly<Record<string, unknown>>;
}

/** The members that identify a caller, of which exactly one is present (reference/explain). */
export class CallerMembers {
  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    description: 'Mapped claims, as in `GET /v1/me?claims=true`',
    example: { sub: 'alice', org: 'acme', team: ['platform'] },
  })
  @IsOptional()
  @IsTokenClaims()
  claims?: Readonly<Record<string, unknown>>;

  @ApiPropertyOptional({ type: () => AssumedTokenBody, description: 'A verified token' })
  @IsOptional()
  @ValidateNested()
  @Type(() => AssumedTokenBody)
  token?: AssumedTokenBody;

  @ApiPropertyOptional({
    type: Boolean,
    description: 'Ask about a caller without a token; the only allowed value is `true`',
  })
  @IsOptional()
  @Equals(true, { message: 'must be true' })
  anonymous?: boolean;

  /** The name of a registry key, not the key itself */
  @IsOptional() @IsText() key?: string;
}

@ValidateClass(exactlyOneOf('claims', 'token', 'anonymous', 'key'))
export class AssumedCallerBody extends CallerMembers {}

export class ExplainBody {
  @ApiProperty({ example: 'default' }) @IsStorable() registry: string;

  @IsOptional() @ValidateNested() @Type(() => AskedEntryBody) entry?: AskedEntryBody;

  @ApiPropertyOptional({ default: 'see' }) @IsOptional() @IsIn(ACTIONS) action?: Action;

  @ApiPropertyOptional({
    type: () => AssumedCallerBody,
    description: 'Another caller to ask about; requires a manage role',
  })
  @IsOptional()
  @ValidateNested()
  @Type(() => AssumedCallerBody)
  as?: AssumedCallerBody;

  @ApiPropertyOptional({
    ...CLAIMS_SCHEMA,
    description: 'For `publish`: the claims of the entry; by default the `publishClaims` of the registry',
  })
  @IsOptional()
  @IsClaims()
  claims?: Claims;
}

export class PreviewBody {
  @ApiProperty({ example: 'default' }) @IsStorable() registry: string;

  @IsDefined() @ValidateNested() @Type(() => AssumedCallerBody) as: AssumedCallerBody;

  /** The type of the first page */
  @ApiPropertyOptional({ default: 'server' }) @IsOptional() @IsIn(ENTRY_TYPE_NAMES) type?: EntryType;
}

export class RegistryAccessQuery {
  @ApiPropertyOptional({ default: 'server' }) @MayBeEmpty() @IsIn(ENTRY_TYPE_NAMES) type?: EntryType | '';

  /** The name of one entry; the whole registry by default */
  @IsOptional() @IsStorable() @MaxLength(MAX_NAME) entry?: string;
}

export function exactlyOneOf(...members: readonly string[]) {
  return (value: object): Issue[] =>
    members.filter((name) => member(value, name) !== undefined).length === 1
      ? []
      : issue(`must have exactly one of ${members.join(', ')}`);
}

const CODE = { enum: Object.keys(ERRORS), enumName: 'ErrorCode' };

export class ExplainedAnswer {
  @ApiProperty({ example: 404 })
  status: number;

  @ApiPropertyOptional(CODE)
  code?: ErrorCode;
}

export class ExplainedMissingClaim {
  key: string;

  /** The value that the caller needs. */
  needs: string;

  /** The caller's values for this claim. */
  @ApiProperty({ type: [String] })
  held: readonly string[];

  @ApiPropertyOptional({ type: [String], description: 'All accepted values, if one of several is enough' })
  anyOf?: readonly string[];

  @ApiPropertyOptional({ description: 'The policy that requires it', example: 'arrayValues: all' })
  because?: string;
}

export class ExplainedStep {
  @ApiProperty({ enum: STEPS })
  step: StepName;

  @ApiProperty({
    enum: STEP_OUTCOMES,
    description: '`skipped`: not checked in this mode; `unknown_to_you`: the outcome is hidden from you',
  })
  outcome: StepOutcome;

  @ApiPropertyOptional(CODE)
  code?: ErrorCode;

  @ApiPropertyOptional({ enum: ROLES })
  role?: Role;

  @ApiPropertyOptional({ ...CLAIMS_SCHEMA, description: 'The required claims' })
  required?: Claims;

  @ApiPropertyOptional({
    type: () => [ExplainedMissingClaim],
    description: 'The values missing for this step only',
  })
  missing?: readonly ExplainedMissingClaim[];

  @ApiPropertyOptional({ description: 'The reason, if no claims were compared' })
  because?: string;

  @ApiPropertyOptional({ description: 'The source of this step' })
  source?: string;

  @ApiPropertyOptional({ description: 'The source whose entry is shown instead' })
  shadowedBy?: string;
}

/** reference/explain */
export class Explanation {
  /** Status and error code of the request. */
  answer: ExplainedAnswer;

  @ApiProperty({ enum: CONCLUSIONS })
  decision: Conclusion;

  @ApiProperty({
    type: () => [ExplainedStep],
    description: 'All steps, including those after the first refusal, which decides',
  })
  steps: readonly ExplainedStep[];

  @ApiPropertyOptional({
    type: () => [ExplainedMissingClaim],
    description:
      'The minimal set for all steps: a caller who also held exactly these values would be admitted',
  })
  missing?: readonly ExplainedMissingClaim[];

  @ApiProperty({ type: [String] })
  hints: readonly string[];
}

export class ClaimSetAccess {
  @ApiProperty({ ...CLAIMS_SCHEMA, description: 'A caller with all of these claims has access' })
  claims: Claims;

  @ApiProperty({ example: 'org is acme and team is both platform and data' })
  sentence: string;

  /** The number of entries with these claims. */
  count: number;

  @ApiPropertyOptional({ description: 'The registry that shows the entry' })
  registry?: string;

  @ApiPropertyOptional({ description: 'The source of the entry' })
  source?: string;
}

export class KeyAccess {
  registry: string;

  @ApiProperty({ example: 'copilot', description: 'The name of the key, not the key itself' })
  name: string;
}

export class ManagedBy {
  @ApiProperty({ enum: ROLES })
  role: Role;

  @ApiProperty({ example: 'role is admin and org is acme' })
  sentence: string;
}

export class ShadowedEntry {
  registry: string;
  source: string;

  @ApiProperty({
    type: [String],
    description: 'Earlier sources: callers who see the entry of one of them do not see this one',
  })
  by: readonly string[];
}

/** reference/explain */
export class WhoHasAccess {
  @ApiProperty({
    type: () => [ClaimSetAccess],
    description: 'Each claim set grants access; the most frequent comes first',
  })
  claimSets: readonly ClaimSetAccess[];

  @ApiPropertyOptional({ description: 'Set if not all claim sets are listed' })
  isCut?: boolean;

  /** Whether callers without a token have access. */
  anonymous: boolean;

  @ApiProperty({ type: () => [KeyAccess], description: 'The registry keys that grant access' })
  keys: readonly KeyAccess[];

  @ApiProperty({ type: () => [ManagedBy] })
  managedBy: readonly ManagedBy[];

  @ApiPropertyOptional({ type: () => [ShadowedEntry] })
  shadowedBy?: readonly ShadowedEntry[];
}

export class PreviewCounts {
  @ApiProperty({ description: 'Number of visible servers' })
  server: number;

  skill: number;
  plugin: number;
}

/** reference/explain */
export class AccessPreview {
  /** Status and error code of a request to the registry. */
  answer: ExplainedAnswer;

  counts: PreviewCounts;

  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    nullable: true,
    description:
      'The first page, byte for byte as the described caller would get it; null if they have no access to the registry',
  })
  page: object | null;
}

/** reference/explain */
export class SourceAccess {
  /** Names by type; those with only deleted versions are not counted. */
  counts: PreviewCounts;

  @ApiProperty({
    type: () => [ClaimSetAccess],
    description: 'Each claim set lets callers see its entries; the most frequent comes first',
  })
  claimSets: readonly ClaimSetAccess[];

  @ApiPropertyOptional({ description: 'Set if not all claim sets are listed' })
  isCut?: boolean;

  @ApiProperty({ type: [String], description: 'The registries with this source that the caller may enter' })
  registries: readonly string[];

  @ApiProperty({ type: () => [ManagedBy] })
  managedBy: readonly ManagedBy[];
}

export class AccessChange {
  @ApiProperty({
    example: 'org is acme',
    description: 'The callers: with exactly these claims, without claims, or with a registry key',
  })
  sentence: string;

  @ApiPropertyOptional({ ...CLAIMS_SCHEMA, description: 'Their claims, if they need a token' })
  claims?: Claims;

  @ApiProperty({ type: 'integer', description: 'Number of names that become visible to them' })
  gains: number;

  @ApiProperty({ type: 'integer', description: 'Number of names that are no longer visible to them' })
  loses: number;

  @ApiProperty({ type: 'integer', description: 'Number of names that they get from another source' })
  moves: number;
}

/** reference/explain */
export class AccessChanges {
  @ApiProperty({ type: () => [AccessChange], description: 'The largest change comes first' })
  changes: readonly AccessChange[];

  @ApiPropertyOptional({ description: 'Set if not everything was compared or listed' })
  isCut?: boolean;

  @ApiPropertyOptional({
    type: [String],
    description: 'New sources whose entries are not counted, because the caller does not manage them',
  })
  notCounted?: readonly string[];
}
