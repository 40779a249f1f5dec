import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Versions whose content is fetched (reference/content). The server adds those that are stored already. */
export class ContentFetches1798300000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table content_fetch (
        version_id bigint constraint content_fetch_pkey primary key
          constraint content_fetch_version_id_fkey references entry_version (id) on delete cascade,
        source_id integer not null,
        packages text,
        pin text,
        attempts integer not null default 0,
        queued_at timestamptz(3) not null default now(),
        fetch_at timestamptz(3),
        error text
      )`);
    await runner.query(
      `create index content_fetch_due on content_fetch (source_id, fetch_at) where fetch_at is not null`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table content_fetch`);
  }
}
