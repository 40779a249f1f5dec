import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { HoldReasonAnswer, PublisherAnswer } from '../admission/admission.responses.js';
import type { HeldAnswer } from '../admission/publication.js';
import type { Publisher } from '../audit/audit-event.js';
import { type Claims, CLAIMS_SCHEMA } from '../claims/claims.js';
import {
  ENTRY_TYPE_NAMES,
  type EntryName,
  type IncomingVersion,
  officialMeta,
  type VersionName,
} from '../documents/entry-types.js';
import { STATUSES } from '../documents/statuses.js';
import { AdminListMetadata } from '../http/lists.dto.js';
import { documentClassOf } from '../http/openapi/document-classes.js';
import { ContentAnswer } from '../entry-store/entry-content.queries.js';
import { Members } from '../members/members.responses.js';
import type { Entry, EntryVersion, VersionSummary } from '../entry-store/entry.entity.js';

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

/** The `_meta` of a published version. */
export class VersionMetadata {
  'io.modelcontextprotocol.registry/official': VersionState;
}

export class PublishedVersionAnswer {
  @ApiProperty({ enum: ENTRY_TYPE_NAMES })
  type: string;

  name: string;

  version: string;

  @ApiProperty(CLAIMS_SCHEMA)
  claims: object;

  /** Returned by GET only; absent if the publisher was anonymous. */
  publishedBy?: PublisherAnswer;

  /** Returned by GET only, for skills and plugins. */
  content?: ContentAnswer;

  /** Returned by GET only, if content is stored. */
  members?: Members;

  _meta: VersionMetadata;
}

for (const type of ENTRY_TYPE_NAMES) {
  const description = `The published document of a ${type}`;
  ApiPropertyOptional({ type: documentClassOf(type), description })(PublishedVersionAnswer.prototype, type);
}

export class HeldAdmission {
  @ApiPropertyOptional({ format: 'uuid', description: 'Its item in `/v1/admission`; absent in a dry run' })
  id?: string;

  @ApiProperty({ enum: ['held'] })
  status: string;

  @ApiProperty({ type: () => [HoldReasonAnswer] })
  reasons: HoldReasonAnswer[];
}

/** A publication that waits for a decision. */
export class HeldPublicationAnswer {
  @ApiProperty({ enum: ENTRY_TYPE_NAMES })
  type: string;

  name: string;

  version: string;

  @ApiProperty(CLAIMS_SCHEMA)
  claims: object;

  admission: HeldAdmission;
}

export class ManagedVersion {
  version: string;

  /** SHA-256 of the document as published. */
  digest: string;

  @ApiProperty({ enum: STATUSES })
  status: string;

  statusMessage?: string;

  isLatest: boolean;

  @ApiProperty({ format: 'date-time' })
  publishedAt: string;

  @ApiProperty({ format: 'date-time' })
  updatedAt: string;

  /** Absent if the publisher was anonymous. */
  publishedBy?: PublisherAnswer;

  /** Only for skills and plugins. */
  content?: ContentAnswer;
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

/** Returns the JSON of a published version for the admin API (reference/publishing), without parsing its document. */
export function describeVersion(
  { type, name }: EntryName,
  claims: Claims,
  stored: EntryVersion,
  publishedBy: Publisher | null = null,
  content: { readonly content?: ContentAnswer; readonly members?: Members } = {},
): string {
  const by = publishedBy ? { publishedBy } : {};
  const head = JSON.stringify({ type, name, version: stored.version, claims, ...by, ...content }).slice(
    0,
    -1,
  );
  return `${head},"${type}":${stored.document},"_meta":${officialMeta(stored)}}`;
}

/** Returns the JSON of a publication that is held (reference/admission). */
export function describeHeld(
  { type, name, version }: VersionName,
  claims: Claims,
  admission: HeldAnswer,
): string {
  return JSON.stringify({ type, name, version, claims, admission });
}

/** Returns the JSON of a published entry for the admin API (reference/publishing). */
export function describeEntry(
  { type, name, shownClaims: claims }: Entry,
  versions: readonly VersionSummary[],
  contents: ReadonlyMap<string, ContentAnswer>,
): string {
  return JSON.stringify({
    type,
    name,
    claims,
    versions: versions.map(
      ({ id, version, digest, status, statusMessage, isLatest, publishedAt, updatedAt, publishedBy }) => ({
        version,
        digest: digest.toString('hex'),
        status,
        ...(statusMessage === null ? {} : { statusMessage }),
        isLatest,
        publishedAt,
        updatedAt,
        ...(publishedBy === null ? {} : { publishedBy }),
        content: contents.get(id),
      }),
    ),
  });
}

export class ListedVersion {
  version: string;

  /** SHA-256 of the document as sent by the source or publisher. */
  digest: string;

  @ApiProperty({ enum: STATUSES })
  status: string;

  isLatest: boolean;

  @ApiProperty({ format: 'date-time' })
  publishedAt: string;

  /** Only for skills and plugins. */
  content?: ContentAnswer;
}

export class ListedEntry {
  @ApiProperty({ enum: ENTRY_TYPE_NAMES })
  type: string;

  name: string;

  /** The name of its source. */
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

/** Formats the responses to a publication. */
export interface PublicationAnswers {
  stored(name: EntryName, claims: Claims, stored: EntryVersion): string;
  held(version: IncomingVersion, claims: Claims, admission: HeldAnswer): string;
}

export const ADMIN_ANSWERS: PublicationAnswers = { stored: describeVersion, held: describeHeld };
