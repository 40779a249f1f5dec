import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Makes `source_partition` exact, and numbers each change to it: a list that only grows could be filled by
 * any publisher, and every read would pay for it.
 *
 * The trigger serializes writers of one source by locking its row: if one removes the last entry of a
 * partition and another adds to it, the second sees the first's change.
 */
export class PartitionRevisions1796100000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // Waits for running writers of the previous version.
    await runner.query(`lock table claim_set, entry, source in share row exclusive mode`);
    await runner.query(`
      create temporary table carried on commit drop as select distinct source_id, claim_set_id from entry`);
    // Deleting a claim set checks for references.
    await runner.query(`create index source_partition_claim_set on source_partition (claim_set_id)`);
    // Looks up whether an entry still carries a claim set in the index entry_partition, type by type. The
    // planner prefers a sequential scan for a claim set it considers common, which is slow once the claim set
    // is gone.
    await runner.query(`
      create function settle_source_partitions() returns trigger language plpgsql
      set enable_seqscan = off set enable_bitmapscan = off as $$
      declare
        gained_sources int[];
        gained_sets int[];
        lost_sources int[];
        lost_sets int[];
        present int[];
      begin
        if tg_op = 'INSERT' then
          select array_agg(source_id), array_agg(claim_set_id) into gained_sources, gained_sets
          from (select distinct source_id, claim_set_id from after_change) p;
        elsif tg_op = 'DELETE' then
          select array_agg(source_id), array_agg(claim_set_id) into lost_sources, lost_sets
          from (select distinct source_id, claim_set_id from before_change) p;
        else
          -- What stands on both sides was there before and still is.
          select array_agg(source_id), array_agg(claim_set_id) into gained_sources, gained_sets
          from (select source_id, claim_set_id from after_change except
                select source_id, claim_set_id from before_change) p;
          select array_agg(source_id), array_agg(claim_set_id) into lost_sources, lost_sets
          from (select source_id, claim_set_id from before_change except
                select source_id, claim_set_id from after_change) p;
        end if;
        if gained_sources is null and lost_sources is null then
          return null;
        end if;
        -- Of a source that is being deleted everything goes anyway.
        select array_agg(id) into present from (
          select id from source where id = any(gained_sources || lost_sources) order by id for no key update
        ) s;
        with recursive types as (
          select s.id as source_id, (select min(e.type) from entry e where e.source_id = s.id) as type
          from unnest(present) as s(id)
          union all
          select t.source_id, (select min(e.type) from entry e where e.source_id = t.source_id and e.type > t.type)
          from types t where t.type is not null
        ), gained as (
          insert into source_partition (source_id, claim_set_id)
          select g.source_id, g.claim_set_id from unnest(gained_sources, gained_sets) as g(source_id, claim_set_id)
          where g.source_id = any(present)
          on conflict do nothing
          returning source_id
        ), lost as (
          delete from source_partition p using unnest(lost_sources, lost_sets) as l(source_id, claim_set_id)
          where p.source_id = l.source_id and p.claim_set_id = l.claim_set_id and l.source_id = any(present)
            and (select 1 from types t cross join lateral (
                   select 1 from entry e
                   where e.source_id = t.source_id and e.type = t.type and e.claim_set_id = l.claim_set_id limit 1
                 ) carried where t.source_id = l.source_id limit 1) is null
          returning p.source_id
        )
        update source s set partition_revision = partition_revision + 1
        where s.id in (select source_id from gained union all select source_id from lost);
        return null;
      end $$`);
    await runner.query(`
      create or replace trigger entry_partitions_after_insert after insert on entry
        referencing new table as after_change
        for each statement execute function settle_source_partitions()`);
    await runner.query(`
      create or replace trigger entry_partitions_after_update after update on entry
        referencing old table as before_change new table as after_change
        for each statement execute function settle_source_partitions()`);
    await runner.query(`
      create trigger entry_partitions_after_delete after delete on entry
        referencing old table as before_change
        for each statement execute function settle_source_partitions()`);
    await runner.query(`drop function note_source_partitions()`);
    // Readers are locked out last, and of `source` first: no statement reads it after `source_partition`.
    await runner.query(`alter table source add column partition_revision bigint not null default 0`);
    // Refilled with TRUNCATE: a server detects by the table's file that revisions may have restarted.
    await runner.query(`truncate source_partition`);
    await runner.query(`insert into source_partition select source_id, claim_set_id from carried`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create function note_source_partitions() returns trigger language plpgsql as $$
      begin
        insert into source_partition (source_id, claim_set_id)
        select distinct source_id, claim_set_id from touched
        on conflict do nothing;
        return null;
      end $$`);
    for (const event of ['insert', 'update'])
      await runner.query(`
        create or replace trigger entry_partitions_after_${event} after ${event} on entry
          referencing new table as touched
          for each statement execute function note_source_partitions()`);
    await runner.query(`drop trigger entry_partitions_after_delete on entry`);
    await runner.query(`drop function settle_source_partitions()`);
    await runner.query(`drop index source_partition_claim_set`);
    await runner.query(`alter table source drop column partition_revision`);
  }
}
