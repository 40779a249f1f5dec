import type { MigrationInterface, QueryRunner } from 'typeorm';

const BY_INDEX =
  'set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off';

/**
 * Lets triggers store search texts without grams, which the service adds in batches: computing the grams of a text and
 * adding its 200 keys to the index took a third of PostgreSQL's time for a publication, while the source was locked. Searches
 * find texts without grams through an index of their own. Building it scans the table once and finds no rows.
 */
export class LaterSearchKeys1798320000005 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`create index search_text_keyless on search_text (entry_id) where grams = ''`);
    await storeTexts(runner, () => `''`);
    // Adding grams must not lock summaries: other writers lock them before search texts.
    await followMoves(
      runner,
      `where not exists (
          select 1 from entry_summary s where s.entry_id = a.entry_id and s.partition_id = a.partition_id
        )`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await followMoves(runner, '');
    await storeTexts(runner, (text) => `search_grams(${text})`);
    await runner.query(`update search_text set grams = search_grams(content) where grams = ''`);
    await runner.query(`drop index search_text_keyless`);
  }
}

async function storeTexts(runner: QueryRunner, grams: (text: string) => string): Promise<void> {
  await runner.query(`
    create or replace function add_search_texts() returns trigger language plpgsql
    ${BY_INDEX} set gin_pending_list_limit = '64kB' as $$
    begin
      insert into search_text (entry_id, digest, partition_id, type, name, content, grams)
      select a.entry_id, a.digest, p.id, e.type, e.name, a.search, ${grams('a.search')}
      from (
        select * from (
          select distinct entry_id, search, sha256(convert_to(search, 'UTF8')) as digest from after_change
        ) all_texts
        where not exists (
          select 1 from search_text t where t.entry_id = all_texts.entry_id and t.digest = all_texts.digest
        ) offset 0
      ) a
      cross join lateral (select * from entry e where e.id = a.entry_id offset 0) e
      cross join lateral (
        select p.id from search_partition p
        where p.source_id = e.source_id and p.type = e.type and p.claim_set_id = e.claim_set_id offset 0
      ) p
      on conflict do nothing;
      return null;
    end $$`);
  await runner.query(`
    create or replace function change_search_text() returns trigger language plpgsql
    ${BY_INDEX} set gin_pending_list_limit = '64kB' as $$
    declare
      gained bytea := sha256(convert_to(new.search, 'UTF8'));
    begin
      if not exists (select 1 from search_text t where t.entry_id = new.entry_id and t.digest = gained) then
        insert into search_text (entry_id, digest, partition_id, type, name, content, grams)
        select e.id, gained, p.id, e.type, e.name, new.search, ${grams('new.search')}
        from entry e
        join search_partition p on p.source_id = e.source_id and p.type = e.type and p.claim_set_id = e.claim_set_id
        where e.id = new.entry_id
        on conflict do nothing;
      end if;
      delete from search_text t
      where t.entry_id = old.entry_id and t.digest = sha256(convert_to(old.search, 'UTF8'))
        and not exists (select 1 from entry_version v where v.entry_id = old.entry_id and v.search = old.search);
      return null;
    end $$`);
}

async function followMoves(runner: QueryRunner, condition: string): Promise<void> {
  await runner.query(`
    create or replace function move_entry_summaries() returns trigger language plpgsql ${BY_INDEX} as $$
    begin
      insert into entry_summary (entry_id, partition_id, type, name)
      select distinct entry_id, partition_id, type, name from after_change a
      ${condition}
      on conflict (entry_id) do update set partition_id = excluded.partition_id
      where entry_summary.partition_id <> excluded.partition_id;
      return null;
    end $$`);
}
