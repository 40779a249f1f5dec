import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { CLAIMS_SCHEMA } from '../claims/claim-rules.js';
import { ENTRY_TYPE_NAMES, STATUSES } from '../documents/entry-types.js';
import { documentClassOf } from './document-classes.js';

export class VersionState {
  @ApiProperty({ enum: STATUSES })
  status: string;

  statusMessage?: string;

  @ApiProperty({ format: 'date-time' })
  statusChangedAt: string;

  @ApiProperty({ format: 'date-time' })
  publishedAt: string;

  @ApiProperty({ format: 'date-time' })
  updatedAt: string;

  isLatest: boolean;
}

/** What stands beside a published document. */
export class VersionMetadata {
  'io.modelcontextprotocol.registry/official': VersionState;
}

/** Who published a version, by their token. */
export class PublisherAnswer {
  @ApiProperty({ type: String, nullable: true })
  subject: string | null;

  @ApiProperty({ type: String, nullable: true })
  issuer: string | null;

  /** The client that the token was issued to. */
  client?: string;
}

export class PublishedVersionAnswer {
  @ApiProperty({ enum: ENTRY_TYPE_NAMES })
  type: string;

  name: string;

  version: string;

  @ApiProperty(CLAIMS_SCHEMA)
  claims: object;

  /** Of a version that is read; absent where nobody was identified. */
  publishedBy?: PublisherAnswer;

  _meta: VersionMetadata;
}

for (const type of ENTRY_TYPE_NAMES) {
  const description = `The document as it was published, of a ${type}`;
  ApiPropertyOptional({ type: documentClassOf(type), description })(PublishedVersionAnswer.prototype, type);
}

export class ManagedVersion {
  version: string;

  @ApiProperty({ enum: STATUSES })
  status: string;

  statusMessage?: string;

  isLatest: boolean;

  @ApiProperty({ format: 'date-time' })
  publishedAt: string;

  @ApiProperty({ format: 'date-time' })
  updatedAt: string;

  /** Absent where nobody was identified. */
  publishedBy?: PublisherAnswer;
}

export class ManagedEntry {
  @ApiProperty({ enum: ENTRY_TYPE_NAMES })
  type: string;

  name: string;

  @ApiProperty(CLAIMS_SCHEMA)
  claims: object;

  /** Newest first. */
  versions: ManagedVersion[];
}

export class EntryClaimsAnswer {
  @ApiProperty(CLAIMS_SCHEMA)
  claims: object;
}
