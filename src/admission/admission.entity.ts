import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn, type Relation } from 'typeorm';
import type { Publisher } from '../audit/audit-event.js';
import type { Claims } from '../claims/claims.js';
import { BigIdColumn, BytewiseText, Timestamp } from '../database/columns.js';
import { isOneOf } from '../database/sql-expressions.js';
import type { EntryType } from '../documents/entry-types.js';
import type { Status } from '../documents/statuses.js';
import { Source } from '../sources/source.entity.js';
import type { BlockRule } from './block-rule.js';
import type { ItemChange } from './publication.js';
import type { HoldReason } from './hold-reason.js';

export const ITEM_STATUSES = ['held', 'admitted', 'rejected', 'withdrawn'] as const;
export type ItemStatus = (typeof ITEM_STATUSES)[number];

export const DECISIONS = ['approve', 'reject', 'comment', 'withdraw'] as const;
export type Decision = (typeof DECISIONS)[number];

/** A version, or a change to an entry, that is waiting for a decision or has been decided (reference/admission). */
@Entity('admission_item')
@Check('admission_item_status_check', isOneOf('status', ITEM_STATUSES))
@Index('admission_item_held', ['sourceId', 'type', 'name', 'version', 'digest'], {
  unique: true,
  where: `status = 'held' and change is null`,
})
@Index('admission_item_change', ['sourceId', 'type', 'name'], {
  unique: true,
  where: `status = 'held' and change is not null`,
})
@Index('admission_item_rejected', ['sourceId', 'type', 'name', 'version'], { where: `status = 'rejected'` })
@Index('admission_item_list', ['status', 'createdAt', 'id'])
@Index('admission_item_blocked', ['sourceId', 'type', 'name'], {
  where: `status = 'held' and change is null and reasons @> '[{"policy": "block"}]'`,
})
@Index('admission_item_due', ['dueAt'], { where: `status = 'held' and due_at is not null` })
@Index('admission_item_publisher', ['publisherKey'], { where: 'publisher_key is not null' })
export class AdmissionItem {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'admission_item_pkey' })
  id: string;

  @Column({ name: 'source_id', type: 'integer' })
  sourceId: number;

  @ManyToOne(() => Source, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'source_id', foreignKeyConstraintName: 'admission_item_source_id_fkey' })
  source: Relation<Source>;

  @BytewiseText()
  type: EntryType;

  @BytewiseText()
  name: string;

  /** Null for a change to the whole entry. */
  @BytewiseText({ nullable: true })
  version: string | null;

  @Column({ type: 'text' })
  status: ItemStatus;

  /** Why the item is held or, once it is decided, why it was held. */
  @Column({ type: 'jsonb' })
  reasons: readonly HoldReason[];

  /** SHA-256 of the document as the upstream or publisher sent it; for a change, SHA-256 of its JSON. */
  @Column({ type: 'bytea' })
  digest: Buffer;

  @Timestamp({ name: 'created_at', default: () => 'now()' })
  createdAt: Date;

  /** When this document was first seen here. */
  @Timestamp({ name: 'first_seen_at' })
  firstSeenAt: Date;

  /** When the item is admitted automatically; null if it needs a decision. */
  @Timestamp({ name: 'due_at', nullable: true })
  dueAt: Date | null;

  @Timestamp({ name: 'decided_at', nullable: true })
  decidedAt: Date | null;

  /** Whether only blocks may still hold the item, because it was approved, or was served before a block. */
  @Column({ name: 'is_approved', type: 'boolean', default: false })
  isApproved: boolean;

  /** The claims of the entry as given; null if it has the claims of the source. */
  @Column({ type: 'jsonb', nullable: true })
  claims: Claims | null;

  @Column({ type: 'jsonb', nullable: true })
  publisher: Publisher | null;

  /** Digest of the publisher's issuer and subject; null for synced versions and anonymous publishers. */
  @Column({ name: 'publisher_key', type: 'bytea', nullable: true })
  publisherKey: Buffer | null;

  /** The change to make; null if the item is a version. */
  @Column({ type: 'jsonb', nullable: true })
  change: ItemChange | null;

  /** Null for changes, and once the item is admitted or withdrawn. */
  @Column({ type: 'text', nullable: true, select: false })
  document: string | null;

  /** Whether the document has been rewritten already, because it was served before a block. */
  @Column({ name: 'is_rewritten', type: 'boolean', default: false })
  isRewritten: boolean;

  /** The content of a version that was served before a block (reference/content): the digest of a `ContentTree`. */
  @Column({ name: 'content_tree', type: 'bytea', nullable: true })
  contentTree: Buffer | null;

  // The columns of the version to store; see EntryVersion.
  @BytewiseText({ name: 'version_key', nullable: true })
  versionKey: string | null;

  @Column({ type: 'text', nullable: true, select: false })
  search: string | null;

  @Column({ name: 'version_status', type: 'text', nullable: true })
  versionStatus: Status | null;

  @Column({ name: 'status_message', type: 'text', nullable: true })
  statusMessage: string | null;

  @Timestamp({ name: 'status_changed_at', nullable: true })
  statusChangedAt: Date | null;

  /** The publication time that the upstream states; null if it states none. */
  @Timestamp({ name: 'published_at', nullable: true })
  publishedAt: Date | null;

  @Column({ name: 'is_upstream_latest', type: 'boolean', default: false })
  isUpstreamLatest: boolean;
}

