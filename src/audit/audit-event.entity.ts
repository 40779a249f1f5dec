import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { BytewiseText, Timestamp } from '../database/columns.js';
import type { AuditScope } from './audit-event.js';

/** One audit event (contract §9). Written and read by statements alone: see audit.queries.ts. */
@Entity('audit_event')
@Check('audit_event_outcome_check', `outcome in ('allowed', 'refused')`)
@Index('audit_event_action', ['action', 'id', 'outcome'])
@Index('audit_event_outcome', ['outcome', 'id'])
@Index('audit_event_actor', ['actor', 'id'], { where: 'actor is not null' })
@Index('audit_event_target', ['target', 'id'])
@Index('audit_event_scope', ['scopeDigest', 'id', 'action', 'outcome'], { where: 'scope_digest is not null' })
export class AuditEventRow {
  /** A UUID of version 7 (RFC 9562 §5.7): it rises with time, to the microsecond, and tells nothing of other events. */
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'audit_event_pkey' })
  id: string;

  /** When it happened, by the clock of the database. */
  @Timestamp()
  time: Date;

  @BytewiseText()
  action: string;

  @BytewiseText()
  outcome: string;

  /** The subject of who did it. */
  @BytewiseText({ nullable: true })
  actor: string | null;

  /** The name of what it was done to. */
  @BytewiseText()
  target: string;

  /** Which managers may know of it, by the claims the target had then; null: super-admins alone. */
  @Column({ type: 'jsonb', nullable: true })
  scope: AuditScope | null;

  /** Of the scope, to find the events of one. */
  @Column({ name: 'scope_digest', type: 'bytea', nullable: true })
  scopeDigest: Buffer | null;

  /** How many events were lost before this one. */
  @Column({ type: 'integer', nullable: true })
  dropped: number | null;

  /** The rest of it, as it is shown. */
  @Column({ type: 'json' })
  event: object;
}
