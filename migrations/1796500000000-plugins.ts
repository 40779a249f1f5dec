import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Plugins are the third entry type. */
export class Plugins1796500000000 implements MigrationInterface {
  readonly loses = 'all plugins';

  async up(runner: QueryRunner): Promise<void> {
    await allow(runner, ['server', 'skill', 'plugin']);
  }

  /** Deletes plugins, which the previous version does not know. */
  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`delete from entry where type = 'plugin'`);
    await allow(runner, ['server', 'skill']);
  }
}

async function allow(runner: QueryRunner, types: readonly string[]): Promise<void> {
  const list = types.map((type) => `'${type}'`).join(', ');
  await runner.query(`alter table entry drop constraint entry_type_check`);
  await runner.query(`alter table entry add constraint entry_type_check check (type in (${list}))`);
}
