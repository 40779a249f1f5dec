import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The last applied authorization: a start or reload compares its configuration with it, to audit a change.
 */
export class AppliedAuthorization1797500000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table applied_authorization (
        id integer not null constraint applied_authorization_pkey primary key
          constraint applied_authorization_id_check check (id = 1),
        authorization_form jsonb not null
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table applied_authorization`);
  }
}
