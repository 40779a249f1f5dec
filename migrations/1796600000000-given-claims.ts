import type { MigrationInterface, QueryRunner } from 'typeorm';
import { lockTables } from './lock-tables.js';

const TABLES = ['source', 'registry', 'entry'];

/** Claims come back as they were given: the form they were given in stands beside the claim set, where it is another one. */
export class GivenClaims1796600000000 implements MigrationInterface {
  readonly loses = 'how claims were written';

  async up(runner: QueryRunner): Promise<void> {
    // All at once: readers of the version before, still at work, look at several of them in one statement.
    await lockTables(runner, `lock table ${TABLES.join(', ')} in access exclusive mode`);
    for (const table of TABLES) await runner.query(`alter table ${table} add column given_claims jsonb`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of TABLES) await runner.query(`alter table ${table} drop column given_claims`);
  }
}
