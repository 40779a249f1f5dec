import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional, IsString, Matches } from 'class-validator';

/** Complete unless `limit` is given. */
export class AdminListParameters {
  @ApiPropertyOptional({ description: '`metadata.nextCursor` of the page before' })
  @IsOptional()
  @IsString({ message: 'cursor: give it once' })
  cursor?: string;

  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 100 })
  @IsOptional()
  @Matches(/^([1-9]\d?|100)$/, { message: 'limit: a whole number from 1 to 100, given once' })
  limit?: string;
}
