import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Stores which claim sets a source's entries carry: they are needed after every change, and finding them
 * takes one index step per claim set.
 *
 * A trigger maintains it, so that every writer does. A claim set that no entry carries any more stays in the
 * list: it opens nothing, and the length identifies a list that only grows.
 */
export class SourcePartitions1795600000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // In the writers' lock order, so that a running writer of the previous version is waited for.
    await runner.query(`lock table claim_set, entry, source in share row exclusive mode`);
    await runner.query(`
      create table source_partition (
        source_id integer not null references source on delete cascade,
        claim_set_id integer not null references claim_set,
        primary key (source_id, claim_set_id)
      )`);
    await runner.query(`
      insert into source_partition (source_id, claim_set_id) select distinct source_id, claim_set_id from entry`);
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
        create trigger entry_partitions_after_${event} after ${event} on entry referencing new table as touched
        for each statement execute function note_source_partitions()`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const event of ['insert', 'update'])
      await runner.query(`drop trigger entry_partitions_after_${event} on entry`);
    await runner.query(`drop function note_source_partitions()`);
    await runner.query(`drop table source_partition`);
  }
}
