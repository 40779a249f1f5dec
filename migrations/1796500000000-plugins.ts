import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Plugins are the third entry type. The next migration validates the constraint. */
export class Plugins1796500000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await allowTypes(runner, ['server', 'skill', 'plugin']);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table entry validate constraint entry_type_check`);
  }
}

/** Replaces the constraint without reading the table: readers are locked out. */
export async function allowTypes(runner: QueryRunner, types: readonly string[]): Promise<void> {
  const list = types.map((type) => `'${type}'`).join(', ');
  await runner.query(`
    alter table entry drop constraint entry_type_check,
      add constraint entry_type_check check (type in (${list})) not valid`);
}
