import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What may come in from a synced source. Apart from the tables, because it keeps readers of `source` out. */
export class SourceAdmission1797900000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table source add column admission jsonb`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table source drop column admission`);
  }
}
