import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ENTITIES } from '../../dist/app/entities.js';
import { createDataSource } from '../../dist/database/open-database.js';
import { ENTRY_TYPE_NAMES, STATUSES } from '../../dist/documents/statuses.js';
import { SOURCE_KINDS } from '../../dist/source-kinds/kinds.js';
import { aDatabase, type TestDatabase } from '../support/database.js';

let database: TestDatabase;
let dataSource: DataSource;

beforeAll(async () => {
  database = await aDatabase();
  dataSource = await createDataSource({ ...database, poolMax: 2 }, ENTITIES, () => undefined).initialize();
});

afterAll(async () => {
  await dataSource.destroy();
  await database.drop();
});

it('every table has an entity', async () => {
  const tables = await database.query<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = 'public' order by 1`,
  );
  const known = dataSource.entityMetadatas.map(({ tableName }) => tableName);
  expect([...known, 'schema_migration'].sort()).toEqual(tables.map(({ name }) => name));
});

it('the entities match the migrated schema', async () => {
  const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
  expect(upQueries.map(({ query }) => query)).toEqual([]);
});

// TypeORM compares check constraints by name only.
it.each([
  ['entry_version_status_check', STATUSES],
  ['entry_type_check', ENTRY_TYPE_NAMES],
  ['source_kind_check', SOURCE_KINDS],
])('the migrated %s allows exactly the words of its table', async (name, words) => {
  const [constraint] = await database.query<{ definition: string }>(
    `select pg_get_constraintdef(oid) as definition from pg_constraint where conname = '${name}'`,
  );
  const allowed = [...(constraint?.definition ?? '').matchAll(/'([^']*)'::text/g)].map(([, word]) => word);
  expect(allowed.sort()).toEqual([...words].sort());
});
