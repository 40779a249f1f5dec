import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Where the server, in small transactions, continues to add the summaries of entries that existed before their table; a
 * migration that added them would keep all writers waiting. Without a row, every entry with a latest version has its
 * summary.
 */
export class EntrySummaryFill1798150000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // An entry that a transaction has moved, but not yet committed, has no summary that its trigger could move.
    await runner.query(`lock table entry in share row exclusive mode`);
    await runner.query(`
      create table entry_summary_fill (
        next_entry_id bigint constraint entry_summary_fill_pkey primary key
      )`);
    await runner.query(`insert into entry_summary_fill select min(id) from entry having min(id) is not null`);
    await runner.query(
      move(`
      insert into entry_summary (entry_id, partition_id, type, name)
      select distinct entry_id, partition_id, type, name from after_change
      on conflict (entry_id) do update set partition_id = excluded.partition_id
      where entry_summary.partition_id <> excluded.partition_id;`),
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table entry_summary_fill`);
    await runner.query(
      move(`
      update entry_summary s set partition_id = a.partition_id
      from (select distinct entry_id, partition_id from after_change offset 0) a
      where s.entry_id = a.entry_id and s.partition_id <> a.partition_id;`),
    );
  }
}

const move = (statement: string) => `
    create or replace function move_entry_summaries() returns trigger language plpgsql
    set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
    begin${statement}
      return null;
    end $$`;
