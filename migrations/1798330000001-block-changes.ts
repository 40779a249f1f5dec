import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Changes of blocks that are in force but have not been applied to all stored versions. */
export class BlockChanges1798330000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table block_change (
        id uuid constraint block_change_pkey primary key,
        block text collate "C" not null,
        created_at timestamptz(3) not null default now()
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table block_change`);
  }
}
