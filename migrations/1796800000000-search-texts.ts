import type { MigrationInterface, QueryRunner } from 'typeorm';

/** About a tenth of a second's work. */
const VERSIONS_PER_BATCH = 500;

/** SQL: separates the grams of a text; a gram that contains it is omitted. */
const SEPARATOR = 'chr(1)';

/**
 * Stores searchable text once per entry and distinct text, not per version, with an index by partition: for
 * every letter and letter pair, the entries of one partition, or of all, that contain it.
 *
 * Triggers maintain it, so that every writer does, including the previous version. A writer of many texts may
 * store them before their versions: the triggers then find them.
 */
export class SearchTexts1796800000000 implements MigrationInterface {
  /** The tables and triggers, then batches of the texts of existing entries, by entry. */
  async batch(runner: QueryRunner, after: string | null): Promise<string | null> {
    if (after === null) {
      if (!(await isMade(runner))) await make(runner);
      return '0';
    }
    const last = await endOfBatch(runner, after);
    if (last === null) return null;
    await keepWritersOut(runner);
    await fill(runner, after, last);
    return last;
  }

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`analyze search_text, search_partition`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const [trigger, table] of TRIGGERS) await runner.query(`drop trigger ${trigger} on ${table}`);
    await runner.query(`drop table search_text, search_partition`);
    for (const name of FUNCTIONS) await runner.query(`drop function ${name}`);
  }
}

const TRIGGERS = [
  ['entry_search_after_insert', 'entry'],
  ['entry_search_after_update', 'entry'],
  ['entry_search_after_delete', 'entry'],
  ['entry_search_after_truncate', 'entry'],
  ['entry_version_search_after_insert', 'entry_version'],
  ['entry_version_search_after_update', 'entry_version'],
  ['entry_version_search_after_delete', 'entry_version'],
  ['entry_version_search_after_truncate', 'entry_version'],
] as const;

const FUNCTIONS = [
  'add_search_partitions',
  'move_search_texts',
  'drop_search_texts',
  'add_search_texts',
  'change_search_text',
  'drop_unused_search_texts',
  'empty_search_texts',
  'settle_search_text_keys',
  'search_keys',
  'search_grams',
];

/** Whether an interrupted attempt has made the tables and triggers. */
async function isMade(runner: QueryRunner): Promise<boolean> {
  const [row] = (await runner.query(`select to_regclass('search_text') is not null as made`)) as {
    made: boolean;
  }[];
  return row?.made === true;
}

async function make(runner: QueryRunner): Promise<void> {
  await keepWritersOut(runner);
  await createTables(runner);
  await runner.query(`
    insert into search_partition (source_id, type, claim_set_id)
    select distinct source_id, type, claim_set_id from entry`);
  await followEntries(runner);
  await followVersions(runner);
  await keepIndexReady(runner);
}

// Reads continue.
async function keepWritersOut(runner: QueryRunner): Promise<void> {
  await runner.query(`lock table source, entry, entry_version in share row exclusive mode`);
}

async function createTables(runner: QueryRunner): Promise<void> {
  await runner.query(`
    create function search_grams(content text) returns text language sql immutable parallel safe as $$
      select coalesce(string_agg(distinct gram collate "C", ${SEPARATOR}), '') from (
        select unnest(array[letter, lag(letter) over (order by at) || letter]) as gram
        from unnest(string_to_array(content, null)) with ordinality as letters(letter, at)
      ) grams where gram is not null and position(${SEPARATOR} in gram) = 0
    $$`);
  // Not in SQL: the planner would inline it, consider it cheap, and compute every row's keys instead of using
  // the index.
  await runner.query(`
    create function search_keys(partition_id integer, type text, grams text) returns text[]
    language plpgsql immutable parallel safe cost 1000 as $$
    begin
      return string_to_array(
        type || ' ' || replace(grams, ${SEPARATOR}, ${SEPARATOR} || type || ' ') || ${SEPARATOR}
        || partition_id::text || ' ' || replace(grams, ${SEPARATOR}, ${SEPARATOR} || partition_id::text || ' '),
        ${SEPARATOR});
    end $$`);
  // No foreign key to claim_set: leftovers must not prevent the deletion of an unused claim set.
  await runner.query(`
    create table search_partition (
      id integer generated always as identity primary key,
      source_id integer not null references source on delete cascade,
      type text collate "C" not null,
      claim_set_id integer not null,
      unique (source_id, type, claim_set_id)
    )`);
  // No foreign key to entry either: it would be checked row by row, and the triggers handle deletion.
  await runner.query(`
    create table search_text (
      entry_id bigint not null,
      digest bytea not null,
      partition_id integer not null,
      type text collate "C" not null,
      name text collate "C" not null,
      content text collate "C" not null,
      grams text collate "C" not null,
      primary key (entry_id, digest)
    )`);
  await runner.query(
    `create index search_text_keys on search_text using gin (search_keys(partition_id, type, grams))`,
  );
  // Statistics would be slow to gather and of no use to the planner.
  await runner.query(`alter index search_text_keys alter column 1 set statistics 0`);
}

