import type { MigrationInterface, QueryRunner } from 'typeorm';
import { lockTables } from './lock-tables.js';

/**
 * Filters of audit events are decided within an index: what passes one of them and not the other is passed over without looking at
 * the event, however much of it there is. Of ten million events it takes a minute or two.
 */
export class AuditFilters1797350000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await begin(runner);
    await runner.query(`create index audit_event_action on audit_event (action, id, outcome)`);
    await runner.query(
      `create index audit_event_scope on audit_event (scope_digest, id, action, outcome) where scope_digest is not null`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await begin(runner);
    await runner.query(`create index audit_event_action on audit_event (action, id)`);
    await runner.query(
      `create index audit_event_scope on audit_event (scope_digest, id) where scope_digest is not null`,
    );
  }
}

async function begin(runner: QueryRunner): Promise<void> {
  await runner.query(`set local statement_timeout = 0`);
  await lockTables(runner, 'lock table audit_event in access exclusive mode');
  await runner.query(`drop index audit_event_action, audit_event_scope`);
}
