import type { MigrationInterface, QueryRunner } from 'typeorm';

/** State that a fetcher needs at its next run: an ETag, a commit, a time. */
export class FetchState1795300000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table source_sync add column fetch_state jsonb`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table source_sync drop column fetch_state`);
  }
}
