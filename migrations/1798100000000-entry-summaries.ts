import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A narrow row per entry with everything that the ranked search compares, counts and shows, so that it reads no
 * documents. Triggers add, move, delete and outdate rows, so that every writer does, including the previous version;
 * the server writes the rest. It adds the rows of existing entries too: see EntrySummaryFill1798150000000.
 *
 * `document_changed_at` is null while a version's document is as it was first stored.
 */
export class EntrySummaries1798100000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // Reads continue.
    await runner.query(`lock table source, entry, entry_version in share row exclusive mode`);
    await createTable(runner);
    await follow(runner);
    await noteChangedDocuments(runner);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const [trigger, table] of TRIGGERS) await runner.query(`drop trigger ${trigger} on ${table}`);
    await runner.query(`drop table entry_summary`);
    for (const name of FUNCTIONS) await runner.query(`drop function ${name}`);
    await runner.query(`alter table entry_version drop column document_changed_at`);
  }
}

const TRIGGERS = [
  ['entry_summary_after_insert', 'entry_version'],
  ['entry_summary_after_update', 'entry_version'],
  ['entry_summary_after_truncate', 'entry_version'],
  ['entry_version_document_change', 'entry_version'],
  ['entry_summary_after_delete', 'entry'],
  ['entry_summary_after_move', 'search_text'],
] as const;

const FUNCTIONS = [
  'add_entry_summaries',
  'outdate_entry_summary',
  'empty_entry_summaries',
  'drop_entry_summaries',
  'move_entry_summaries',
  'note_document_change',
];

export async function createTable(runner: QueryRunner): Promise<void> {
  // No foreign key: it would be checked row by row, and the triggers handle deletion.
  await runner.query(`
    create table entry_summary (
      entry_id bigint primary key,
      partition_id integer not null,
      type text collate "C" not null,
      name text collate "C" not null,
      is_outdated boolean not null default true,
      may_share_name boolean not null default true,
      version text,
      status text,
      title text,
      description text,
      tags text[] not null default '{}',
      transports text[] not null default '{}',
      is_installable boolean not null default false,
      updated_at timestamptz(3),
      texts text collate "C" not null default '',
      word_starts text collate "C" not null default '',
      bytes integer not null default 0
    )`);
  await runner.query(`create index entry_summary_partition on entry_summary (partition_id)`);
  await runner.query(`create index entry_summary_name on entry_summary (name, type)`);
  await runner.query(`create index entry_summary_outdated on entry_summary (partition_id) where is_outdated`);
  await runner.query(
    `create index entry_summary_shared_name on entry_summary (partition_id) where may_share_name`,
  );
}

/** See SearchTexts1796800000000. */
const BY_INDEX = `set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off`;

// A row that is outdated already is only locked: the server must not write it from a document that is being replaced.
const OUTDATE = (entryIds: string) => `
      insert into entry_summary (entry_id, partition_id, type, name)
      select e.id, p.id, e.type, e.name
      from (${entryIds}) a
      cross join lateral (select * from entry e where e.id = a.entry_id offset 0) e
      cross join lateral (
        select p.id from search_partition p
        where p.source_id = e.source_id and p.type = e.type and p.claim_set_id = e.claim_set_id offset 0
      ) p
      on conflict (entry_id) do update set is_outdated = true where not entry_summary.is_outdated;`;

export async function follow(runner: QueryRunner): Promise<void> {
  await runner.query(`
    create function add_entry_summaries() returns trigger language plpgsql ${BY_INDEX} as $$
    begin${OUTDATE('select distinct entry_id from after_change where is_latest')}
      return null;
    end $$`);
  await runner.query(`
    create function outdate_entry_summary() returns trigger language plpgsql ${BY_INDEX} as $$
    begin${OUTDATE('select new.entry_id')}
      return null;
    end $$`);
  await runner.query(`
    create function empty_entry_summaries() returns trigger language plpgsql as $$
    begin
      truncate entry_summary;
      return null;
    end $$`);
  await runner.query(`
    create function drop_entry_summaries() returns trigger language plpgsql ${BY_INDEX} as $$
    begin
      delete from entry_summary s using before_change b where s.entry_id = b.id;
      return null;
    end $$`);
  await runner.query(`
    create function move_entry_summaries() returns trigger language plpgsql ${BY_INDEX} as $$
    begin
      update entry_summary s set partition_id = a.partition_id
      from (select distinct entry_id, partition_id from after_change offset 0) a
      where s.entry_id = a.entry_id and s.partition_id <> a.partition_id;
      return null;
    end $$`);
  await runner.query(`
    create trigger entry_summary_after_insert after insert on entry_version referencing new table as after_change
      for each statement execute function add_entry_summaries()`);
  await runner.query(`
    create trigger entry_summary_after_update after update on entry_version
      for each row when ((old.is_latest or new.is_latest)
        and (old.is_latest, old.version, old.status, old.digest, old.updated_at)
          is distinct from (new.is_latest, new.version, new.status, new.digest, new.updated_at))
      execute function outdate_entry_summary()`);
  await runner.query(`
    create trigger entry_summary_after_truncate after truncate on entry_version
      for each statement execute function empty_entry_summaries()`);
  await runner.query(`
    create trigger entry_summary_after_delete after delete on entry referencing old table as before_change
      for each statement execute function drop_entry_summaries()`);
  // Entries whose partition is only renamed keep its number: see move_search_texts.
  await runner.query(`
    create trigger entry_summary_after_move after update on search_text referencing new table as after_change
      for each statement execute function move_entry_summaries()`);
}

async function noteChangedDocuments(runner: QueryRunner): Promise<void> {
  await runner.query(`
    create function note_document_change() returns trigger language plpgsql as $$
    begin
      new.document_changed_at := case when old.digest is distinct from new.digest then new.updated_at
        else coalesce(old.document_changed_at, old.updated_at) end;
      return new;
    end $$`);
  await runner.query(`alter table entry_version add column document_changed_at timestamptz(3)`);
  // A status that is written into a document changes its digest, but not at the same time as \`updated_at\`.
  await runner.query(`
    create trigger entry_version_document_change before update on entry_version
      for each row when (old.updated_at is distinct from new.updated_at) execute function note_document_change()`);
}
