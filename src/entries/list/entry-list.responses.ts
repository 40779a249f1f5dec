import { ApiProperty } from '@nestjs/swagger';
import { CLAIMS_SCHEMA } from '../../claims/claim-rules.js';
import { ENTRY_TYPE_NAMES, STATUSES } from '../../documents/entry-types.js';
import { AdminListMetadata } from '../../http/lists.dto.js';

export class ListedVersion {
  version: string;

  @ApiProperty({ enum: STATUSES })
  status: string;

  isLatest: boolean;

  @ApiProperty({ format: 'date-time' })
  publishedAt: string;
}

export class ListedEntry {
  @ApiProperty({ enum: ENTRY_TYPE_NAMES })
  type: string;

  name: string;

  /** The source it is in. */
  source: string;

  @ApiProperty(CLAIMS_SCHEMA)
  claims: object;

  /** Newest first. */
  versions: ListedVersion[];
}

export class EntryList {
  entries: ListedEntry[];
  metadata: AdminListMetadata;
}
