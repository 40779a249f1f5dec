import type { MigrationInterface, QueryRunner } from 'typeorm';
import { allowTypes } from './1796500000000-plugins.js';

/** Validates the constraint of Plugins1796500000000 in a separate transaction, which lets reads and writes go on. */
export class ValidEntryTypes1796500000001 implements MigrationInterface {
  readonly loses = 'all plugins';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table entry validate constraint entry_type_check`);
  }

  /** Deletes plugins, which the previous version does not know. */
  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`delete from entry where type = 'plugin'`);
    await allowTypes(runner, ['server', 'skill']);
  }
}
