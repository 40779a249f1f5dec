import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A log of the summaries that were written, moved or deleted, by transaction: replicas keep an index of the summaries in
 * memory, and read here what changed since. Outdated rows are written, and so noted, later. Old rows are deleted;
 * `entry_summary_horizon` then has the transaction from which the log is complete.
 */
export class SummaryChanges1798200000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table entry_summary_change (
        transaction bigint not null default pg_current_xact_id()::text::bigint,
        entry_id bigint not null,
        partition_id integer not null,
        type text collate "C" not null,
        name text collate "C" not null,
        constraint entry_summary_change_pkey primary key (transaction, entry_id)
      )`);
    await runner.query(`
      create table entry_summary_horizon (
        id integer not null constraint entry_summary_horizon_pkey primary key
          constraint entry_summary_horizon_id_check check (id = 1),
        transaction bigint not null
      )`);
    await runner.query(`
      create function note_summary_change() returns trigger language plpgsql as $$
      begin
        insert into entry_summary_change (entry_id, partition_id, type, name)
        values (new.entry_id, new.partition_id, new.type, new.name) on conflict do nothing;
        return null;
      end $$`);
    await runner.query(`
      create function note_deleted_summaries() returns trigger language plpgsql as $$
      begin
        insert into entry_summary_change (entry_id, partition_id, type, name)
        select entry_id, partition_id, type, name from before_change on conflict do nothing;
        return null;
      end $$`);
    await runner.query(`
      create trigger entry_summary_change_after_update after update on entry_summary
        for each row when (not new.is_outdated or old.partition_id <> new.partition_id)
        execute function note_summary_change()`);
    await runner.query(`
      create trigger entry_summary_change_after_delete after delete on entry_summary
        referencing old table as before_change
        for each statement execute function note_deleted_summaries()`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop trigger entry_summary_change_after_update on entry_summary`);
    await runner.query(`drop trigger entry_summary_change_after_delete on entry_summary`);
    await runner.query(`drop function note_summary_change()`);
    await runner.query(`drop function note_deleted_summaries()`);
    await runner.query(`drop table entry_summary_change`);
    await runner.query(`drop table entry_summary_horizon`);
  }
}
