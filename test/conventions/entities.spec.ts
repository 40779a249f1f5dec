import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ENTITIES } from '../../dist/app/entities.js';
import { ContentBlob } from '../../dist/content/content.entity.js';
import { createDataSource } from '../../dist/database/open-database.js';
import { ENTRY_TYPE_NAMES, STATUSES } from '../../dist/documents/statuses.js';
import { SOURCE_KINDS } from '../../dist/source-kinds/kinds.js';
import { Webhook } from '../../dist/webhooks/webhook.entity.js';
import { aDatabase, type TestDatabase } from '../support/database.js';

/** The migrations that the changelog lists, with the digest of their code. */
const RELEASED = {
  '1795802400000-initial-schema.ts': '18c2d41daf87a2a61367deec62907480857670929d1b4fff377047e62634df38',
};

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

it('released migrations stay as they are', () => {
  const changelog = readFileSync('CHANGELOG.md', 'utf8');
  const released = readdirSync('migrations').flatMap((file) => {
    const text = readFileSync(join('migrations', file), 'utf8');
    const [, name = ''] = /^export class (\w+) implements MigrationInterface/m.exec(text) ?? [];
    if (!changelog.includes(`\`${name}\``)) return [];
    const code = text.replaceAll(/\/\*.*?\*\/|(?:--|\/\/).*?$/gms, '').replaceAll(/\s+/g, ' ');
    return [[file, createHash('sha256').update(code).digest('hex')]];
  });
  expect(Object.fromEntries(released)).toEqual(RELEASED);
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

it.each([undefined, null])('a condition on %s is an error instead of being ignored', async (id) => {
  const webhooks = dataSource.getRepository(Webhook);
  const isNoCondition = /value encountered in property/;
  const where = { id: id as unknown as number };
  await expect(webhooks.findBy(where)).rejects.toThrow(isNoCondition);
  await expect(webhooks.update(where, { attempts: 1 })).rejects.toThrow(isNoCondition);
  await expect(webhooks.delete(where)).rejects.toThrow(isNoCondition);
});

it.each([undefined, null])('a query builder condition on %s matches no row', async (bytes) => {
  await database.query(`insert into content_blob (digest, bytes) values ('\\x01', 1)`);
  const blobs = () => dataSource.getRepository(ContentBlob).createQueryBuilder('blob');
  const where = { bytes };
  expect(await blobs().where(where).getMany()).toEqual([]);
  expect((await blobs().update().set({ bytes: 2 }).where(where).execute()).affected).toBe(0);
  expect((await blobs().delete().where(where).execute()).affected).toBe(0);
  await database.query(`delete from content_blob`);
});

// TypeORM compares check constraints by name only.
it.each([
  ['entry_version_status_check', STATUSES],
  ['entry_type_check', ENTRY_TYPE_NAMES],
  ['source_kind_check', SOURCE_KINDS],
])('the migrated %s allows exactly the values in the code', async (name, words) => {
  const [constraint] = await database.query<{ definition: string }>(
    `select pg_get_constraintdef(oid) as definition from pg_constraint where conname = '${name}'`,
  );
  const allowed = [...(constraint?.definition ?? '').matchAll(/'([^']*)'::text/g)].map(([, word]) => word);
  expect(allowed.sort()).toEqual([...words].sort());
});
