import type { MigrationInterface, QueryRunner } from 'typeorm';

/** It was counted up and never read: what a registry shows is told by the revisions of its sources. */
export class DropRegistryRevision1796000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table registry drop column revision`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table registry add column revision bigint not null default 0`);
  }
}
