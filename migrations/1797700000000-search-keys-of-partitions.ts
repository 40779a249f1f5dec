import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Keys of search texts that are looked for together, as an element of an array: a search asks the index for the keys of many
 * partitions at once, and there is no array of arrays.
 */
export class SearchKeysOfPartitions1797700000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`create domain search_key_list as text[]`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop domain search_key_list`);
  }
}
