import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { AUDIT_ACTIONS } from '../auth/route.js';
import { MAX_SUBJECT_BYTES } from '../auth/token-claims.js';
import { ENTRY_TYPE_NAMES } from '../documents/entry-types.js';
import { AdminListMetadata } from '../http/lists.dto.js';
import { IsOptional, Validate } from '../validation/class-validation.js';
import {
  cursorParameter,
  emptyOr,
  givenOnce,
  textParameter,
  timestampParameter,
  wordParameter,
} from '../validation/value-checks.js';

const OUTCOMES = ['allowed', 'refused'] as const;
export const MAX_EVENTS = 1_000;
export const DEFAULT_EVENTS = 100;

const MAX_NAME = 300;
const PAGE_LIMIT = /^([1-9]\d{0,2}|1000)$/;

/** reference/audit. Unknown and empty parameters are ignored. */
export class AuditListParameters {
  @ApiPropertyOptional({ format: 'date-time', description: 'Only events at or after this time' })
  @IsOptional()
  @Validate(emptyOr(timestampParameter))
  since?: string;

  @ApiPropertyOptional({ format: 'date-time', description: 'Only events before this time' })
  @IsOptional()
  @Validate(emptyOr(timestampParameter))
  until?: string;

  @ApiPropertyOptional({ enum: AUDIT_ACTIONS, description: 'Only events with this action' })
  @IsOptional()
  @Validate(emptyOr(wordParameter(AUDIT_ACTIONS)))
  action?: string;

  @ApiPropertyOptional({
    description: 'Only events caused by callers with this subject or name. Names are not unique',
    maxLength: MAX_SUBJECT_BYTES,
  })
  @IsOptional()
  @Validate(textParameter('a subject or name', MAX_SUBJECT_BYTES))
  actor?: string;

  @ApiPropertyOptional({ description: 'Only events caused by this subject', maxLength: MAX_SUBJECT_BYTES })
  @IsOptional()
  @Validate(textParameter('a subject', MAX_SUBJECT_BYTES))
  subject?: string;

  @ApiPropertyOptional({
    description: 'Only events about the source, registry or entry with this name',
    maxLength: MAX_NAME,
  })
  @IsOptional()
  @Validate(textParameter('a name', MAX_NAME))
  target?: string;

  @ApiPropertyOptional({ enum: OUTCOMES, description: 'Only events with this outcome' })
  @IsOptional()
  @Validate(emptyOr(wordParameter(OUTCOMES)))
  outcome?: string;

  @ApiPropertyOptional({
    description: '`metadata.nextCursor` of the previous page; includes its filters',
  })
  @IsOptional()
  @Validate(cursorParameter)
  cursor?: string;

  @ApiPropertyOptional({
    type: 'integer',
    minimum: 1,
    maximum: MAX_EVENTS,
    default: DEFAULT_EVENTS,
    description:
      'Maximum number of events on a page; large events, or many that the caller may not see, end it earlier. Streams are unlimited by default',
  })
  @IsOptional()
  @Validate(emptyOr(givenOnce(`a whole number from 1 to ${MAX_EVENTS}`, (text) => PAGE_LIMIT.test(text))))
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

/** What a refused token claims about itself; not verified. */
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

  /** Whom a refused token claims to be from; super-admins only. */
  claimed?: TokenOriginAnswer;

  change?: AuditChangeAnswer;

  /** Paths of changed settings that wait for a restart. */
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
