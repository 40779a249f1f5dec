import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { ENTRY_TYPE_NAMES, type EntryType } from '../documents/entry-types.js';
import { SHOWN_STATUSES } from '../documents/statuses.js';
import { IsOptional, Validate } from '../validation/class-validation.js';
import {
  cursorParameter,
  emptyOr,
  flagParameter,
  limitParameter,
  MAX_PAGE,
  textParameter,
  wordParameter,
} from '../validation/value-checks.js';
import { PageMetadata } from './catalog.responses.js';

export const SORTS = ['relevance', 'updated', 'name'] as const;
export type Sort = (typeof SORTS)[number];

const filterText = textParameter('text without NUL characters', 500);

export class EntrySearchQuery {
  @ApiPropertyOptional({
    description:
      'Up to 20 words. Each must match the beginning of a word or, with three letters or more, any part of one. Case, ' +
      'accents and a plural `s` make no difference. A word with a slash is compared with the beginning of whole names.',
    maxLength: 500,
  })
  @IsOptional()
  @Validate(filterText)
  q?: string;

  @ApiPropertyOptional({ enum: [...ENTRY_TYPE_NAMES] })
  @IsOptional()
  @Validate(emptyOr(wordParameter(ENTRY_TYPE_NAMES)))
  type?: EntryType | '';

  @ApiPropertyOptional({ description: 'An exact tag', maxLength: 500 })
  @IsOptional()
  @Validate(filterText)
  tag?: string;

  @ApiPropertyOptional({ description: 'A transport such as `stdio` or `streamable-http`', maxLength: 500 })
  @IsOptional()
  @Validate(filterText)
  transport?: string;

  @ApiPropertyOptional({ description: 'The part of the name before the slash', maxLength: 500 })
  @IsOptional()
  @Validate(filterText)
  publisher?: string;

  @ApiPropertyOptional({
    type: 'boolean',
    description: 'Whether `client-config` can express the server for some client',
  })
  @IsOptional()
  @Validate(emptyOr(flagParameter))
  installable?: string;

  @ApiPropertyOptional({ enum: SORTS, default: 'relevance' })
  @IsOptional()
  @Validate(emptyOr(wordParameter(SORTS)))
  sort?: Sort | '';

  @ApiPropertyOptional({
    type: 'boolean',
    description:
      'Whether items have `statedAt` and `publishedAt`, where known; a cursor does not include this parameter',
  })
  @IsOptional()
  @Validate(emptyOr(flagParameter))
  dates?: string;

  @ApiPropertyOptional({
    type: 'integer',
    minimum: 1,
    maximum: MAX_PAGE,
    default: 30,
    description: 'Maximum number of items; a page of large items has fewer',
  })
  @IsOptional()
  @Validate(emptyOr(limitParameter))
  limit?: string;

  @ApiPropertyOptional({ description: '`metadata.nextCursor` of the previous page; it includes the query' })
  @IsOptional()
  @Validate(cursorParameter)
  cursor?: string;
}

/** The latest version of an entry. */
export class FoundEntry {
  @ApiProperty({ enum: [...ENTRY_TYPE_NAMES] })
  type: EntryType;

  name: string;
  title?: string;
  description?: string;
  version: string;

  @ApiProperty({ enum: [...SHOWN_STATUSES] })
  status: string;

  @ApiProperty({ type: [String] })
  tags: string[];

  @ApiProperty({ type: [String] })
  transports: string[];

  @ApiProperty({ description: 'Whether `client-config` can express it for some client' })
  installable: boolean;

  @ApiProperty({
    format: 'date-time',
    description:
      'The date that the document states, or else when it last changed here, which may be its first sync',
  })
  updatedAt: string;

  @ApiPropertyOptional({
    format: 'date-time',
    description: 'With `dates`: the date that the document states',
  })
  statedAt?: string;

  @ApiPropertyOptional({
    format: 'date-time',
    description:
      'With `dates`: when the version was published here or, according to it, in the upstream registry',
  })
  publishedAt?: string;
}

const COUNTS = { type: 'object', additionalProperties: { type: 'integer' } } as const;

/** How often each value is in the whole result: the 20 most frequent. */
export class SearchFacets {
  @ApiProperty(COUNTS)
  type: Record<string, number>;

  @ApiProperty(COUNTS)
  tag: Record<string, number>;

  @ApiProperty(COUNTS)
  transport: Record<string, number>;
}

export class SearchMetadata extends PageMetadata {
  @ApiPropertyOptional({ description: 'The corrected words of `q`, if no entry has them as typed' })
  corrected?: string[];
}

export class EntrySearchResult {
  items: FoundEntry[];
  facets: SearchFacets;
  metadata: SearchMetadata;
}
