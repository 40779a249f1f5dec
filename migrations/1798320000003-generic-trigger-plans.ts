import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * PostgreSQL planned the statements of this trigger in each transaction, because a plan for known values looked cheaper than a
 * generic one. Planning took half a millisecond while the source was locked.
 */
export class GenericTriggerPlans1798320000003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter function settle_source_partitions() set plan_cache_mode = force_generic_plan`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter function settle_source_partitions() reset plan_cache_mode`);
  }
}
