import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { CLAIMS_SCHEMA } from '../claims/claims.js';
import { ENTRY_TYPE_NAMES } from '../documents/entry-types.js';
import { ContentAnswer } from '../entry-store/entry-content.queries.js';
import { STATUSES } from '../documents/statuses.js';
import { AdminListMetadata } from '../http/lists.dto.js';
import { Members } from '../members/members.responses.js';
import { BlockBody } from './admission.dto.js';
import { DECISIONS, ITEM_STATUSES } from './admission.entity.js';
import { POLICIES } from './hold-reason.js';

export class ApprovalsAnswer {
  @ApiProperty({ type: 'integer' })
  required: number;

  @ApiProperty({ type: 'integer' })
  given: number;
}

export class DecisionAnswer {
  @ApiProperty({ enum: DECISIONS })
  decision: string;

  @ApiProperty({ type: () => PublisherAnswer, nullable: true })
  by: PublisherAnswer | null;

  @ApiProperty({ format: 'date-time' })
  at: string;

  comment?: string;
}

export class ItemChangeAnswer {
  @ApiPropertyOptional(CLAIMS_SCHEMA)
  claims?: object;

  @ApiPropertyOptional({ enum: STATUSES })
  status?: string;

  @ApiPropertyOptional({ type: String, nullable: true })
  statusMessage?: string | null;
}

/** A version, or a change to an entry, that is or was held. */
export class AdmissionItemAnswer {
  @ApiProperty({ format: 'uuid' })
  id: string;

  /** The name of its source. */
  source: string;

  @ApiProperty({ enum: ENTRY_TYPE_NAMES })
  type: string;

  name: string;

  /** Absent for a change to the whole entry. */
  version?: string;

  @ApiProperty({ enum: ITEM_STATUSES })
  status: string;

  @ApiProperty({ type: () => [HoldReasonAnswer] })
  reasons: HoldReasonAnswer[];

  /** SHA-256 of the document, or of the change. */
  digest: string;

  @ApiProperty({ format: 'date-time' })
  firstSeenAt: string;

  @ApiPropertyOptional({ format: 'date-time' })
  publishedAt?: string;

  @ApiPropertyOptional({ format: 'date-time', description: 'When it is admitted without a decision' })
  dueAt?: string;

  publisher?: PublisherAnswer;

  @ApiProperty(CLAIMS_SCHEMA)
  claims: object;

  approvals: ApprovalsAnswer;

  @ApiProperty({ type: () => [DecisionAnswer] })
  decisions: DecisionAnswer[];

  /** The change to make; absent for versions. */
  change?: ItemChangeAnswer;
}

export class ReplacedVersion {
  version: string;

  /** JSON Patch (RFC 6902) from the served document; paths below `/members` refer to the members of its content. */
  @ApiProperty({ type: 'array', items: { type: 'object', additionalProperties: true } })
  diff: object[];
}

export class AdmissionItemDetails extends AdmissionItemAnswer {
  @ApiPropertyOptional({ type: 'object', additionalProperties: true })
  document?: object;

  /** The state of the content while the version is held. */
  content?: ContentAnswer;

  /** The members of the content; absent if none is stored. */
  members?: Members;

  /** How it differs from the version that is served. */
  replaces?: ReplacedVersion;

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    description: 'The document of the version that is served; present with `replaces`',
  })
  served?: object;
}

export class AdmissionItemList {
  /** Newest first. */
  @ApiProperty({ type: () => [AdmissionItemAnswer] })
  items: AdmissionItemAnswer[];
  metadata: AdminListMetadata;
}

export class BlockAnswer extends BlockBody {
  id: string;

  @ApiProperty({ format: 'date-time' })
  createdAt: string;

  @ApiProperty({ format: 'date-time' })
  updatedAt: string;
}

export class BlockPreview {
  @ApiProperty({ type: 'integer', description: 'Served versions that match' })
  matches: number;
}

export class BlockList {
  @ApiProperty({ type: () => [BlockAnswer] })
  blocks: BlockAnswer[];
  metadata: AdminListMetadata;
}

/** The publisher of a version, as identified by the token. */
export class PublisherAnswer {
  @ApiProperty({ type: String, nullable: true })
  subject: string | null;

  @ApiProperty({ type: String, nullable: true })
  issuer: string | null;

  /** The publisher's name at that time. Not unique. */
  name?: string;

  /** The client the token was issued to. */
  client?: string;
}

/** Why a version or change is held. */
export class HoldReasonAnswer {
  @ApiProperty({ enum: POLICIES })
  policy: string;

  message: string;

  @ApiPropertyOptional({ format: 'date-time', description: 'When this reason ends by itself' })
  dueAt?: string;
}
