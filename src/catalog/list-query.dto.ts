import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsOptional, IsString, MaxLength } from 'class-validator';
import { BARE_TYPES, ENTRY_TYPES } from '../documents/entry-types.js';
import { isShown, statusesOf } from '../documents/statuses.js';
import { IsFlag, IsPageLimit, IsStorable, IsTimestamp, MayBeEmpty } from '../validation/decorators.js';

/** Parameters remain strings here; `list-request.ts` converts them. Unknown and empty parameters are ignored. */
export class PageQuery {
  /** `metadata.nextCursor` of the previous page; it includes the query */
  @IsOptional() @IsString() cursor?: string;

  /** Maximum number of items; a page of large documents has fewer */
  @MayBeEmpty() @IsPageLimit() limit?: string;

  /** Case-insensitive substring of name, title or description */
  @IsOptional() @IsStorable() @MaxLength(500) search?: string;
}

export class VersionQuery {
  /** Include a version whose status is `deleted` */
  @MayBeEmpty() @IsFlag() include_deleted?: string;
}

export class VersionsQuery extends VersionQuery {
  /** `metadata.nextCursor` of the previous page */
  @IsOptional() @IsString() cursor?: string;
}

export class ServerListQuery extends PageQuery {
  @ApiPropertyOptional({ type: 'integer', default: ENTRY_TYPES.server.perPage }) declare limit?: string;

  /** Only versions that changed, or became visible through new claims, at or after this time; implies `include_deleted` */
  @ApiPropertyOptional({ format: 'date-time' }) @MayBeEmpty() @IsTimestamp() updated_since?: string;

  /** `latest` or an exact version */
  @IsOptional() @IsStorable() @MaxLength(255) version?: string;

  /** Include versions whose status is `deleted` */
  @MayBeEmpty() @IsFlag() include_deleted?: string;
}

/** The statuses of all types that are served without a wrapper. */
const BARE_STATUSES = [...new Set(BARE_TYPES.flatMap(statusesOf))].filter(isShown);

export class BareListQuery extends PageQuery {
  @ApiPropertyOptional({ type: 'integer', default: ENTRY_TYPES.skill.perPage }) declare limit?: string;

  @MayBeEmpty() @IsIn(BARE_STATUSES) status?: string;
}
