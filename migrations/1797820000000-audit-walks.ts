import type { MigrationInterface, QueryRunner } from 'typeorm';
import { lockTables } from './lock-tables.js';

/**
 * Managers' audit lists walk the events that a manager may see, newest first: refusals that only super-admins see are
 * not in the index, however many there are. Ten million events take a minute.
 */
export class AuditWalks1797820000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await begin(runner);
    await runner.query(
      `create index audit_event_scope on audit_event (id, scope_digest, outcome) where scope_digest is not null`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await begin(runner);
    await runner.query(
      `create index audit_event_scope on audit_event (scope_digest, id, action, outcome) where scope_digest is not null`,
    );
  }
}

async function begin(runner: QueryRunner): Promise<void> {
  await runner.query(`set local statement_timeout = 0`);
  await lockTables(runner, 'lock table audit_event in access exclusive mode');
  await runner.query(`drop index audit_event_scope`);
}
