import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The marketplace settings of registries. */
export class Marketplaces1798010000000 implements MigrationInterface {
  readonly loses = 'the marketplace settings of registries';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table registry add column marketplace jsonb`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table registry drop column marketplace`);
  }
}
