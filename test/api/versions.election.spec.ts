import type { EntityManager } from 'typeorm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { electLatest } from '../../dist/entry-store/latest-version.queries.js';
import { fillCatalogue } from '../support/bulk-catalogue.js';
import { aDatabase, type TestDatabase } from '../support/database.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await aDatabase();
  await fillCatalogue(database, 500);
});
afterAll(() => database.drop());

it('elects the latest versions by index, even if the statistics contain no candidates', async () => {
  // Simulates a deleted block: the versions return, but did not exist when PostgreSQL gathered its statistics.
  await database.query(`create table blocked as select * from entry_version where not is_latest`);
  await database.query(`delete from entry_version where not is_latest`);
  await database.query(`analyze entry_version`);
  await database.query(`insert into entry_version overriding system value select * from blocked`);
  // A hash join, which some versions of PostgreSQL prefer, hides the difference.
  await database.query(`set enable_hashjoin = off`);
  await database.query(`set enable_mergejoin = off`);
  const entries = await database.query<{ id: string }>(`select id from entry`);
  const plans: string[] = [];
  const query = async (sql: string, values: unknown[]) => {
    const rows = await database.query<{ 'QUERY PLAN': string }>(`explain ${sql}`, values);
    plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
    return [];
  };
  await electLatest(
    { query } as unknown as EntityManager,
    entries.map(({ id }) => id),
  );
  expect(plans).toHaveLength(1);
  // A join filter compares each version with each elected one.
  expect(plans[0]).not.toMatch(/Join Filter/);
});
