import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional, Validate } from '../validation/class-validation.js';
import { cursorParameter, limitParameter, MAX_PAGE } from '../validation/value-checks.js';

/** Without `limit`, lists are complete, except that an answer ends at 1 MiB. */
export class AdminListParameters {
  @ApiPropertyOptional({ description: '`metadata.nextCursor` of the previous page' })
  @IsOptional()
  @Validate(cursorParameter)
  cursor?: string;

  @ApiPropertyOptional({
    type: 'integer',
    minimum: 1,
    maximum: MAX_PAGE,
    description: 'Maximum number of items on a page; all items by default, up to 1 MiB',
  })
  @IsOptional()
  @Validate(limitParameter)
  limit?: string;
}

export class AdminListMetadata {
  @ApiProperty({ type: 'integer', description: 'Items on this page' })
  count: number;

  /** Absent on the last page. A page ends at 1 MiB. */
  nextCursor?: string;
}
