import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * PostgreSQL planned the statements of this trigger anew for each transaction, because the plan for one row looked cheaper than
 * the one that serves all: half a millisecond, while the source is locked.
 */
export class GenericTriggerPlans1798320000003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter function settle_source_partitions() set plan_cache_mode = force_generic_plan`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter function settle_source_partitions() reset plan_cache_mode`);
  }
}
