import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Combines keys of search texts into one array element: a search looks up the keys of many partitions at
 * once, and SQL has no arrays of arrays.
 */
export class SearchKeysOfPartitions1797700000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`create domain search_key_list as text[]`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop domain search_key_list`);
  }
}
