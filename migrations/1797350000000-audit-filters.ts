import type { MigrationInterface, QueryRunner } from 'typeorm';
import { lockTables } from './lock-tables.js';

/**
 * Evaluates audit filters within an index: events that match only one filter are skipped without reading
 * them, however many there are. Ten million events take a minute or two.
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
