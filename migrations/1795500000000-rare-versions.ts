import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Lets lists of one exact version or one rare status start from an index instead of scanning all names. */
export class RareVersions1795500000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`create index entry_version_version on entry_version (version)`);
    await runner.query(
      `create index entry_version_status on entry_version (status) where status <> 'active'`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop index entry_version_version`);
    await runner.query(`drop index entry_version_status`);
  }
}
