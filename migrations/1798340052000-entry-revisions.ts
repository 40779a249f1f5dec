import type { MigrationInterface, QueryRunner } from 'typeorm';
import { SearchTexts1796800000000 } from './1796800000000-search-texts.js';
import { SearchKeysOfPartitions1797700000000 } from './1797700000000-search-keys-of-partitions.js';
import { createTable, follow } from './1798100000000-entry-summaries.js';
import { EntrySummaryFill1798150000000 } from './1798150000000-entry-summary-fill.js';
import { SummaryChanges1798200000000 } from './1798200000000-summary-changes.js';
import { DropSharedNames1798320000000 } from './1798320000000-drop-shared-names.js';
import { UnusedSummaryColumns1798320000001 } from './1798320000001-unused-summary-columns.js';
import { TextChanges1798320000002 } from './1798320000002-text-changes.js';
import { PublishedSearchKeys1798320000004 } from './1798320000004-published-search-keys.js';
import { LaterSearchKeys1798320000005 } from './1798320000005-later-search-keys.js';

/**
 * Adds the revision of each entry and the summary of each latest version, which searches in memory read to catch up
 * with changes. Drops the letter pairs, summaries and change logs of earlier versions, with their triggers.
 */
export class EntryRevisions1798340052000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table removed_entry (
        source_id integer not null,
        type text collate "C" not null,
        name text collate "C" not null,
        revision bigint not null,
        removed_at timestamptz(3) not null default now(),
        constraint removed_entry_pkey primary key (source_id, type, name),
        constraint removed_entry_source_id_fkey foreign key (source_id) references source on delete cascade
      )`);
    await runner.query(`create index removed_entry_revision on removed_entry (source_id, revision)`);
    await runner.query(`alter table entry add column revision bigint not null default 0`);
    await runner.query(`alter table entry_version add column summary json`);
    for (const [trigger, table] of TRIGGERS) await runner.query(`drop trigger ${trigger} on ${table}`);
    for (const table of TABLES) await runner.query(`drop table ${table}`);
    for (const name of FUNCTIONS) await runner.query(`drop function ${name}`);
    await runner.query(`drop domain search_key_list`);
  }

  async down(runner: QueryRunner): Promise<void> {
    const texts = new SearchTexts1796800000000();
    for (let after = await texts.batch(runner, null); after !== null;)
      after = await texts.batch(runner, after);
    await texts.up(runner);
    await createTable(runner);
    await follow(runner);
    for (const migration of [
      new SearchKeysOfPartitions1797700000000(),
      new EntrySummaryFill1798150000000(),
      new SummaryChanges1798200000000(),
      new DropSharedNames1798320000000(),
      new UnusedSummaryColumns1798320000001(),
      new TextChanges1798320000002(),
      new PublishedSearchKeys1798320000004(),
      new LaterSearchKeys1798320000005(),
    ])
      await migration.up(runner);
    await runner.query(`alter table entry_version drop column summary`);
    await runner.query(`alter table entry drop column revision`);
    await runner.query(`drop table removed_entry`);
  }
}

const TRIGGERS = [
  ['entry_search_after_insert', 'entry'],
  ['entry_search_after_update', 'entry'],
  ['entry_search_after_delete', 'entry'],
  ['entry_search_after_truncate', 'entry'],
  ['entry_summary_after_delete', 'entry'],
  ['entry_version_search_after_insert', 'entry_version'],
  ['entry_version_search_after_update', 'entry_version'],
  ['entry_version_search_after_delete', 'entry_version'],
  ['entry_version_search_after_truncate', 'entry_version'],
  ['entry_summary_after_insert', 'entry_version'],
  ['entry_summary_after_update', 'entry_version'],
  ['entry_summary_after_truncate', 'entry_version'],
] as const;

const TABLES = [
  'search_text',
  'search_partition',
  'entry_summary',
  'entry_summary_fill',
  'entry_summary_change',
  'entry_summary_horizon',
];

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
  'add_entry_summaries',
  'outdate_entry_summary',
  'empty_entry_summaries',
  'drop_entry_summaries',
  'move_entry_summaries',
  'note_summary_change',
  'note_deleted_summaries',
  'note_text_changes',
];
