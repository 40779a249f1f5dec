import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The entries that a webhook's receiver knows to be in the view that it follows. */
export class FollowedViews1797911000000 implements MigrationInterface {
  readonly loses = 'which entries the receivers of webhooks know';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table webhook_entry (
        webhook_id integer not null references webhook on delete cascade,
        type text collate "C" not null,
        name text collate "C" not null,
        primary key (webhook_id, type, name)
      )`);
    await runner.query(`alter table webhook add column followed jsonb`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table webhook_entry`);
    await runner.query(`alter table webhook drop column followed`);
  }
}
