import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional, Validate } from '../validation/class-validation.js';
import { cursorParameter, limitParameter, MAX_PAGE, textParameter } from '../validation/value-checks.js';

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

/** The parameters of lists of sources and registries. */
export class ResourceListParameters extends AdminListParameters {
  @ApiPropertyOptional({ maxLength: 500, description: 'A part of the name; case does not matter' })
  @IsOptional()
  @Validate(textParameter('text without NUL characters', 500))
  search?: string;
}

export class AdminListMetadata {
  @ApiProperty({ type: 'integer', description: 'Items on this page' })
  count: number;

  /** Absent on the last page. A page ends at 1 MiB. */
  nextCursor?: string;
}
