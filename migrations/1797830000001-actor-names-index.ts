import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Takes a few seconds for ten million events; changes wait meanwhile, reads do not. */
export class ActorNamesIndex1797830000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create index if not exists audit_event_actor_name on audit_event (actor_name, id)
      where actor_name is not null`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop index audit_event_actor_name`);
  }
}
