import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Nothing searches for shared names in SQL any more. */
export class DropSharedNames1798320000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`drop index entry_summary_shared_name`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      `create index entry_summary_shared_name on entry_summary (partition_id) where may_share_name`,
    );
  }
}
