import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { AUDIT_ACTIONS } from '../auth/route.js';
import { ENTRY_TYPE_NAMES } from '../documents/entry-types.js';
import { AdminListMetadata } from '../http/lists.dto.js';
import { Checked, Optional } from '../validation/class-checks.js';
import {
  cursorParameter,
  emptyOr,
  givenOnce,
  textParameter,
  timestampParameter,
  wordParameter,
} from '../validation/value-checks.js';

export const OUTCOMES = ['allowed', 'refused'] as const;
export const MAX_EVENTS = 1_000;
export const DEFAULT_EVENTS = 100;

const MAX_NAME = 300;
const PAGE_LIMIT = /^([1-9]\d{0,2}|1000)$/;

/** contract §9. Unknown and empty parameters are ignored. */
export class AuditListParameters {
  @ApiPropertyOptional({ format: 'date-time', description: 'Only events at or after this time' })
  @Optional()
  @Checked(emptyOr(timestampParameter))
  since?: string;

  @ApiPropertyOptional({ format: 'date-time', description: 'Only events before this time' })
  @Optional()
  @Checked(emptyOr(timestampParameter))
  until?: string;

  @ApiPropertyOptional({ enum: AUDIT_ACTIONS, description: 'Only events of this action' })
  @Optional()
  @Checked(emptyOr(wordParameter(AUDIT_ACTIONS)))
  action?: string;

  @ApiPropertyOptional({ description: 'Only what this subject did', maxLength: MAX_NAME })
  @Optional()
  @Checked(textParameter('a subject', MAX_NAME))
  actor?: string;

  @ApiPropertyOptional({
    description: 'Only what was done to a source, registry or entry of this name',
    maxLength: MAX_NAME,
  })
  @Optional()
  @Checked(textParameter('a name', MAX_NAME))
  target?: string;

  @ApiPropertyOptional({ enum: OUTCOMES, description: 'Only what was allowed, or refused' })
  @Optional()
  @Checked(emptyOr(wordParameter(OUTCOMES)))
  outcome?: string;

  @ApiPropertyOptional({
    description: '`metadata.nextCursor` of the page before; it carries the query along',
  })
  @Optional()
  @Checked(cursorParameter)
  cursor?: string;

  @ApiPropertyOptional({
    type: 'integer',
    minimum: 1,
    maximum: MAX_EVENTS,
    default: DEFAULT_EVENTS,
    description:
      'Events on a page at most; a page of large events ends earlier. As lines: all there are, unless it is given',
  })
  @Optional()
  @Checked(emptyOr(givenOnce(`a whole number from 1 to ${MAX_EVENTS}`, (text) => PAGE_LIMIT.test(text))))
  limit?: string;
}

const NULLABLE_TEXT = { type: String, nullable: true } as const;
const STATE = { type: 'object', additionalProperties: true } as const;

/** Who did it; the server itself is `sync` and `configuration`, without an issuer. */
export class AuditActorAnswer {
  @ApiProperty({ ...NULLABLE_TEXT, description: 'Of the token; null when nobody was identified' })
  subject: string | null;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Of the token' })
  issuer: string | null;

  /** The client that the token was issued to. */
  client?: string;

  /** The name of the registry's key that they came with, in place of a token. */
  key?: string;

  /** At that time. */
  roles: string[];
}

export class AuditTargetAnswer {
  @ApiProperty({ enum: ['source', 'registry', ...ENTRY_TYPE_NAMES, 'configuration', 'route'] })
  type: string;

  name: string;

  version?: string;

  source?: string;

  registry?: string;
}

/** What there was before a change and after it, as far as there was anything. */
export class AuditChangeAnswer {
  @ApiPropertyOptional(STATE)
  before?: object;

  @ApiPropertyOptional(STATE)
  after?: object;
}

/** contract §9 */
export class AuditEventAnswer {
  @ApiProperty({ format: 'uuid' })
  id: string;

  @ApiProperty({ format: 'date-time' })
  time: string;

  @ApiProperty({
    ...NULLABLE_TEXT,
    description: 'Of the request that led to it, as in `X-Request-Id` and the log',
  })
  requestId: string | null;

  traceId?: string;

  @ApiProperty({ enum: AUDIT_ACTIONS })
  action: string;

  @ApiProperty({ enum: OUTCOMES })
  outcome: string;

  /** The code of a refusal. */
  code?: string;

  /** Which rule has refused. */
  step?: string;

  actor: AuditActorAnswer;

  target: AuditTargetAnswer;

  change?: AuditChangeAnswer;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'The address at the other end of the connection' })
  sourceIp: string | null;

  @ApiPropertyOptional({
    type: 'integer',
    description: 'Refusals and reads that were lost before this event; shown to super-admins',
  })
  dropped?: number;
}

export class AuditEventList {
  /** Newest first. */
  events: AuditEventAnswer[];
  metadata: AdminListMetadata;
}
