import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The last applied `auth.oauth`, to audit a change of it. Null: none was applied yet, or the mode is `anonymous`. */
export class AppliedOAuth1797840000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table applied_authorization add column oauth_form jsonb`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table applied_authorization drop column oauth_form`);
  }
}
