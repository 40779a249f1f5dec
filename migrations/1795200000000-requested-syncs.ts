import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A manual sync requested during a run must run after it. */
export class RequestedSyncs1795200000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table source_sync add column requested_at timestamptz(3)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table source_sync drop column requested_at`);
  }
}
