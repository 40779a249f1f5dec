import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, IsString, MaxLength } from 'class-validator';
import { IsPageLimit, IsStorable } from '../validation/decorators.js';

/** Lists without `limit` are complete, except that a response ends at 1 MiB. */
export class AdminListParameters {
  /** `metadata.nextCursor` of the previous page */
  @IsOptional() @IsString() cursor?: string;

  /** Maximum number of items on a page; all items by default, up to 1 MiB */
  @IsOptional() @IsPageLimit() limit?: string;
}

/** The parameters of lists of sources and registries. */
export class ResourceListParameters extends AdminListParameters {
  /** A part of the name, ignoring case */
  @IsOptional() @IsStorable() @MaxLength(500) search?: string;
}

export class AdminListMetadata {
  @ApiProperty({ type: 'integer', description: 'Items on this page' })
  count: number;

  /** Absent on the last page. A page ends at 1 MiB. */
  nextCursor?: string;
}
