import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Lets the keys of published search texts wait in the pending list of the index, up to 64 kB, until the next batch of
 * summaries: merging them took a third of the time that PostgreSQL needs for a publication. Syncs still end with an empty list.
 */
export class PublishedSearchKeys1798320000004 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const writer of ['add_search_texts', 'change_search_text'])
      await runner.query(`alter function ${writer}() set gin_pending_list_limit = '64kB'`);
    await runner.query(`
      create or replace trigger search_text_settle after insert or update on search_text
        for each statement when (pg_size_bytes(current_setting('gin_pending_list_limit')) > 65536)
        execute function settle_search_text_keys()`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create or replace trigger search_text_settle after insert or update on search_text
        for each statement execute function settle_search_text_keys()`);
    for (const writer of ['add_search_texts', 'change_search_text'])
      await runner.query(`alter function ${writer}() reset gin_pending_list_limit`);
  }
}
