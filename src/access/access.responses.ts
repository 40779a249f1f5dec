import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { type Role, ROLES } from '../auth/route.js';
import { CLAIMS_SCHEMA } from '../claims/claim-rules.js';
import type { Claims } from '../claims/claims.js';
import { ERROR_CATALOGUE, type ErrorCode } from '../http/errors.js';
import { type Decision, DECISIONS, type Outcome, OUTCOMES, type StepName, STEPS } from './steps.js';

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
