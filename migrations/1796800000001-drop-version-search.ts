import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Drops the index that search texts replace. Separate from SearchTexts1796800000000, which would otherwise keep
 * writers waiting until no session reads versions.
 */
export class DropVersionSearch1796800000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`drop index if exists entry_version_search`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`create index entry_version_search on entry_version using gin (search gin_trgm_ops)`);
  }
}
