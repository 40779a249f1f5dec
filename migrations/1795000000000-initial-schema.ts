import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The tables of the catalog.
 *
 * Names and version keys compare bytewise (COLLATE "C"): page order must not depend on the database's locale.
 * Lifecycle and kinds are text with a check, so that a later migration can extend them without a rewrite.
 */
export class InitialSchema1795000000000 implements MigrationInterface {
  readonly loses = 'all sources, registries and entries';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`create extension if not exists pg_trgm`);
    await runner.query(`
      create table claim_set (
        id integer generated always as identity primary key,
        claims jsonb not null,
        digest bytea not null unique
      )`);
    await runner.query(`
      create table source (
        id integer generated always as identity primary key,
        name text collate "C" not null unique,
        kind text not null check (kind in ('file', 'git', 'api', 'managed', 'kubernetes')),
        settings jsonb not null,
        filter jsonb,
        interval_ms bigint,
        claim_set_id integer not null references claim_set,
        origin text not null check (origin in ('config', 'api')),
        revision bigint not null default 0,
        created_at timestamptz(3) not null default now(),
        updated_at timestamptz(3) not null default now()
      )`);
    await runner.query(`create unique index source_one_managed on source (kind) where kind = 'managed'`);
    await runner.query(`
      create table source_sync (
        source_id integer primary key references source on delete cascade,
        status text not null default 'pending' check (status in ('pending', 'syncing', 'complete', 'failed')),
        attempts integer not null default 0,
        last_attempt_at timestamptz(3),
        last_success_at timestamptz(3),
        next_run_at timestamptz(3),
        lease_owner uuid,
        lease_until timestamptz(3),
        content_digest bytea,
        error text,
        counts jsonb not null default '{}',
        skipped jsonb not null default '[]'
      )`);
    await runner.query(
      `create index source_sync_due on source_sync (next_run_at) where next_run_at is not null`,
    );
    await runner.query(`
      create table registry (
        id integer generated always as identity primary key,
        name text collate "C" not null unique,
        claim_set_id integer not null references claim_set,
        origin text not null check (origin in ('config', 'api')),
        position integer not null,
        revision bigint not null default 0,
        created_at timestamptz(3) not null default now(),
        updated_at timestamptz(3) not null default now()
      )`);
    await runner.query(`
      create table registry_source (
        registry_id integer not null references registry on delete cascade,
        position integer not null,
        source_id integer not null references source on delete restrict,
        primary key (registry_id, position),
        unique (registry_id, source_id)
      )`);
    await runner.query(`create index registry_source_source on registry_source (source_id)`);
    await runner.query(`
      create table entry (
        id bigint generated always as identity primary key,
        source_id integer not null references source on delete cascade,
        type text collate "C" not null check (type in ('server', 'skill')),
        name text collate "C" not null,
        claim_set_id integer not null references claim_set,
        unique (source_id, type, name)
      )`);
    // Serves one partition (source and claim set) of a view in name order.
    await runner.query(`create index entry_partition on entry (source_id, type, claim_set_id, name)`);
    await runner.query(`create index entry_claim_set on entry (claim_set_id)`);
    await runner.query(`
      create table entry_version (
        id bigint generated always as identity primary key,
        entry_id bigint not null references entry on delete cascade,
        version text collate "C" not null,
        version_key text collate "C" not null,
        document text not null,
        digest bytea not null,
        status text not null check (status in ('active', 'deprecated', 'deleted', 'archived')),
        status_message text,
        status_changed_at timestamptz(3) not null,
        published_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        is_latest boolean not null default false,
        search text not null,
        unique (entry_id, version)
      )`);
    await runner.query(
      `create unique index entry_version_order on entry_version (entry_id, version_key desc)`,
    );
    await runner.query(
      `create unique index entry_version_latest on entry_version (entry_id) where is_latest`,
    );
    await runner.query(`create index entry_version_updated on entry_version (updated_at)`);
    await runner.query(`create index entry_version_search on entry_version using gin (search gin_trgm_ops)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    // pg_trgm stays: it may have existed before, and other schemas may use it.
    for (const table of [
      'entry_version',
      'entry',
      'registry_source',
      'registry',
      'source_sync',
      'source',
      'claim_set',
    ])
      await runner.query(`drop table ${table}`);
  }
}
