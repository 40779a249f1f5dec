import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { SOURCE_FORMATS, type SourceFormat } from '../source-kinds/source-formats.js';
import { SkippedEntry } from '../sources/sources.responses.js';

/** What a sync with these settings would read; nothing is stored. */
export class SourceTestAnswer {
  @ApiProperty({ enum: ['complete', 'failed'] })
  status: string;

  /** Why the source could not be read. */
  error?: string;

  @ApiPropertyOptional({ enum: SOURCE_FORMATS, description: 'The format; only for git and file sources' })
  format?: SourceFormat;

  /** Versions that a sync would accept, skip as invalid, and leave out because of the filter. */
  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'integer' },
    example: { entries: 12, skipped: 1, filtered: 0 },
  })
  counts: Record<string, number>;

  /** The first invalid entries, with reasons. */
  skipped: SkippedEntry[];
}
