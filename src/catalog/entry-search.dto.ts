import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsOptional, IsString, MaxLength } from 'class-validator';
import { ENTRY_TYPE_NAMES, type EntryType } from '../documents/entry-types.js';
import { SHOWN_STATUSES } from '../documents/statuses.js';
import { SERVER_CLIENTS, type ServerClient } from '../entry-store/entry-summary.js';
import { IsFlag, IsPageLimit, IsStorable, MayBeEmpty } from '../validation/decorators.js';
import { PageMetadata } from './catalog.responses.js';

export const SORTS = ['relevance', 'updated', 'dated', 'name'] as const;
export type Sort = (typeof SORTS)[number];

export class EntrySearchQuery {
  @ApiPropertyOptional({
    description:
      'Up to 20 words. Each must match the beginning of a word or, with three letters or more, any part of one. Case, ' +
      'accents and a plural `s` make no difference. A word with a slash is compared with the beginning of whole names.',
  })
  @IsOptional()
  @IsStorable()
  @MaxLength(500)
  q?: string;

  @MayBeEmpty() @IsIn(ENTRY_TYPE_NAMES) type?: EntryType | '';

  /** An exact tag */
  @IsOptional() @IsStorable() @MaxLength(500) tag?: string;

  /** A transport such as `stdio` or `streamable-http` */
  @IsOptional() @IsStorable() @MaxLength(500) transport?: string;

  /** The part of the name before the slash */
  @IsOptional() @IsStorable() @MaxLength(500) publisher?: string;

  @ApiPropertyOptional({
    description:
      'A member of skills and plugins: `npm:…`, `pypi:…`, `oci:…`, `nuget:…`, `url:https://…` with everything below it, ' +
      '`hook:PreToolUse`, `skill:…`. With `type=server`, a package or remote of a server',
    example: 'npm:left-pad',
  })
  @IsOptional()
  @IsStorable()
  @MaxLength(2_000)
  contains?: string;

  /** Whether `client-config` can express the server for some client */
  @MayBeEmpty() @IsFlag() installable?: string;

  /**
   * `true`: only entries whose document states a date, or whose publication time is known; for others, the date may be
   * that of a sync
   */
  @MayBeEmpty() @IsFlag() dated?: string;

  /** `true`: related words match too, and if no entry has all words of `q`, entries with some of them are found */
  @MayBeEmpty() @IsFlag() partial?: string;

  @ApiPropertyOptional({ default: 'relevance' }) @MayBeEmpty() @IsIn(SORTS) sort?: Sort | '';

  /** Whether items have `statedAt` and `publishedAt`, where known; a cursor does not include this parameter */
  @MayBeEmpty() @IsFlag() dates?: string;

  /**
   * Whether items also include what can run them, what their publisher states, and the tag, tool or member that
   * matched; not in a cursor
   */
  @MayBeEmpty() @IsFlag() details?: string;

  /** Maximum number of items; a page of large items has fewer */
  @MayBeEmpty() @IsPageLimit(30) limit?: string;

  /** `metadata.nextCursor` of the previous page; it includes the query */
  @IsOptional() @IsString() cursor?: string;
}

/** A tag, tool or member that contains a word of the query that neither the name nor the title contains. */
export class MatchedText {
  @ApiProperty({ enum: ['tag', 'tool', 'member'] })
  in: 'tag' | 'tool' | 'member';

  text: string;
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
      'The date in the document, or else when the version last changed here, which may be its first sync',
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
      'With `dates`: when the version was published here, or in the upstream registry as that registry states',
  })
  publishedAt?: string;

  @ApiPropertyOptional({
    enum: [...SERVER_CLIENTS],
    isArray: true,
    description: 'With `details`: what can run the server',
  })
  clients?: readonly ServerClient[];

  @ApiPropertyOptional({ description: 'With `details`: the tier that the publisher states, not verified' })
  tier?: string;

  @ApiPropertyOptional({
    type: 'integer',
    description: 'With `details`: the stars of the repository, as the publisher states them',
  })
  stars?: number;

  @ApiPropertyOptional({ type: [MatchedText], description: 'With `details`: why the entry was found' })
  matched?: readonly MatchedText[];

  @ApiPropertyOptional({
    type: 'integer',
    description: 'With `details`: the rank among the results of other registries; lower comes first',
  })
  relevance?: number;
}

const COUNTS = { type: 'object', additionalProperties: { type: 'integer' } } as const;

/** How often each value occurs in the whole result: the 20 most frequent. */
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

  @ApiPropertyOptional({ type: Boolean, description: 'With `partial`: no entry has all words' })
  partial?: true;
}

export class EntrySearchResult {
  items: FoundEntry[];
  facets: SearchFacets;
  metadata: SearchMetadata;
}
