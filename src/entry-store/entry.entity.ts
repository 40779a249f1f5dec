import {
  Check,
  Column,
  Entity,
  Index,
  JoinColumn,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  type Relation,
  Unique,
} from 'typeorm';
import type { Publisher } from '../audit/audit-event.js';
import { ClaimSet, ClaimSetId, ClaimSetOf, GivenClaims } from '../claim-sets/claim-sets.repository.js';
import { asGiven, type Claims } from '../claims/claims.js';
import { BigIdColumn, BytewiseText, Timestamp } from '../database/columns.js';
import { isOneOf } from '../database/sql-expressions.js';
import type { IncomingVersion, VersionName } from '../documents/entry-types.js';
import {
  COMMON_STATUS,
  ENTRY_TYPE_NAMES,
  type EntryType,
  type Status,
  STATUSES,
} from '../documents/statuses.js';
import { versionKey } from '../documents/versions.js';
import { Source } from '../sources/source.entity.js';
import type { Summary } from './entry-summary.js';

const REMOVED_KEY = 'removed_entry_pkey';

/** One name of one type in one source. */
@Entity('entry')
@Unique('entry_source_id_type_name_key', ['sourceId', 'type', 'name'])
@Check('entry_type_check', isOneOf('type', ENTRY_TYPE_NAMES))
// Serves reads of one partition (source and claim set) in name order, and the triggers' check for empty partitions.
@Index('entry_partition', ['claimSetId', 'sourceId', 'type', 'name'])
@Index('entry_claim_set', ['claimSetId'])
@Index('entry_claims_changed', ['claimsChangedAt'], { where: 'claims_changed_at is not null' })
@Index('entry_revision', ['sourceId', 'revision'])
export class Entry {
  @BigIdColumn('entry')
  id: string;

  @Column({ name: 'source_id', type: 'integer' })
  sourceId: number;

  @ManyToOne(() => Source, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'source_id', foreignKeyConstraintName: 'entry_source_id_fkey' })
  source: Source;

  @BytewiseText()
  type: EntryType;

  @BytewiseText()
  name: string;

  @ClaimSetId()
  claimSetId: number;

  @ClaimSetOf('entry')
  claimSet: ClaimSet;

  @GivenClaims()
  givenClaims: Claims | null;

  /** When the claims last changed; null if never. Set by a trigger, so no writer can forget to update it. */
  @Timestamp({ name: 'claims_changed_at', nullable: true, select: false })
  claimsChangedAt: Date | null;

  /** The revision of the source when the entry or its versions last changed, or a later revision: see `noteChanged`. */
  @Column({ type: 'bigint', default: 0, select: false })
  revision: string;

  @OneToMany(() => EntryVersion, (version) => version.entry)
  versions: Relation<VersionSummary>[];

  /** The claims required to see the entry. */
  get claims(): Claims {
    return this.claimSet.claims;
  }

  /** The claims as given, for responses. */
  get shownClaims(): Claims {
    return asGiven(this.claims, this.givenClaims);
  }
}

/**
 * A removed entry, kept for indexes in memory and, for plugins and skills, for clients that have a copy. A new entry
 * with the same name may exist.
 */
@Entity('removed_entry')
@Index('removed_entry_revision', ['sourceId', 'revision'])
export class RemovedEntry {
  @PrimaryColumn({ name: 'source_id', type: 'integer', primaryKeyConstraintName: REMOVED_KEY })
  sourceId: number;

  @ManyToOne(() => Source, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'source_id', foreignKeyConstraintName: 'removed_entry_source_id_fkey' })
  source: Source;

  @BytewiseText({ primary: true, primaryKeyConstraintName: REMOVED_KEY })
  type: EntryType;

  @BytewiseText({ primary: true, primaryKeyConstraintName: REMOVED_KEY })
  name: string;

  /** See `Entry`. */
  @Column({ type: 'bigint' })
  revision: string;

  @Timestamp({ name: 'removed_at', default: () => 'now()' })
  removedAt: Date;

  /** The claims of a plugin or skill; null if it has the claims of its source. */
  @Column({ type: 'jsonb', nullable: true })
  claims: Claims | null;
}

/** One published document of an entry. */
@Entity('entry_version')
@Unique('entry_version_entry_id_version_key', ['entryId', 'version'])
@Check('entry_version_status_check', isOneOf('status', STATUSES))
@Index('entry_version_latest', ['entryId'], { unique: true, where: 'is_latest' })
@Index('entry_version_updated', ['updatedAt'])
@Index('entry_version_version', ['version'])
@Index('entry_version_status', ['status'], { where: `status <> '${COMMON_STATUS}'` })
// TypeORM does not support descending indexes, so a migration creates this index.
@Index('entry_version_order', { synchronize: false })
export class EntryVersion {
  @BigIdColumn('entry_version')
  id: string;

  @Column({ name: 'entry_id', type: 'bigint' })
  entryId: string;

