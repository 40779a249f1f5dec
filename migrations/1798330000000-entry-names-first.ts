import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Builds the unique index of entry names again, so that lookups by name use it while statistics know nothing of the source,
 * as in its first sync. PostgreSQL then considers it equal to `entry_partition`, and of equal indexes it uses the one that was
 * created last. In `entry_partition` a lookup reads all entries of the source up to the name.
 */
export class EntryNamesFirst1798330000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`create unique index entry_name_next on entry (source_id, type, name)`);
    await runner.query(`
      alter table entry drop constraint entry_source_id_type_name_key,
        add constraint entry_source_id_type_name_key unique using index entry_name_next`);
  }

  async down(): Promise<void> {
    // The same index serves the previous version.
  }
}
