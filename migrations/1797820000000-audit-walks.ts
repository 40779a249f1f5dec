import type { MigrationInterface, QueryRunner } from 'typeorm';
import { replaceIndexes } from './replace-indexes.js';

/**
 * Managers' audit lists walk the events that a manager may see, newest first: refusals that only super-admins see are
 * not in the index, however many there are. Ten million events take a minute.
 */
export class AuditWalks1797820000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await replaceIndexes(runner, {
      audit_event_scope: 'audit_event (id, scope_digest, outcome) where scope_digest is not null',
    });
  }

  async down(runner: QueryRunner): Promise<void> {
    await replaceIndexes(runner, {
      audit_event_scope: 'audit_event (scope_digest, id, action, outcome) where scope_digest is not null',
    });
  }
}
