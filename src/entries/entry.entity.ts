import {
  Check,
  Column,
  Entity,
  Index,
  JoinColumn,
  ManyToOne,
  OneToMany,
  type Relation,
  Unique,
} from 'typeorm';
import type { Publisher } from '../audit/audit-event.js';
import { ClaimSet } from '../claim-sets/claim-set.entity.js';
import { ClaimSetId, ClaimSetOf, GivenClaims } from '../claim-sets/claim-sets.repository.js';
import { asGiven, type Claims } from '../claims/claims.js';
import { BigIdColumn, BytewiseText, isOneOf, Timestamp } from '../database/columns.js';
import {
  COMMON_STATUS,
  ENTRY_TYPE_NAMES,
  type EntryType,
  type Status,
  STATUSES,
} from '../documents/statuses.js';
import { Source } from '../sources/source.entity.js';

/** One name of one type in one source. */
@Entity('entry')
@Unique('entry_source_id_type_name_key', ['sourceId', 'type', 'name'])
@Check('entry_type_check', isOneOf('type', ENTRY_TYPE_NAMES))
// Serves one partition (source and claim set) of a view in name order, and tells the triggers whether it holds anything.
@Index('entry_partition', ['sourceId', 'type', 'claimSetId', 'name'])
@Index('entry_claim_set', ['claimSetId'])
@Index('entry_claims_changed', ['claimsChangedAt'], { where: 'claims_changed_at is not null' })
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

  /** When it was given other claims; null for one that has those it came with. Written by a trigger, so that no writer can forget. */
  @Timestamp({ name: 'claims_changed_at', nullable: true, select: false })
  claimsChangedAt: Date | null;

  @OneToMany(() => EntryVersion, (version) => version.entry)
  versions: Relation<EntryVersion>[];

  /** Who sees the entry. */
  get claims(): Claims {
    return this.claimSet.claims;
  }

  /** The same, as they are shown. */
  get shownClaims(): Claims {
    return asGiven(this.claims, this.givenClaims);
  }
}

/** One published document of an entry. */
@Entity('entry_version')
@Unique('entry_version_entry_id_version_key', ['entryId', 'version'])
@Check('entry_version_status_check', isOneOf('status', STATUSES))
@Index('entry_version_latest', ['entryId'], { unique: true, where: 'is_latest' })
@Index('entry_version_updated', ['updatedAt'])
@Index('entry_version_version', ['version'])
@Index('entry_version_status', ['status'], { where: `status <> '${COMMON_STATUS}'` })
// TypeORM knows no descending indexes: the migration makes it.
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

  /** Its bytes order the versions of an entry: see documents/version-order.ts. */
  @BytewiseText({ name: 'version_key' })
  versionKey: string;

  /** As it is served. */
  @Column({ type: 'text' })
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

  /** Null where nobody was identified, and for what a sync has brought. */
  @Column({ name: 'published_by', type: 'jsonb', nullable: true })
  publishedBy: Publisher | null;

  /** One of each entry's versions. */
  @Column({ name: 'is_latest', type: 'boolean', default: false })
  isLatest: boolean;

  /** What `search` looks through, in lower case. Its index is that of `SearchText`. */
  @Column({ type: 'text' })
  search: string;
}
