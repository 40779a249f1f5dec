import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { type Role, ROLES } from '../auth/route.js';
import { CLAIMS_SCHEMA } from '../claims/claim-rules.js';
import type { Claims } from '../claims/claims.js';
import { ENTRY_TYPE_NAMES, type EntryType } from '../documents/entry-types.js';
import { ERROR_CATALOGUE, type ErrorCode } from '../http/errors.js';
import { isDeeperThan } from '../json/json-text.js';
import { isObject } from '../json/json-values.js';
import { Checked, Optional, Section } from '../validation/class-checks.js';
import { type Issue, issue } from '../validation/problems.js';
import {
  claims,
  emptyOr,
  foundKind,
  oneOf,
  storableText,
  textParameter,
  textUpTo,
  wordParameter,
} from '../validation/value-checks.js';
import { type Action, ACTIONS } from './question.js';
import { type Decision, DECISIONS, type Outcome, OUTCOMES, type StepName, STEPS } from './steps.js';

const MAX_NAME = 500;
/** Of the claims of a token that somebody makes up: larger ones than a header has room for tell nothing. */
const MAX_HELD = 200;
const MAX_HELD_BYTES = 64 * 1_024;
const MAX_HELD_DEPTH = 20;

export class AskedEntryBody {
  @ApiProperty({ enum: ENTRY_TYPE_NAMES })
  @Checked(oneOf(...ENTRY_TYPE_NAMES))
  type: EntryType;

  @ApiProperty({ description: 'Of a skill, `namespace/name`', example: 'io.github.example/weather' })
  @Checked(textUpTo(MAX_NAME))
  name: string;

  @ApiPropertyOptional({ description: 'One exact version; the latest when absent' })
  @Optional()
  @Checked(textUpTo(MAX_NAME))
  version?: string;
}

export class AssumedCallerBody {
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    description: 'The claims that count here, as `GET /v1/me?claims=true` shows those of a caller',
    example: { sub: 'alice', org: 'acme', team: ['platform'] },
  })
  @Checked(heldClaims)
  claims: Readonly<Record<string, unknown>>;
}

export class ExplainBody {
  @ApiProperty({ example: 'default' })
  @Checked(storableText)
  registry: string;

  @ApiPropertyOptional({ type: () => AskedEntryBody })
  @Optional()
  @Section(() => AskedEntryBody)
  entry?: AskedEntryBody;

  @ApiPropertyOptional({ enum: ACTIONS, default: 'see' })
  @Optional()
  @Checked(oneOf(...ACTIONS))
  action?: Action;

  @ApiPropertyOptional({
    type: () => AssumedCallerBody,
    description: 'Somebody else who is asked about, for those who manage something; otherwise the caller',
  })
  @Optional()
  @Section(() => AssumedCallerBody)
  as?: AssumedCallerBody;

  @ApiPropertyOptional({
    ...CLAIMS_SCHEMA,
    description: 'Of `publish`: the claims of the entry; when absent, those that the registry publishes with',
  })
  @Optional()
  @Checked(claims)
  claims?: Claims;
}

export class PreviewBody {
  @ApiProperty({ example: 'default' })
  @Checked(storableText)
  registry: string;

  @ApiProperty({ type: () => AssumedCallerBody })
  @Section(() => AssumedCallerBody)
  as: AssumedCallerBody;

  @ApiPropertyOptional({
    enum: ENTRY_TYPE_NAMES,
    default: 'server',
    description: 'Of which the first page is shown',
  })
  @Optional()
  @Checked(oneOf(...ENTRY_TYPE_NAMES))
  type?: EntryType;
}

export class RegistryAccessQuery {
  @ApiPropertyOptional({ enum: ENTRY_TYPE_NAMES, default: 'server' })
  @Optional()
  @Checked(emptyOr(wordParameter(ENTRY_TYPE_NAMES)))
  type?: string;

  @ApiPropertyOptional({
    description: 'The name of one entry; the whole registry when absent',
    maxLength: MAX_NAME,
  })
  @Optional()
  @Checked(textParameter('the name of an entry', MAX_NAME))
  entry?: string;
}

