import type { MigrationInterface, QueryRunner } from 'typeorm';
import { replaceIndexes } from './replace-indexes.js';

/**
 * Evaluates audit filters within an index: events that match only one filter are skipped without reading
 * them, however many there are. Ten million events take a minute or two.
 */
export class AuditFilters1797350000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await replaceIndexes(runner, {
      audit_event_action: 'audit_event (action, id, outcome)',
      audit_event_scope: 'audit_event (scope_digest, id, action, outcome) where scope_digest is not null',
    });
  }

  async down(runner: QueryRunner): Promise<void> {
    await replaceIndexes(runner, {
      audit_event_action: 'audit_event (action, id)',
      audit_event_scope: 'audit_event (scope_digest, id) where scope_digest is not null',
    });
  }
}
