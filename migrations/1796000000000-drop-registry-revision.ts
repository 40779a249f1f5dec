import type { MigrationInterface, QueryRunner } from 'typeorm';

/** It was incremented but never read: the sources' revisions determine what a registry shows. */
export class DropRegistryRevision1796000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table registry drop column revision`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table registry add column revision bigint not null default 0`);
  }
}
