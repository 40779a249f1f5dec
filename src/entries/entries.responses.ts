import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { ENTRY_TYPE_NAMES } from '../documents/entry-types.js';

export class PublishedVersionAnswer {
  @ApiProperty({ enum: ENTRY_TYPE_NAMES })
  type: string;

  name: string;

  version: string;

  @ApiProperty({ type: 'object', additionalProperties: true })
  claims: object;

  /** Status, dates and whether this is the latest version. */
  @ApiProperty({ type: 'object', additionalProperties: true })
  _meta: object;
}

for (const type of ENTRY_TYPE_NAMES) {
  const description = `The document as it was published, of a ${type}`;
  ApiPropertyOptional({ type: 'object', additionalProperties: true, description })(
    PublishedVersionAnswer.prototype,
    type,
  );
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
