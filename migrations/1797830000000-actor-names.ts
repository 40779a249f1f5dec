import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds a column for actors' names, so that audit events can be found by name. */
export class ActorNames1797830000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table audit_event add column actor_name text collate "C"`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table audit_event drop column actor_name`);
  }
}