  @ManyToOne(() => Entry, (entry) => entry.versions, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'entry_id', foreignKeyConstraintName: 'entry_version_entry_id_fkey' })
  entry: Entry;

  @BytewiseText()
  version: string;

  /** Versions are ordered by the bytes of this key: see `versionKey` in documents/versions.ts. */
  @BytewiseText({ name: 'version_key' })
  versionKey: string;

  /** The document as served, up to 1 MiB: loaded only by `EntriesRepository.withDocument`. */
  @Column({ type: 'text', select: false })
  document: string;

  /** SHA-256 of the document. */
  @Column({ type: 'bytea' })
  digest: Buffer;

  @Column({ type: 'text' })
  status: Status;

  @Column({ name: 'status_message', type: 'text', nullable: true })
  statusMessage: string | null;

  @Timestamp({ name: 'status_changed_at' })
  statusChangedAt: Date;

  @Timestamp({ name: 'published_at' })
  publishedAt: Date;

  @Timestamp({ name: 'updated_at' })
  updatedAt: Date;

  /**
   * When the document last changed, unlike `updatedAt`, which also changes with the status; null if it never did. Set by
   * a trigger.
   */
  @Timestamp({ name: 'document_changed_at', nullable: true, select: false })
  documentChangedAt: Date | null;

  /** Null for anonymous publishers and synced versions. */
  @Column({ name: 'published_by', type: 'jsonb', nullable: true })
  publishedBy: Publisher | null;

  /** True for exactly one version per entry. */
  @Column({ name: 'is_latest', type: 'boolean', default: false })
  isLatest: boolean;

  /** The text that `search` matches, in lowercase. */
  @Column({ type: 'text', select: false })
  search: string;

  /** Data for the ranked search. If the version was not stored as the latest, null until an index needs it. */
  @Column({ type: 'json', nullable: true, select: false })
  summary: Summary | null;
}

/** A version without its texts, so that all versions of an entry can be loaded. */
export type VersionSummary = Omit<EntryVersion, 'document' | 'documentChangedAt' | 'search' | 'summary'>;

/** The columns of a version except its entry, `is_latest`, publisher and document. */
export type VersionColumns = Omit<
  EntryVersion,
  'id' | 'entryId' | 'entry' | 'isLatest' | 'publishedBy' | 'document' | 'documentChangedAt' | 'summary'
>;

/** The relevant columns of a stored version. Times are milliseconds since 1970. */
interface Stored {
  readonly status: string;
  readonly statusChangedAt: number;
  readonly publishedAt: number;
}

/**
 * Returns the columns of a version written at `now`. A time that the source does not provide is taken from the stored
 * version, or else from `now`, so that the version key always matches the publication time.
 */
export function versionColumns(incoming: IncomingVersion, now: Date, stored?: Stored): VersionColumns {
  const { version, digest, searchText, status, statusMessage = null } = incoming;
  const publishedAt = incoming.publishedAt ?? (stored ? new Date(stored.publishedAt) : now);
  const unchangedSince = stored?.status === status ? new Date(stored.statusChangedAt) : now;
  return {
    version,
    versionKey: versionKey(version, publishedAt, incoming.isUpstreamLatest),
    digest,
    search: searchText,
    status,
    statusMessage,
    statusChangedAt: incoming.statusChangedAt ?? unchangedSince,
    publishedAt,
    updatedAt: now,
  };
}

/**
 * Returns the key of an otherwise unchanged version; it differs from the stored key if the version's position in the
 * order has changed.
 */
export function versionKeyOf(
  { version, publishedAt, isUpstreamLatest }: IncomingVersion,
  stored: Pick<Stored, 'publishedAt'>,
): string {
  return versionKey(version, publishedAt ?? new Date(stored.publishedAt), isUpstreamLatest);
}

/** A stored version without its document. */
export interface StoredVersion extends VersionName {
  readonly entryId: string;
  /** The claim set of the entry. */
  readonly claimSetId: number;
  readonly versionId: string;
  readonly versionKey: string;
  readonly digest: Buffer;
  readonly status: string;
  readonly statusMessage: string | null;
  /** Milliseconds since 1970. */
  readonly statusChangedAt: number;
  /** Milliseconds since 1970. */
  readonly publishedAt: number;
}

const PRIMARY_KEY = 'source_partition_pkey';

/** A claim set carried by entries of a source. Triggers on `entry` maintain the rows. */
@Entity('source_partition')
@Index('source_partition_claim_set', ['claimSetId'])
export class SourcePartition {
  @PrimaryColumn({ name: 'source_id', type: 'integer', primaryKeyConstraintName: PRIMARY_KEY })
  sourceId: number;

  @PrimaryColumn({ name: 'claim_set_id', type: 'integer', primaryKeyConstraintName: PRIMARY_KEY })
  claimSetId: number;

  @ManyToOne(() => Source, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'source_id', foreignKeyConstraintName: 'source_partition_source_id_fkey' })
  source: Source;

  @ClaimSetOf('source_partition')
  claimSet: ClaimSet;
}
