import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Index on what changed since a revision. Built in a separate migration: adding the column takes a lock that blocks readers. */
export class EntryRevisionIndex1798340052001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`create index entry_revision on entry (source_id, revision)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop index entry_revision`);
  }
}
