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
import { ClaimSet } from '../claim-sets/claim-set.entity.js';
import { ClaimSetId, ClaimSetOf, GivenClaims } from '../claim-sets/claim-sets.repository.js';
import { asGiven, type Claims } from '../claims/claims.js';
import type { EntryFilterConfig } from '../config/config.js';
import { BytewiseText, IdColumn, isOneOf, Timestamp } from '../database/columns.js';
import type { SkippedEntry } from '../documents/incoming-version.js';
import { MANAGED_KIND, parseSourceKind, SOURCE_KINDS, type SourceKind } from '../source-kinds/kinds.js';

/** Who declared a source or registry: the configuration file, or a caller of the admin API. */
export type Origin = 'config' | 'api';

/** Milliseconds: a bigint, which node-postgres hands over as text. */
const MILLISECONDS = {
  from: (value: string | null) => (value === null ? null : Number(value)),
  to: (value: number | null) => value,
};

export type SyncStatus = 'pending' | 'syncing' | 'complete' | 'failed';

/** How the syncs of a source are doing, and who holds its lease. Written by SourceStates and SourceLeases alone. */
@Entity('source_sync')
@Check('source_sync_status_check', `status in ('pending', 'syncing', 'complete', 'failed')`)
@Index('source_sync_due', ['nextRunAt'], { where: 'next_run_at is not null' })
export class SourceState {
  @PrimaryColumn({ name: 'source_id', type: 'integer', primaryKeyConstraintName: 'source_sync_pkey' })
  sourceId: number;

  @OneToOne(() => Source, (source) => source.state, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'source_id', foreignKeyConstraintName: 'source_sync_source_id_fkey' })
  source: Relation<Source>;

  @Column({ type: 'text', default: 'pending' })
  status: SyncStatus;

  /** Runs since the last one that succeeded. */
  @Column({ type: 'integer', default: 0 })
  attempts: number;

  @Timestamp({ name: 'last_attempt_at', nullable: true })
  lastAttemptAt: Date | null;

  @Timestamp({ name: 'last_success_at', nullable: true })
  lastSuccessAt: Date | null;

  /** When the source is due; null for kinds that are not synced. */
  @Timestamp({ name: 'next_run_at', nullable: true })
  nextRunAt: Date | null;

  @Timestamp({ name: 'requested_at', nullable: true, select: false })
  requestedAt: Date | null;

  /** When somebody asked for a sync that may lose most of the entries. */
  @Timestamp({ name: 'shrink_allowed_at', nullable: true, select: false })
  shrinkAllowedAt: Date | null;

  @Column({ name: 'lease_owner', type: 'uuid', nullable: true, select: false })
  leaseOwner: string | null;

  @Timestamp({ name: 'lease_until', nullable: true, select: false })
  leaseUntil: Date | null;

  /** SHA-256 of the file that was read last, and of the rules it was read by. */
  @Column({ name: 'content_digest', type: 'bytea', nullable: true, select: false })
  contentDigest: Buffer | null;

  /** What the last run that succeeded left for the next one. */
  @Column({ name: 'fetch_state', type: 'jsonb', nullable: true, select: false })
  fetchState: object | null;

  /** Why the last run failed. */
  @Column({ type: 'text', nullable: true })
  error: string | null;

  @Column({ type: 'jsonb', default: {} })
  counts: Readonly<Record<string, number>>;

  @Column({ type: 'jsonb', default: [] })
  skipped: readonly SkippedEntry[];
}

/** A named provider of entries. */
@Entity('source')
@Unique('source_name_key', ['name'])
@Check('source_kind_check', isOneOf('kind', SOURCE_KINDS))
@Check('source_origin_check', `origin in ('config', 'api')`)
@Index('source_one_managed', ['kind'], { unique: true, where: `kind = '${MANAGED_KIND}'` })
export class Source {
  @IdColumn('source')
  id: number;

  @BytewiseText()
  name: string;

  @Column({ type: 'text', transformer: { from: parseSourceKind, to: (kind: SourceKind) => kind } })
  kind: SourceKind;

  /** What the configuration holds below the source's kind. */
  @Column({ type: 'jsonb' })
  settings: object;

  @Column({ type: 'jsonb', nullable: true })
  filter: EntryFilterConfig | null;

  /** Between two syncs; null for kinds that are not synced. */
  @Column({ name: 'interval_ms', type: 'bigint', nullable: true, transformer: MILLISECONDS })
  intervalMs: number | null;

  /** May it lose most of its entries at once? */
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

  /** Rises with every change of the source or of its entries: views and pages are cached by it. */
  @Column({ type: 'bigint', default: 0, select: false })
  revision: string;

  /** Rises, by triggers on `entry`, with every change of which claim sets its entries carry. */
  @Column({ name: 'partition_revision', type: 'bigint', default: 0, select: false })
  partitionRevision: string;

  @Timestamp({ name: 'created_at', default: () => 'now()' })
  createdAt: Date;

  @Timestamp({ name: 'updated_at', default: () => 'now()' })
  updatedAt: Date;

  @OneToOne(() => SourceState, (state) => state.source)
  state: SourceState;

  /** Who may manage the source; and, of synced kinds, who sees its entries (spec §2.4). */
  get claims(): Claims {
    return this.claimSet.claims;
  }

  /** The same, as they are shown. */
  get shownClaims(): Claims {
    return asGiven(this.claims, this.givenClaims);
  }
}
