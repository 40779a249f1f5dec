import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Notes entries whose search texts change, in the log of `SummaryChanges1798200000000`: the index in memory has the texts
 * of all versions, and a change of an older version does not outdate the summary. A new entry is noted when its summary is
 * written.
 */
export class TextChanges1798320000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create function note_text_changes() returns trigger language plpgsql
      set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
      begin
        insert into entry_summary_change (entry_id, partition_id, type, name)
        select distinct c.entry_id, c.partition_id, c.type, c.name from changed c
        where exists (select 1 from entry_summary s where s.entry_id = c.entry_id)
          or exists (select 1 from entry_summary_fill)
        on conflict do nothing;
        return null;
      end $$`);
    await runner.query(`
      create trigger search_text_change_after_insert after insert on search_text referencing new table as changed
        for each statement execute function note_text_changes()`);
    await runner.query(`
      create trigger search_text_change_after_delete after delete on search_text referencing old table as changed
        for each statement execute function note_text_changes()`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop trigger search_text_change_after_insert on search_text`);
    await runner.query(`drop trigger search_text_change_after_delete on search_text`);
    await runner.query(`drop function note_text_changes()`);
  }
}
