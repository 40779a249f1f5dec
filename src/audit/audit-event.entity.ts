import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { BytewiseText, Timestamp } from '../database/columns.js';
import type { AuditScope } from './audit-event.js';

/** One audit event (reference/audit). Only audit.queries.ts writes events. */
@Entity('audit_event')
@Check('audit_event_outcome_check', `outcome in ('allowed', 'refused')`)
@Index('audit_event_action', ['action', 'id', 'outcome'])
@Index('audit_event_outcome', ['outcome', 'id'])
@Index('audit_event_actor', ['actor', 'id'], { where: 'actor is not null' })
@Index('audit_event_actor_name', ['actorName', 'id'], { where: 'actor_name is not null' })
@Index('audit_event_target', ['target', 'id'])
@Index('audit_event_transaction', ['transaction'], { where: 'transaction is not null' })
@Index('audit_event_scope', ['scopeDigest', 'id'], { where: 'scope_digest is not null' })
export class AuditEventRow {
  /** A UUIDv7 (RFC 9562 §5.7) with microseconds; it reveals nothing about other events. */
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'audit_event_pkey' })
  id: string;

  /** The time of the event according to the database clock. */
  @Timestamp()
  time: Date;

  @BytewiseText()
  action: string;

  @BytewiseText()
  outcome: string;

  /** The subject of the caller. */
  @BytewiseText({ nullable: true })
  actor: string | null;

  /** The name of the caller, as shown to people. */
  @BytewiseText({ name: 'actor_name', nullable: true })
  actorName: string | null;

  /** The name of the target. */
  @BytewiseText()
  target: string;

  /** Which managers see the event, based on the target's claims at that time; null if only super-admins see it. */
  @Column({ type: 'jsonb', nullable: true })
  scope: AuditScope | null;

  /** The digest of the scope: events with equal digests are seen by the same managers. */
  @Column({ name: 'scope_digest', type: 'bytea', nullable: true })
  scopeDigest: Buffer | null;

  /** The number of events that were dropped before this one. */
  @Column({ type: 'integer', nullable: true })
  dropped: number | null;

  /**
   * The transaction that wrote the event: the order of commits differs from the order of IDs. Null for events written
   * before this column existed. TypeORM compares the default without its casts.
   */
  @Column({ type: 'bigint', nullable: true, default: () => '((pg_current_xact_id()))' })
  transaction: string | null;

  /** The other members, as JSON. */
  @Column({ type: 'json' })
  event: object;
}
