import type { DataSource, MigrationInterface, QueryRunner } from 'typeorm';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { inMigrationTransaction, migrateDown, migrateUp } from '../../dist/database/migrate.js';
import { createDataSource } from '../../dist/database/open-database.js';
import { aDatabase, type TestDatabase } from '../support/database.js';

const patience = { interval: 10 };

/** Migrations as later versions may add them. */
class AddNotes9999999999001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table entry add column note text`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table entry drop column note`);
  }
}

class NeedNotes9999999999002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`create table noted ()`);
    await runner.query(`alter table entry alter column note set not null`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table noted`);
  }
}

let database: TestDatabase;
let owner: DataSource;
beforeEach(async () => {
  database = await aDatabase();
  owner = await createDataSource({ ...database.connection, poolMax: 3 }, [], () => undefined).initialize();
});
afterEach(async () => {
  await owner.destroy();
  await database.drop();
});

it.each(['applied', 'reverted'] as const)(
  'a migration that is %s lets others read while it waits for a reader',
  async (how) => {
    owner.migrations.push(new AddNotes9999999999001());
    if (how === 'reverted') await migrateUp(owner);
    await database.query('begin');
    await database.query('lock table entry in access share mode');
    const migrating = how === 'applied' ? migrateUp(owner) : migrateDown(owner);
    await expect.poll(waitsForReaders, patience).toBe(true);
    // Fails at the statement timeout if the migration keeps waiting.
    await owner.query('select 1 from entry limit 1');
    await database.query('commit');
    expect([await migrating].flat()).toEqual(['AddNotes9999999999001']);
  },
);

async function waitsForReaders(): Promise<boolean> {
  const waiting = await database.query(
    `select 1 from pg_locks where not granted and mode = 'AccessExclusiveLock'
       and database = (select oid from pg_database where datname = current_database())`,
  );
  return waiting.length > 0;
}

it('a migration that fails leaves the earlier ones, and the next attempt continues from there', async () => {
  await database.query(`insert into claim_set (claims, digest) values ('{}', '\\x00')`);
  await database.query(
    `insert into source (name, kind, settings, claim_set_id, origin) values ('s', 'managed', '{}', 1, 'api')`,
  );
  await database.query(
    `insert into entry (source_id, type, name, claim_set_id) values (1, 'server', 'io.acme/a', 1)`,
  );
  owner.migrations.push(new AddNotes9999999999001(), new NeedNotes9999999999002());
  await expect(migrateUp(owner)).rejects.toThrow(/^NeedNotes9999999999002: .*null/);
  expect(await database.query(`select to_regclass('noted') as made, note from entry`)).toEqual([
    { made: null, note: null },
  ]);
  await database.query(`update entry set note = 'x'`);
  expect(await migrateUp(owner)).toEqual(['NeedNotes9999999999002']);
  expect(await migrateUp(owner)).toEqual([]);
});

it('a migration that deadlocks is retried', async () => {
  let attempts = 0;
  await inMigrationTransaction(owner, async (runner) => {
    attempts += 1;
    if (attempts === 1)
      await runner.query(`do $$ begin raise exception 'deadlock' using errcode = '40P01'; end $$`);
    await runner.query('create table attempted ()');
  });
  expect(await database.query('select 1 from attempted')).toEqual([]);
  expect(attempts).toBe(2);
});