/** Any JSON, as in a token (contract §5): what of it can be compared is for the matcher to say. */
function heldClaims(value: unknown): Issue[] {
  if (!isObject(value)) return issue(`must be a map of claims, not ${foundKind(value)}`);
  if (Object.keys(value).length > MAX_HELD) return issue(`must not hold more than ${MAX_HELD} claims`);
  const text = Buffer.from(JSON.stringify(value));
  if (text.length > MAX_HELD_BYTES) return issue(`must not be longer than ${MAX_HELD_BYTES} bytes`);
  return isDeeperThan(text, MAX_HELD_DEPTH)
    ? issue(`must not be nested deeper than ${MAX_HELD_DEPTH} levels`)
    : [];
}

const CODE = { enum: Object.keys(ERROR_CATALOGUE), enumName: 'ErrorCode' };

export class ExplainedAnswer {
  @ApiProperty({ example: 404 })
  status: number;

  @ApiPropertyOptional(CODE)
  code?: ErrorCode;
}

export class ExplainedMissingClaim {
  key: string;

  /** A value that would have to be held. */
  needs: string;

  /** What is held of this key. */
  @ApiProperty({ type: [String] })
  held: readonly string[];

  @ApiPropertyOptional({ type: [String], description: 'Where one of several values is enough: all of them' })
  anyOf?: readonly string[];

  @ApiPropertyOptional({ description: 'The policy that asks for it', example: 'arrayValues: all' })
  because?: string;
}

export class ExplainedStep {
  @ApiProperty({ enum: STEPS })
  step: StepName;

  @ApiProperty({ enum: OUTCOMES, description: '`skipped`: not asked in this mode' })
  outcome: Outcome;

  @ApiPropertyOptional(CODE)
  code?: ErrorCode;

  @ApiPropertyOptional({ enum: ROLES })
  role?: Role;

  @ApiPropertyOptional({ ...CLAIMS_SCHEMA, description: 'The claims that were asked for' })
  required?: Claims;

  @ApiPropertyOptional({
    type: () => [ExplainedMissingClaim],
    description: 'The least that this step asks for in addition',
  })
  missing?: readonly ExplainedMissingClaim[];

  @ApiPropertyOptional({ description: 'What decided where no claims were compared' })
  because?: string;

  @ApiPropertyOptional({ description: 'The source it is about' })
  source?: string;

  @ApiPropertyOptional({ description: 'The source whose entry is shown in its place' })
  shadowedBy?: string;
}

/** contract §10 */
export class Explanation {
  /** What the request is answered. */
  answer: ExplainedAnswer;

  @ApiProperty({ enum: DECISIONS })
  decision: Decision;

  @ApiProperty({
    type: () => [ExplainedStep],
    description: 'Those behind the first refusal too, which decides',
  })
  steps: readonly ExplainedStep[];

  @ApiPropertyOptional({
    type: () => [ExplainedMissingClaim],
    description: 'The least of all steps together: with exactly this in addition, the answer is a good one',
  })
  missing?: readonly ExplainedMissingClaim[];

  @ApiProperty({ type: [String] })
  hints: readonly string[];
}

export class ClaimSetAccess {
  @ApiProperty({ ...CLAIMS_SCHEMA, description: 'Who holds all of these is shown it' })
  claims: Claims;

  @ApiProperty({ example: 'org is acme and team is both platform and data' })
  sentence: string;

  /** Entries that carry the claims. */
  count: number;

  @ApiPropertyOptional({ description: 'The registry that shows the entry' })
  registry?: string;

  @ApiPropertyOptional({ description: 'The source of the entry' })
  source?: string;
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
    description: 'Sources that come first: who sees the entry of one of them does not see this one',
  })
  by: readonly string[];
}

/** contract §10 */
export class WhoHasAccess {
  @ApiProperty({ type: () => [ClaimSetAccess], description: 'Each opens it; those of most entries first' })
  claimSets: readonly ClaimSetAccess[];

  @ApiPropertyOptional({ description: 'There are more claim sets than are listed' })
  isCut?: boolean;

  /** Whether it is open without a token. */
  anonymous: boolean;

  @ApiProperty({ type: () => [ManagedBy] })
  managedBy: readonly ManagedBy[];

  @ApiPropertyOptional({ type: () => [ShadowedEntry] })
  shadowedBy?: readonly ShadowedEntry[];
}

export class PreviewCounts {
  @ApiProperty({ description: 'Servers that are shown' })
  server: number;

  skill: number;
  plugin: number;
}

/** contract §10 */
export class AccessPreview {
  /** What entering the registry is answered. */
  answer: ExplainedAnswer;

  counts: PreviewCounts;

  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    nullable: true,
    description: 'The first page as that caller gets it, byte for byte; null for one who is not let in',
  })
  page: object | null;
}
