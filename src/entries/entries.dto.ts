import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsOptional } from 'class-validator';

/** Bodies are read by `publish-request.ts`; the classes describe them. */
export class PublishBody {
  /** A server document (MCP Registry schema 2025-12-11). Either this or `skill`. */
  @ApiPropertyOptional({ type: 'object', additionalProperties: true })
  server?: object;

  /** A skill document. */
  @ApiPropertyOptional({ type: 'object', additionalProperties: true })
  skill?: object;

  /** Strings, or lists of strings; those of the first version for every later one. */
  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    example: { org: 'acme', team: ['platform'] },
  })
  claims?: object;
}

export class ClaimsBody {
  /** An empty map clears the claims. */
  @ApiProperty({ type: 'object', additionalProperties: true, example: { org: 'acme' } })
  claims: object;
}

export class StatusBody {
  @ApiProperty({ description: 'Servers: active, deprecated, deleted; skills: active, deprecated, archived' })
  status: string;

  /** Shown beside the status; absent: none. */
  @ApiPropertyOptional({ maxLength: 500 })
  statusMessage?: string;
}

export class PublishQuery {
  @ApiPropertyOptional({ type: 'boolean', description: 'Answers as publishing would, and writes nothing' })
  @IsOptional()
  @IsIn(['true', 'false'], { message: 'dry_run: true or false, given once' })
  dry_run?: string;
}
