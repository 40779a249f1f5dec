import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A source that loses most of its entries at once fails, unless its settings or a manual sync allow it. */
export class AllowedShrinking1796200000000 implements MigrationInterface {
  readonly loses = 'which sources may shrink';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table source add column allow_shrink boolean not null default false`);
    await runner.query(`alter table source_sync add column shrink_allowed_at timestamptz(3)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table source_sync drop column shrink_allowed_at`);
    await runner.query(`alter table source drop column allow_shrink`);
  }
}