/** The id of the last entry of the next batch; null if none is left: the triggers follow those that are added later. */
async function endOfBatch(runner: QueryRunner, after: string): Promise<string | null> {
  const [row] = (await runner.query(
    `select max(entry_id) as last from (
       select entry_id from entry_version where entry_id > $1 order by entry_id limit ${VERSIONS_PER_BATCH}
     ) batch`,
    [after],
  )) as { last: string | null }[];
  return row?.last ?? null;
}

async function fill(runner: QueryRunner, after: string, last: string): Promise<void> {
  await runner.query(
    `insert into search_text (entry_id, digest, partition_id, type, name, content, grams)
     select e.id, sha256(convert_to(v.search, 'UTF8')), p.id, e.type, e.name, v.search, search_grams(v.search)
     from (select distinct entry_id, search from entry_version where entry_id > $1 and entry_id <= $2) v
     join entry e on e.id = v.entry_id
     join search_partition p on p.source_id = e.source_id and p.type = e.type and p.claim_set_id = e.claim_set_id
     on conflict do nothing`,
    [after, last],
  );
}

/**
 * Forces index use, starting from the changed rows (OFFSET 0): transition tables may have one row or all of
 * them, and one plan is cached for both.
 */
const BY_INDEX = `set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off`;

const DROP_EMPTY_PARTITIONS = `
      delete from search_partition p using (select distinct source_id, type, claim_set_id from before_change) b
      where p.source_id = b.source_id and p.type = b.type and p.claim_set_id = b.claim_set_id
        and not exists (
          select 1 from entry e
          where e.source_id = b.source_id and e.type = b.type and e.claim_set_id = b.claim_set_id
        );`;

async function followEntries(runner: QueryRunner): Promise<void> {
  await runner.query(`
    create function add_search_partitions() returns trigger language plpgsql ${BY_INDEX} as $$
    begin
      insert into search_partition (source_id, type, claim_set_id)
      select distinct a.source_id, a.type, a.claim_set_id from after_change a
      where not exists (
        select 1 from search_partition p
        where p.source_id = a.source_id and p.type = a.type and p.claim_set_id = a.claim_set_id
      ) on conflict do nothing;
      return null;
    end $$`);
  // All entries of a source may change claims at once. Only their partition number changes, not their keys.
  await runner.query(`
    create function move_search_texts() returns trigger language plpgsql ${BY_INDEX} as $$
    declare
      moved record;
      others bigint[] := '{}';
    begin
      for moved in
        select c.source_id, c.type, c.lost, c.gained, array_agg(c.id) as entries
        from (
          select id, source_id, type, max(lost) as lost, max(gained) as gained from (
            select id, source_id, type, claim_set_id as lost, null::int as gained from before_change
            union all
            select id, source_id, type, null::int, claim_set_id from after_change
          ) sides
          group by id, source_id, type having max(lost) <> max(gained)
        ) c
        group by c.source_id, c.type, c.lost, c.gained
      loop
        if not exists (
          select 1 from search_partition p
          where p.source_id = moved.source_id and p.type = moved.type and p.claim_set_id = moved.gained
        ) and not exists (
          select 1 from entry e
          where e.source_id = moved.source_id and e.type = moved.type and e.claim_set_id = moved.lost
        ) then
          update search_partition p set claim_set_id = moved.gained
          where p.source_id = moved.source_id and p.type = moved.type and p.claim_set_id = moved.lost;
          if found then
            continue;
          end if;
        end if;
        insert into search_partition (source_id, type, claim_set_id)
        values (moved.source_id, moved.type, moved.gained) on conflict do nothing;
        others := others || moved.entries;
      end loop;
      if cardinality(others) = 0 then
        return null;
      end if;
      update search_text t set partition_id = now_in.partition_id
      from (
        select e.id, p.id as partition_id from unnest(others) as o(id)
        cross join lateral (select * from entry e where e.id = o.id offset 0) e
        cross join lateral (
          select p.id from search_partition p
          where p.source_id = e.source_id and p.type = e.type and p.claim_set_id = e.claim_set_id offset 0
        ) p offset 0
      ) now_in
      where t.entry_id = now_in.id and t.partition_id <> now_in.partition_id;
      ${DROP_EMPTY_PARTITIONS}
      return null;
    end $$`);
  await runner.query(`
    create function drop_search_texts() returns trigger language plpgsql ${BY_INDEX} as $$
    begin
      delete from search_text t using before_change b where t.entry_id = b.id;
      ${DROP_EMPTY_PARTITIONS}
      return null;
    end $$`);
  await runner.query(`
    create trigger entry_search_after_insert after insert on entry referencing new table as after_change
      for each statement execute function add_search_partitions()`);
  await runner.query(`
    create trigger entry_search_after_update after update on entry
      referencing old table as before_change new table as after_change
      for each statement execute function move_search_texts()`);
  await runner.query(`
    create trigger entry_search_after_delete after delete on entry referencing old table as before_change
      for each statement execute function drop_search_texts()`);
}

