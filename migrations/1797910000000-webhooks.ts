import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Webhooks, with their place in the audit trail. The order of commits differs from the order of IDs, so a place is a
 * snapshot: the transactions whose events were handled. Events written before this migration have no transaction; only a
 * replay sends them.
 */
export class Webhooks1797910000000 implements MigrationInterface {
  readonly loses = 'the places of webhooks in the audit trail';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table webhook (
        id integer generated always as identity primary key,
        name text collate "C" not null unique,
        form jsonb not null,
        configured_in bigint not null,
        past text not null,
        since uuid,
        until text,
        after uuid,
        latest uuid,
        generation integer not null default 0,
        behind_since timestamptz(3),
        attempts integer not null default 0,
        failing_since timestamptz(3),
        next_attempt_at timestamptz(3),
        paused_at timestamptz(3),
        last_error text,
        lease_owner uuid,
        lease_until timestamptz(3)
      )`);
    await runner.query(`
      create table webhook_delivery (
        webhook_id integer not null references webhook on delete cascade,
        id text collate "C" not null,
        type text collate "C" not null,
        status text collate "C" not null check (status in ('delivered', 'failed')),
        attempts integer not null,
        at timestamptz(3) not null,
        error text,
        primary key (webhook_id, id)
      )`);
    await runner.query(`create index webhook_delivery_at on webhook_delivery (webhook_id, at, id)`);
    // In two parts, so that earlier events get none.
    await runner.query(`
      alter table audit_event add column transaction bigint,
        alter column transaction set default ((pg_current_xact_id())::text)::bigint`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table webhook_delivery`);
    await runner.query(`drop table webhook`);
    await runner.query(`alter table audit_event drop column transaction`);
  }
}
