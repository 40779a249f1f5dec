import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Who last changed a source through the API: syncs are shared fairly by person. */
export class SourceOwners1798310000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table source add column changed_by bytea`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table source drop column changed_by`);
  }
}
