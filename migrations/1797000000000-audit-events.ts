import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Audit events (who did what to what), and the publisher of each version.
 *
 * Every index ends in the id, which rises with time: inserts append, so they stay fast in a large table, and
 * each filter of a list finds its newest events first.
 */
export class AuditEvents1797000000000 implements MigrationInterface {
  readonly loses = 'the audit trail, and who published which version';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table audit_event (
        id uuid primary key,
        time timestamptz(3) not null,
        action text collate "C" not null,
        outcome text collate "C" not null check (outcome in ('allowed', 'refused')),
        actor text collate "C",
        target text collate "C" not null,
        scope jsonb,
        scope_digest bytea,
        dropped integer,
        event json not null
      )`);
    await runner.query(`create index audit_event_action on audit_event (action, id)`);
    await runner.query(`create index audit_event_outcome on audit_event (outcome, id)`);
    await runner.query(`create index audit_event_actor on audit_event (actor, id) where actor is not null`);
    await runner.query(`create index audit_event_target on audit_event (target, id)`);
    await runner.query(
      `create index audit_event_scope on audit_event (scope_digest, id) where scope_digest is not null`,
    );
    await runner.query(`alter table entry_version add column published_by jsonb`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table entry_version drop column published_by`);
    await runner.query(`drop table audit_event`);
  }
}
