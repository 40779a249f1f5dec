import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Versions and changes that wait for a decision, in tables of their own: statements that read the catalog never see them.
 */
export class Admission1797900000000 implements MigrationInterface {
  readonly loses = 'blocks, versions held for review or by a block, and the decisions about them';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table admission_item (
        id uuid not null constraint admission_item_pkey primary key,
        source_id integer not null
          constraint admission_item_source_id_fkey references source (id) on delete cascade,
        type text collate "C" not null,
        name text collate "C" not null,
        version text collate "C",
        status text not null constraint admission_item_status_check
          check (status in ('held', 'admitted', 'rejected', 'withdrawn')),
        reasons jsonb not null,
        digest bytea not null,
        created_at timestamptz(3) not null default now(),
        first_seen_at timestamptz(3) not null,
        due_at timestamptz(3),
        decided_at timestamptz(3),
        is_approved boolean not null default false,
        claims jsonb,
        publisher jsonb,
        publisher_key bytea,
        change jsonb,
        document text,
        is_rewritten boolean not null default false,
        version_key text collate "C",
        search text,
        version_status text,
        status_message text,
        status_changed_at timestamptz(3),
        published_at timestamptz(3),
        is_upstream_latest boolean not null default false
      )`);
    await runner.query(
      `create unique index admission_item_held on admission_item (source_id, type, name, version, digest) where status = 'held' and change is null`,
    );
    await runner.query(
      `create unique index admission_item_change on admission_item (source_id, type, name) where status = 'held' and change is not null`,
    );
    await runner.query(
      `create index admission_item_rejected on admission_item (source_id, type, name, version) where status = 'rejected'`,
    );
    await runner.query(`create index admission_item_list on admission_item (status, created_at, id)`);
    await runner.query(
      `create index admission_item_due on admission_item (due_at) where status = 'held' and due_at is not null`,
    );
    await runner.query(
      `create index admission_item_publisher on admission_item (publisher_key) where publisher_key is not null`,
    );
    await runner.query(`
      create table admission_decision (
        id bigint generated always as identity constraint admission_decision_pkey primary key,
        item_id uuid not null
          constraint admission_decision_item_id_fkey references admission_item (id) on delete cascade,
        decision text not null constraint admission_decision_decision_check
          check (decision in ('approve', 'reject', 'comment', 'withdraw')),
        at timestamptz(3) not null,
        by jsonb,
        by_key bytea,
        comment text
      )`);
    await runner.query(`create index admission_decision_item on admission_decision (item_id)`);
    // Each person approves once, even through two replicas at the same time.
    await runner.query(
      `create unique index admission_decision_approver on admission_decision (item_id, by_key) where decision = 'approve'`,
    );
    await runner.query(`
      create table block (
        id text collate "C" not null constraint block_pkey primary key,
        rule jsonb not null,
        created_at timestamptz(3) not null default now(),
        updated_at timestamptz(3) not null default now()
      )`);
    await runner.query(`
      create table known_name (
        source_id integer not null constraint known_name_source_id_fkey references source (id) on delete cascade,
        type text collate "C" not null,
        name text collate "C" not null,
        constraint known_name_pkey primary key (source_id, type, name)
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of ['known_name', 'block', 'admission_decision', 'admission_item'])
      await runner.query(`drop table ${table}`);
  }
}
