import type { MigrationInterface, QueryRunner } from 'typeorm';
import { replaceIndexes } from './replace-indexes.js';

/** Replaces the index for managers' audit lists, which read events by scope. Ten million events take a minute. */
export class AuditScopes1798332020000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await replaceIndexes(runner, {
      audit_event_scope: 'audit_event (scope_digest, id) where scope_digest is not null',
    });
  }

  async down(runner: QueryRunner): Promise<void> {
    await replaceIndexes(runner, {
      audit_event_scope: 'audit_event (id, scope_digest, outcome) where scope_digest is not null',
    });
  }
}
