import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLES = ['source', 'registry', 'entry'];

/**
 * Claims are returned as they were given: their original form is stored next to the claim set where it
 * differs.
 */
export class GivenClaims1796600000000 implements MigrationInterface {
  readonly loses = 'how claims were written';

  async up(runner: QueryRunner): Promise<void> {
    for (const table of TABLES) await runner.query(`alter table ${table} add column given_claims jsonb`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of TABLES) await runner.query(`alter table ${table} drop column given_claims`);
  }
}
