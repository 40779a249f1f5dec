import { ApiPropertyOptional } from '@nestjs/swagger';
import { BARE_TYPES, ENTRY_TYPES, type EntryType } from '../documents/entry-types.js';
import { isShown, statusesOf } from '../documents/statuses.js';
import { IsOptional, Validate } from '../validation/class-validation.js';
import {
  cursorParameter,
  emptyOr,
  flagParameter,
  limitParameter,
  MAX_PAGE,
  textParameter,
  timestampParameter,
  wordParameter,
} from '../validation/value-checks.js';

/** Parameters remain strings here; `list-request.ts` converts them. Unknown and empty parameters are ignored. */
export class PageQuery {
  @ApiPropertyOptional({
    description: '`metadata.nextCursor` of the previous page; it includes the query',
  })
  @IsOptional()
  @Validate(cursorParameter)
  cursor?: string;

  @IsOptional()
  @Validate(emptyOr(limitParameter))
  limit?: string;

  @ApiPropertyOptional({
    description: 'Case-insensitive substring of name, title or description',
    maxLength: 500,
  })
  @IsOptional()
  @Validate(textParameter('text without NUL characters', 500))
  search?: string;
}

export class VersionQuery {
  @ApiPropertyOptional({ type: 'boolean', description: 'Include a version whose status is `deleted`' })
  @IsOptional()
  @Validate(emptyOr(flagParameter))
  include_deleted?: string;
}

export class VersionsQuery extends VersionQuery {
  @ApiPropertyOptional({ description: '`metadata.nextCursor` of the previous page' })
  @IsOptional()
  @Validate(cursorParameter)
  cursor?: string;
}

export class ServerListQuery extends PageQuery {
  @ApiPropertyOptional(pageSize('server'))
  declare limit?: string;

  @ApiPropertyOptional({
    format: 'date-time',
    description:
      'Only versions that changed, or became visible through new claims, at or after this time; implies `include_deleted`',
  })
  @IsOptional()
  @Validate(emptyOr(timestampParameter))
  updated_since?: string;

  @ApiPropertyOptional({ description: '`latest` or an exact version', maxLength: 255 })
  @IsOptional()
  @Validate(textParameter('latest or one exact version', 255))
  version?: string;

  @ApiPropertyOptional({ type: 'boolean', description: 'Include versions whose status is `deleted`' })
  @IsOptional()
  @Validate(emptyOr(flagParameter))
  include_deleted?: string;
}

/** The statuses of all types that are served without a wrapper. */
const BARE_STATUSES = [...new Set(BARE_TYPES.flatMap(statusesOf))].filter(isShown);

export class BareListQuery extends PageQuery {
  @ApiPropertyOptional(pageSize('skill'))
  declare limit?: string;

  @ApiPropertyOptional({ enum: BARE_STATUSES })
  @IsOptional()
  @Validate(emptyOr(wordParameter(BARE_STATUSES)))
  status?: string;
}

function pageSize(type: EntryType) {
  return {
    type: 'integer' as const,
    minimum: 1,
    maximum: MAX_PAGE,
    default: ENTRY_TYPES[type].perPage,
    description: 'Maximum number of items; a page of large documents has fewer',
  };
}
