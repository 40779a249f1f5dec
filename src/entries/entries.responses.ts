import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { ENTRY_TYPE_NAMES } from '../documents/entry-types.js';

export class PublishedVersionAnswer {
  @ApiProperty({ enum: ENTRY_TYPE_NAMES })
  type: string;

  name: string;

  version: string;

  @ApiProperty({ type: 'object', additionalProperties: true })
  claims: object;

  /** The document as it was published; or `skill`. */
  @ApiPropertyOptional({ type: 'object', additionalProperties: true })
  server?: object;

  @ApiPropertyOptional({ type: 'object', additionalProperties: true })
  skill?: object;

  /** Status, dates and whether this is the latest version. */
  @ApiProperty({ type: 'object', additionalProperties: true })
  _meta: object;
}

export class ManagedVersion {
  version: string;

  status: string;

  statusMessage?: string;

  isLatest: boolean;

  @ApiProperty({ format: 'date-time' })
  publishedAt: string;

  @ApiProperty({ format: 'date-time' })
  updatedAt: string;
}

export class ManagedEntry {
  @ApiProperty({ enum: ENTRY_TYPE_NAMES })
  type: string;

  name: string;

  @ApiProperty({ type: 'object', additionalProperties: true })
  claims: object;

  /** Newest first. */
  versions: ManagedVersion[];
}

export class EntryClaimsAnswer {
  @ApiProperty({ type: 'object', additionalProperties: true })
  claims: object;
}
