import type { MigrationInterface, QueryRunner } from 'typeorm';
import { lockTables } from './lock-tables.js';

/** Adds a column for actors' names, so that audit events can be found by name. Takes a few seconds for ten million events. */
export class ActorNames1797830000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`set local statement_timeout = 0`);
    await lockTables(runner, 'lock table audit_event in access exclusive mode');
    await runner.query(`alter table audit_event add column actor_name text collate "C"`);
    await runner.query(
      `create index audit_event_actor_name on audit_event (actor_name, id) where actor_name is not null`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await lockTables(runner, 'lock table audit_event in access exclusive mode');
    await runner.query(`alter table audit_event drop column actor_name`);
  }
}
