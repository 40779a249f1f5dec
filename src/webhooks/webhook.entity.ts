import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn, Unique } from 'typeorm';
import type { WebhookView } from '../config/config.js';
import { BytewiseText, IdColumn, Timestamp } from '../database/columns.js';

/** A webhook as stored in the database to detect changes; secrets are stored as slow digests. */
export interface AppliedWebhook {
  readonly name: string;
  readonly host: string;
  readonly actions: readonly string[] | null;
  readonly retryFor: string;
  readonly as: WebhookView | null;
  readonly url: string;
  readonly secret: string;
}

/** A configured webhook and its place in the audit trail. */
@Entity('webhook')
@Unique('webhook_name_key', ['name'])
export class Webhook {
  @IdColumn('webhook')
  id: number;

  @BytewiseText()
  name: string;

  /** The settings that were applied last, to detect changes; secrets are stored as slow digests. */
  @Column({ type: 'jsonb' })
  form: AppliedWebhook;

  /** The transaction that configured the webhook, whose own events are not sent. */
  @Column({ name: 'configured_in', type: 'bigint' })
  configuredIn: string;

  /** A `pg_snapshot`: all events of the transactions in it have been handled. */
  @Column({ type: 'text' })
  past: string;

  /** The ID from which a replay sends events again. */
  @Column({ type: 'uuid', nullable: true })
  since: string | null;

  /** A `pg_snapshot`: the events between `past` and `until` are being sent, in the order of their IDs. */
  @Column({ type: 'text', nullable: true })
  until: string | null;

  /** The last event between `past` and `until` that was handled. */
  @Column({ type: 'uuid', nullable: true })
  after: string | null;

  /** The largest ID that was handled: where to continue after a restore, when snapshots are invalid. */
  @Column({ type: 'uuid', nullable: true })
  latest: string | null;

  /** Changes whenever a request changes the place. */
  @Column({ type: 'integer', default: 0 })
  generation: number;

  /** Time of the oldest event that is known to be undelivered. */
  @Timestamp({ name: 'behind_since', nullable: true })
  behindSince: Date | null;

  /** Failed attempts since the last success. */
  @Column({ type: 'integer', default: 0 })
  attempts: number;

  @Timestamp({ name: 'failing_since', nullable: true })
  failingSince: Date | null;

  @Timestamp({ name: 'next_attempt_at', nullable: true })
  nextAttemptAt: Date | null;

  @Timestamp({ name: 'paused_at', nullable: true })
  pausedAt: Date | null;

  @Column({ name: 'last_error', type: 'text', nullable: true })
  lastError: string | null;

  /** The view whose entries are in WebhookEntry; null until a view has been read. */
  @Column({ type: 'jsonb', nullable: true })
  followed: WebhookView | null;

  /** The replica that sends the webhook. */
  @Column({ name: 'lease_owner', type: 'uuid', nullable: true })
  leaseOwner: string | null;

  @Timestamp({ name: 'lease_until', nullable: true })
  leaseUntil: Date | null;
}

/** An entry that the receiver knows to be in the view that its webhook follows. */
@Entity('webhook_entry')
export class WebhookEntry {
  @PrimaryColumn({ name: 'webhook_id', type: 'integer', primaryKeyConstraintName: 'webhook_entry_pkey' })
  webhookId: number;

  @ManyToOne(() => Webhook, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'webhook_id', foreignKeyConstraintName: 'webhook_entry_webhook_id_fkey' })
  webhook: Webhook;

  @PrimaryColumn({ type: 'text', collation: 'C', primaryKeyConstraintName: 'webhook_entry_pkey' })
  type: string;

  @PrimaryColumn({ type: 'text', collation: 'C', primaryKeyConstraintName: 'webhook_entry_pkey' })
  name: string;
}

/** The last attempt to deliver a message; only the newest of each webhook are kept. */
@Entity('webhook_delivery')
@Check('webhook_delivery_status_check', `status in ('delivered', 'failed')`)
@Index('webhook_delivery_at', ['webhookId', 'at', 'id'])
export class WebhookDeliveryRow {
  @PrimaryColumn({ name: 'webhook_id', type: 'integer', primaryKeyConstraintName: 'webhook_delivery_pkey' })
  webhookId: number;

  @ManyToOne(() => Webhook, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'webhook_id', foreignKeyConstraintName: 'webhook_delivery_webhook_id_fkey' })
  webhook: Webhook;

  /** The ID of the message. */
  @PrimaryColumn({ type: 'text', collation: 'C', primaryKeyConstraintName: 'webhook_delivery_pkey' })
  id: string;

  @BytewiseText()
  type: string;

  @BytewiseText()
  status: string;

  @Column({ type: 'integer' })
  attempts: number;

  @Timestamp()
  at: Date;

  @Column({ type: 'text', nullable: true })
  error: string | null;
}
