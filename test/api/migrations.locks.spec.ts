import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { migrateDown, migrateUp } from '../../dist/database/migrate.js';
import { createDataSource } from '../../dist/database/open-database.js';
import { aDatabase, type TestDatabase } from '../support/database.js';

const patience = { timeout: 60_000, interval: 20 };
/** The last migration of 0.1.0, whose replicas may be running while the rest is applied. */
const BEFORE = 'SourcePartitions1795600000000';

describe('migrations while a replica of the previous version holds a lock', () => {
  let other: TestDatabase;
  let owner: DataSource;

  beforeAll(async () => {
    other = await aDatabase();
    // In a deadlock, the session with the shorter deadlock_timeout is aborted.
    await other.query(`alter database ${other.database} set deadlock_timeout = '4s'`);
    await other.query(`set deadlock_timeout = '10min'`);
    owner = createDataSource({ ...other.connection, poolMax: 2 }, [], () => undefined);
    await owner.initialize();
  });
  afterAll(async () => {
    await owner.destroy();
    await other.drop();
  });
  beforeEach(async () => {
    const newest = async () =>
      (await other.query<{ name: string }>('select name from schema_migration order by id desc limit 1'))[0];
    while ((await newest())?.name !== BEFORE) await migrateDown(owner, true);
  });

  /** Starts the migrations and returns once they wait for a lock on the table. */
  async function waitingFor(table: string): Promise<Promise<string[]>[]> {
    await other.query('begin');
    await other.query(`select 1 from ${table}`);
    const applied = migrateUp(owner);
    const waiting = () =>
      other.query<{ name: string }>(
        `select relation::regclass::text as name from pg_locks where not granted and mode = 'AccessExclusiveLock'
           and database = (select oid from pg_database where datname = current_database())`,
      );
    await expect.poll(waiting, patience).toEqual([{ name: table }]);
    return [applied];
  }

  it("release one migration's locks before they wait for the next one's", async () => {
    const [applied] = await waitingFor('source');
    expect(await other.query('select 1 from registry')).toEqual([]);
    await other.query('commit');
    expect((await applied)?.length).toBeGreaterThan(5);
  });

  it('are retried after a deadlock', async () => {
    const [applied] = await waitingFor('source_sync');
    expect(await other.query('select 1 from source')).toEqual([]);
    await other.query('commit');
    expect((await applied)?.length).toBeGreaterThan(5);
  });
});