/** One person's decision or comment on an item. */
@Entity('admission_decision')
@Check('admission_decision_decision_check', isOneOf('decision', DECISIONS))
@Index('admission_decision_item', ['itemId'])
@Index('admission_decision_approver', ['itemId', 'byKey'], { unique: true, where: `decision = 'approve'` })
export class AdmissionDecision {
  @BigIdColumn('admission_decision')
  id: string;

  @Column({ name: 'item_id', type: 'uuid' })
  itemId: string;

  @ManyToOne(() => AdmissionItem, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'item_id', foreignKeyConstraintName: 'admission_decision_item_id_fkey' })
  item: Relation<AdmissionItem>;

  @Column({ type: 'text' })
  decision: Decision;

  @Timestamp()
  at: Date;

  /** Null for anonymous callers. */
  @Column({ type: 'jsonb', nullable: true })
  by: Publisher | null;

  /** Digest of the person's issuer and subject; null for anonymous callers. */
  @Column({ name: 'by_key', type: 'bytea', nullable: true })
  byKey: Buffer | null;

  @Column({ type: 'text', nullable: true })
  comment: string | null;
}

/** A question to an admission webhook about a held version. */
@Entity('admission_question')
@Index('admission_question_due', ['webhook', 'sourceId', 'askAt'], { where: 'ask_at is not null' })
export class AdmissionQuestion {
  @PrimaryColumn({ name: 'item_id', type: 'uuid', primaryKeyConstraintName: 'admission_question_pkey' })
  itemId: string;

  @ManyToOne(() => AdmissionItem, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'item_id', foreignKeyConstraintName: 'admission_question_item_id_fkey' })
  item: Relation<AdmissionItem>;

  @PrimaryColumn({ type: 'text', collation: 'C', primaryKeyConstraintName: 'admission_question_pkey' })
  webhook: string;

  @Column({ name: 'source_id', type: 'integer' })
  sourceId: number;

  /** Number of failures so far. */
  @Column({ type: 'integer', default: 0 })
  attempts: number;

  /** When to ask (again); null once the webhook has responded. */
  @Timestamp({ name: 'ask_at', nullable: true })
  askAt: Date | null;
}

/** A rule that keeps versions out of every source (reference/admission). */
@Entity('block')
export class Block {
  @PrimaryColumn({ type: 'text', collation: 'C', primaryKeyConstraintName: 'block_pkey' })
  id: string;

  @Column({ type: 'jsonb' })
  rule: BlockRule;

  @Timestamp({ name: 'created_at', default: () => 'now()' })
  createdAt: Date;

  @Timestamp({ name: 'updated_at', default: () => 'now()' })
  updatedAt: Date;
}

/** A changed block that is in force but has not been applied to all synced sources. */
@Entity('block_change')
export class BlockChange {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'block_change_pkey' })
  id: string;

  @Column({ type: 'text', collation: 'C' })
  block: string;

  @Timestamp({ name: 'created_at', default: () => 'now()' })
  createdAt: Date;
}

/** A name that a source has shown and that was admitted, even if it is gone: `newNames` no longer holds it. */
@Entity('known_name')
export class KnownName {
  @PrimaryColumn({ name: 'source_id', type: 'integer', primaryKeyConstraintName: 'known_name_pkey' })
  sourceId: number;

  @ManyToOne(() => Source, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'source_id', foreignKeyConstraintName: 'known_name_source_id_fkey' })
  source: Relation<Source>;

  @PrimaryColumn({ type: 'text', collation: 'C', primaryKeyConstraintName: 'known_name_pkey' })
  type: EntryType;

  @PrimaryColumn({ type: 'text', collation: 'C', primaryKeyConstraintName: 'known_name_pkey' })
  name: string;
}
