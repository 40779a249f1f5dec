import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { AUDIT_ACTIONS } from '../../auth/route.js';
import { ENTRY_TYPE_NAMES } from '../../documents/entry-types.js';
import { AdminListMetadata } from '../../http/lists.dto.js';
import { OUTCOMES } from './audit-list.dto.js';

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
