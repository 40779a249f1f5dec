import { ApiProperty } from '@nestjs/swagger';

export class AdminListMetadata {
  @ApiProperty({ type: 'integer', description: 'Items of this page' })
  count: number;

  /** Absent on the last page. */
  nextCursor?: string;
}
