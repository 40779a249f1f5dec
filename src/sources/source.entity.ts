import {
  Check,
  Column,
  Entity,
  Index,
  JoinColumn,
  OneToOne,
  PrimaryColumn,
  type Relation,
  Unique,
} from 'typeorm';
import { ClaimSet, ClaimSetId, ClaimSetOf, GivenClaims } from '../claim-sets/claim-sets.repository.js';
import { asGiven, type Claims } from '../claims/claims.js';
import type { AdmissionConfig } from '../config/config.js';
import type { SkippedVersion } from '../documents/entry-types.js';
import { SOURCE_FORMATS, type SourceFormat } from '../source-kinds/source-formats.js';
import { MANAGED_KIND, parseSourceKind, SOURCE_KINDS, type SourceKind } from '../source-kinds/kinds.js';
import type { Plain } from '../json/plain.js';
import type { EntryFilter, StoredSourceSettings } from '../source-kinds/source-settings.dto.js';
import { BytewiseText, IdColumn, Timestamp } from '../database/columns.js';
import { isOneOf } from '../database/sql-expressions.js';
import type { Origin } from '../config/config.js';

/** Stored as a bigint, which node-postgres returns as text. */
const MILLISECONDS = {
  from: (value: string | null) => (value === null ? null : Number(value)),
  to: (value: number | null) => value,
};

export const SYNC_STATUSES = ['pending', 'syncing', 'complete', 'failed'] as const;
export type SyncStatus = (typeof SYNC_STATUSES)[number];

/** The sync state and lease of a source. Only SourceStates and SourceLeases write it. */
@Entity('source_sync')
@Check('source_sync_status_check', `status in ('pending', 'syncing', 'complete', 'failed')`)
@Check('source_sync_format_check', isOneOf('format', SOURCE_FORMATS))
@Index('source_sync_due', ['nextRunAt'], { where: 'next_run_at is not null' })
export class SourceState {
  @PrimaryColumn({ name: 'source_id', type: 'integer', primaryKeyConstraintName: 'source_sync_pkey' })
  sourceId: number;

  @OneToOne(() => Source, (source) => source.state, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'source_id', foreignKeyConstraintName: 'source_sync_source_id_fkey' })
  source: Relation<Source>;

  @Column({ type: 'text', default: 'pending' })
  status: SyncStatus;

  /** Number of runs since the last success. */
  @Column({ type: 'integer', default: 0 })
  attempts: number;

  @Timestamp({ name: 'last_attempt_at', nullable: true })
  lastAttemptAt: Date | null;

  @Timestamp({ name: 'last_success_at', nullable: true })
  lastSuccessAt: Date | null;

  /** When the next sync is due; null for kinds that are not synced. */
  @Timestamp({ name: 'next_run_at', nullable: true })
  nextRunAt: Date | null;

  @Timestamp({ name: 'requested_at', nullable: true, select: false })
  requestedAt: Date | null;

  /** When a sync without the shrink guard was requested. */
  @Timestamp({ name: 'shrink_allowed_at', nullable: true, select: false })
  shrinkAllowedAt: Date | null;

  @Column({ name: 'lease_owner', type: 'uuid', nullable: true, select: false })
  leaseOwner: string | null;

  @Timestamp({ name: 'lease_until', nullable: true, select: false })
  leaseUntil: Date | null;

  /** State from the last successful run. */
  @Column({ name: 'fetch_state', type: 'jsonb', nullable: true, select: false })
  fetchState: object | null;

  /** Why the last run failed. */
  @Column({ type: 'text', nullable: true })
  error: string | null;

  @Column({ type: 'jsonb', default: {} })
  counts: Readonly<Record<string, number>>;

  @Column({ type: 'jsonb', default: [] })
  skipped: readonly SkippedVersion[];

  /** The format that the last successful run read; null for kinds without formats. */
  @Column({ type: 'text', nullable: true })
  format: SourceFormat | null;
}

/** A named provider of entries. */
@Entity('source')
@Unique('source_name_key', ['name'])
@Check('source_kind_check', isOneOf('kind', SOURCE_KINDS))
@Check('source_origin_check', `origin in ('config', 'api')`)
@Index('source_one_managed', ['kind'], { unique: true, where: `kind = '${MANAGED_KIND}'` })
export class Source implements StoredSourceSettings {
  @IdColumn('source')
  id: number;

  @BytewiseText()
  name: string;

  @Column({ type: 'text', transformer: { from: parseSourceKind, to: (kind: SourceKind) => kind } })
  kind: SourceKind;

  /** The kind-specific section of the source's configuration. */
  @Column({ type: 'jsonb' })
  settings: object;

  @Column({ type: 'jsonb', nullable: true })
  filter: Plain<EntryFilter> | null;

  /** Which versions of a synced source are admitted (reference/admission). */
  @Column({ type: 'jsonb', nullable: true })
  admission: AdmissionConfig | null;

  /** The sync interval; null for kinds that are not synced. */
  @Column({ name: 'interval_ms', type: 'bigint', nullable: true, transformer: MILLISECONDS })
  intervalMs: number | null;

  /** Disables the shrink guard. */
  @Column({ name: 'allow_shrink', type: 'boolean', default: false })
  allowShrink: boolean;

  @ClaimSetId()
  claimSetId: number;

  @ClaimSetOf('source')
  claimSet: ClaimSet;

  @GivenClaims()
  givenClaims: Claims | null;

  @Column({ type: 'text' })
  origin: Origin;

  /** `personKey` of the person who last changed it through the API; null if unknown. */
  @Column({ name: 'changed_by', type: 'bytea', nullable: true, select: false })
  changedBy: Buffer | null;

  /** Increases with every change to the source or its entries; used in the cache keys of views and pages. */
  @Column({ type: 'bigint', default: 0, select: false })
  revision: string;

  /** Triggers on `entry` increase it when the claim sets used by the source's entries change. */
  @Column({ name: 'partition_revision', type: 'bigint', default: 0, select: false })
  partitionRevision: string;

  @Timestamp({ name: 'created_at', default: () => 'now()' })
  createdAt: Date;

  @Timestamp({ name: 'updated_at', default: () => 'now()' })
  updatedAt: Date;

  @OneToOne(() => SourceState, (state) => state.source)
  state: SourceState;

  /** Claims required to manage the source and, for synced kinds, to see its entries (reference/access). */
  get claims(): Claims {
    return this.claimSet.claims;
  }

  /** The claims as declared, for responses. */
  get shownClaims(): Claims {
    return asGiven(this.claims, this.givenClaims);
  }
}