async function followVersions(runner: QueryRunner): Promise<void> {
  await runner.query(`
    create function add_search_texts() returns trigger language plpgsql ${BY_INDEX} as $$
    begin
      insert into search_text (entry_id, digest, partition_id, type, name, content, grams)
      select a.entry_id, a.digest, p.id, e.type, e.name, a.search, search_grams(a.search)
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
    create function change_search_text() returns trigger language plpgsql ${BY_INDEX} as $$
    declare
      gained bytea := sha256(convert_to(new.search, 'UTF8'));
    begin
      if not exists (select 1 from search_text t where t.entry_id = new.entry_id and t.digest = gained) then
        insert into search_text (entry_id, digest, partition_id, type, name, content, grams)
        select e.id, gained, p.id, e.type, e.name, new.search, search_grams(new.search)
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
  await runner.query(`
    create function drop_unused_search_texts() returns trigger language plpgsql ${BY_INDEX} as $$
    begin
      delete from search_text t
      using (select distinct entry_id, search, sha256(convert_to(search, 'UTF8')) as digest from before_change) b
      where t.entry_id = b.entry_id and t.digest = b.digest
        and not exists (select 1 from entry_version v where v.entry_id = b.entry_id and v.search = b.search);
      return null;
    end $$`);
  await runner.query(`
    create function empty_search_texts() returns trigger language plpgsql as $$
    begin
      truncate search_text;
      return null;
    end $$`);
  await runner.query(`
    create trigger entry_version_search_after_insert after insert on entry_version
      referencing new table as after_change for each statement execute function add_search_texts()`);
  await runner.query(`
    create trigger entry_version_search_after_update after update of search on entry_version
      for each row when (old.search is distinct from new.search) execute function change_search_text()`);
  // Deleted together with the entry or its source.
  await runner.query(`
    create trigger entry_version_search_after_delete after delete on entry_version
      referencing old table as before_change
      for each statement when (pg_trigger_depth() = 0) execute function drop_unused_search_texts()`);
  for (const table of ['entry', 'entry_version'])
    await runner.query(`
      create trigger ${table}_search_after_truncate after truncate on ${table}
        for each statement execute function empty_search_texts()`);
}

/**
 * New GIN entries wait in a pending list that every index scan reads in full, and a search may scan once per
 * partition: the list is flushed after each statement. Only the index owner may do that, who need not be the
 * writer.
 */
async function keepIndexReady(runner: QueryRunner): Promise<void> {
  await runner.query(`
    create function settle_search_text_keys() returns trigger language plpgsql
    security definer set search_path = pg_catalog, pg_temp as $$
    begin
      perform gin_clean_pending_list(i.indexrelid)
      from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am a on a.oid = c.relam
      where i.indrelid = tg_relid and a.amname = 'gin';
      return null;
    end $$`);
  await runner.query(`
    create trigger search_text_settle after insert or update on search_text
      for each statement execute function settle_search_text_keys()`);
}
