import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ENTITIES } from '../../dist/app/entities.js';
import { createDataSource } from '../../dist/database/open-database.js';
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
