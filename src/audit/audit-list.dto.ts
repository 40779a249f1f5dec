import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsOptional, IsString, MaxLength } from 'class-validator';
import { AUDIT_ACTIONS } from '../auth/route.js';
import { MAX_SUBJECT_BYTES } from '../auth/token-claims.js';
import { ENTRY_TYPE_NAMES } from '../documents/entry-types.js';
import { AdminListMetadata } from '../http/lists.dto.js';
import { IsPageLimit, IsStorable, IsTimestamp, MayBeEmpty } from '../validation/decorators.js';

const OUTCOMES = ['allowed', 'refused'] as const;
export const MAX_EVENTS = 1_000;
export const DEFAULT_EVENTS = 100;

const MAX_NAME = 300;

/** Query parameters (reference/audit). Unknown and empty ones are ignored. */
export class AuditListParameters {
  /** Only events at or after this time */
  @ApiPropertyOptional({ format: 'date-time' }) @MayBeEmpty() @IsTimestamp() since?: string;

  /** Only events before this time */
  @ApiPropertyOptional({ format: 'date-time' }) @MayBeEmpty() @IsTimestamp() until?: string;

  /** Only events with this action */
  @MayBeEmpty() @IsIn(AUDIT_ACTIONS) action?: string;

  /** Only events caused by callers with this subject or name. Names are not unique */
  @IsOptional() @IsStorable() @MaxLength(MAX_SUBJECT_BYTES) actor?: string;

  /** Only events caused by this subject */
  @IsOptional() @IsStorable() @MaxLength(MAX_SUBJECT_BYTES) subject?: string;

  /** Only events about the source, registry or entry with this name */
  @IsOptional() @IsStorable() @MaxLength(MAX_NAME) target?: string;

  /** Only events with this outcome */
  @MayBeEmpty() @IsIn(OUTCOMES) outcome?: string;

  /** `metadata.nextCursor` of the previous page; includes its filters */
  @IsOptional() @IsString() cursor?: string;

  @ApiPropertyOptional({
    description:
      'Maximum number of events on a page; large events, or many that are hidden from the caller, end it earlier. Streams are unlimited by default',
  })
  @MayBeEmpty()
  @IsPageLimit(DEFAULT_EVENTS, MAX_EVENTS)
  limit?: string;
}

const NULLABLE_TEXT = { type: String, nullable: true } as const;
const STATE = { type: 'object', additionalProperties: true } as const;

/** The caller. Changes made by the server itself have the subject `sync` or `configuration`, and no issuer. */
export class AuditActorAnswer {
  @ApiProperty({ ...NULLABLE_TEXT, description: 'The subject of the token; null for unidentified callers' })
  subject: string | null;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'The issuer of the token' })
  issuer: string | null;

  /** The name of the caller at that time, from the provider's `displayName` claim. Not unique. */
  name?: string;

  /** The client that the token was issued to. */
  client?: string;

  /** The name of the registry key that the caller used instead of a token. */
  key?: string;

  /** The roles of the caller at that time. */
  roles: string[];
}

export class AuditTargetAnswer {
  @ApiProperty({
    enum: ['source', 'registry', 'block', ...ENTRY_TYPE_NAMES, 'webhook', 'configuration', 'route'],
  })
  type: string;

  name: string;

  version?: string;

  source?: string;

  registry?: string;
}

/** One reason why a token was refused. */
export class TokenAttemptAnswer {
  /** The name of the provider. */
  provider: string;

  @ApiProperty({ type: String, description: 'The check that failed', example: 'audience' })
  check: string;

  /** The configured value. */
  expected?: string;

  /** The value in the token, or in the introspection response. */
  received?: string;
}

/** The claims of a refused token about itself; not verified. */
export class TokenOriginAnswer {
  issuer?: string;

  client?: string;
}

/** The state before and after a change. */
export class AuditChangeAnswer {
  @ApiPropertyOptional(STATE)
  before?: object;

  @ApiPropertyOptional(STATE)
  after?: object;
}

/** reference/audit */
export class AuditEventAnswer {
  @ApiProperty({ format: 'uuid' })
  id: string;

  @ApiProperty({ format: 'date-time' })
  time: string;

  @ApiProperty({
    ...NULLABLE_TEXT,
    description: 'The request ID, as in `X-Request-Id` and the log',
  })
  requestId: string | null;

  traceId?: string;

  @ApiProperty({ enum: AUDIT_ACTIONS })
  action: string;

  @ApiProperty({ enum: OUTCOMES })
  outcome: string;

  /** The error code of a refusal. */
  code?: string;

  /** The rule that refused the request. */
  step?: string;

  actor: AuditActorAnswer;

  target: AuditTargetAnswer;

  /** Why a token was refused; super-admins only. */
  @ApiPropertyOptional({ type: () => [TokenAttemptAnswer] })
  attempts?: TokenAttemptAnswer[];

  /** The holder that a refused token claims to have; super-admins only. */
  claimed?: TokenOriginAnswer;

  change?: AuditChangeAnswer;

  /** Paths of changed settings that take effect after a restart. */
  waiting?: string[];

  @ApiProperty({ ...NULLABLE_TEXT, description: 'The remote address of the connection' })
  sourceIp: string | null;

  @ApiPropertyOptional({
    type: 'integer',
    description: 'Number of refusals and reads lost before this event; super-admins only',
  })
  dropped?: number;
}

export class AuditEventList {
  /** Newest first. May be empty before the end of the list: continue until `nextCursor` is absent. */
  events: AuditEventAnswer[];
  metadata: AdminListMetadata;
}
