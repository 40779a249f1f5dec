import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Puts claims first in `entry_partition`, so that lookups by name cannot use it. While PostgreSQL has no statistics of a source, as
 * in its first sync, it considered the index as good as the unique one of names and read all entries of the source up to the name.
 */
export class PartitionByClaims1798330000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`create index entry_partition_next on entry (claim_set_id, source_id, type, name)`);
    await runner.query(`drop index entry_partition`);
    await runner.query(`alter index entry_partition_next rename to entry_partition`);
  }

  async down(): Promise<void> {
    // The same index serves the previous version.
  }
}
