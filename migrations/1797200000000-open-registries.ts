import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Anonymous access and keys of registries (digests only), and publishClaims. */
export class OpenRegistries1797200000000 implements MigrationInterface {
  readonly loses =
    'the keys of registries, what opens them without a token, and what is published through them';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table registry add column anonymous_claims jsonb`);
    await runner.query(`alter table registry add column keys jsonb not null default '[]'`);
    await runner.query(`alter table registry add column publish_claims jsonb`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const column of ['anonymous_claims', 'keys', 'publish_claims'])
      await runner.query(`alter table registry drop column ${column}`);
  }
}
