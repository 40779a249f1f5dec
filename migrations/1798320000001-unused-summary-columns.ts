import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The ranked search compares texts in memory. */
export class UnusedSummaryColumns1798320000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const column of ['may_share_name', 'texts', 'word_starts'])
      await runner.query(`alter table entry_summary drop column ${column}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table entry_summary add column may_share_name boolean not null default true`);
    for (const column of ['texts', 'word_starts'])
      await runner.query(
        `alter table entry_summary add column ${column} text collate "C" not null default ''`,
      );
  }
}
