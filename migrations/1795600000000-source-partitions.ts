import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Which claim sets the entries of a source carry, written down: after every change somebody has to know, and to find out
 * from the entries takes a step along their index for each claim set.
 *
 * A trigger keeps it, so that no writer can forget to. A claim set that no entry carries any more stays in the list: it opens
 * nothing, and a list that only grows is known by its length.
 */
export class SourcePartitions1795600000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // In the order in which writers lock them, so that one of the version before, still at work, is waited for.
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
