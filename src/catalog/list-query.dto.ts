import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsOptional, IsString, Matches, MaxLength } from 'class-validator';
import { ENTRY_TYPES } from '../documents/entry-types.js';
import { IsFreeOfNul, IsTimestamp } from './query-validators.js';

const LIMIT = /^([1-9]\d?|100)$/;

/** Parameters arrive as text and stay text here; `list-request.ts` turns them into values. Unknown ones are ignored. */
export class PageQuery {
  @ApiPropertyOptional({
    description: '`metadata.nextCursor` of the page before; it carries the query along',
  })
  @IsOptional()
  @IsString({ message: 'cursor: give it once' })
  cursor?: string;

  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 100 })
  @IsOptional()
  @Matches(LIMIT, { message: 'limit: a whole number from 1 to 100, given once' })
  limit?: string;

  @ApiPropertyOptional({ description: 'Case-insensitive substring of name, title or description' })
  @IsOptional()
  @IsFreeOfNul({ message: 'search: text without NUL characters, given once' })
  @MaxLength(500, { message: 'search: at most 500 characters' })
  search?: string;
}

export class ServerVersionsQuery {
  @ApiPropertyOptional({ type: 'boolean', description: 'Also the versions whose status is `deleted`' })
  @IsOptional()
  @IsIn(['true', 'false'], { message: 'include_deleted: true or false, given once' })
  include_deleted?: string;
}

export class ServerListQuery extends PageQuery {
  @ApiPropertyOptional({
    format: 'date-time',
    description: 'Only what changed at or after this time; implies `include_deleted`',
  })
  @IsOptional()
  @IsTimestamp({
    message: 'updated_since: an RFC 3339 date and time such as 2025-08-07T13:15:04Z, given once',
  })
  updated_since?: string;

  @ApiPropertyOptional({ description: '`latest`, or one exact version' })
  @IsOptional()
  @IsFreeOfNul({ message: 'version: latest or one exact version, given once' })
  @MaxLength(255, { message: 'version: at most 255 characters' })
  version?: string;

  @ApiPropertyOptional({ type: 'boolean', description: 'Also the versions whose status is `deleted`' })
  @IsOptional()
  @IsIn(['true', 'false'], { message: 'include_deleted: true or false, given once' })
  include_deleted?: string;
}

export class SkillListQuery extends PageQuery {
  @ApiPropertyOptional({ enum: [...ENTRY_TYPES.skill.statuses] })
  @IsOptional()
  @IsIn([...ENTRY_TYPES.skill.statuses], { message: 'status: active, deprecated or archived, given once' })
  status?: string;
}
