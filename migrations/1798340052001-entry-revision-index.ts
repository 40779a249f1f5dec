import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Finds what changed since a revision. Built after the column, so that readers do not wait. */
export class EntryRevisionIndex1798340052001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`create index entry_revision on entry (source_id, revision)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop index entry_revision`);
  }
}
