import { readdir, readFile, writeFile } from 'node:fs/promises';
import { setImmediate as immediate } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { indexScansFor } from '../../dist/catalog/index-scan.queries.js';
import { NameWalk, readByIndex, readByNames } from '../../dist/catalog/list-strategies.js';
import type { ListFilter, ListRequest, Position } from '../../dist/catalog/list-request.js';
import { readVersions } from '../../dist/catalog/page-reader.js';
import { nothingVisible } from '../../dist/catalog/page.queries.js';
import { type NamedVersions, type SingleVersion, VersionLoader } from '../../dist/catalog/version.queries.js';
import { createDataSource } from '../../dist/database/open-database.js';
import { toStorable } from '../../dist/validation/storable-text.js';
import { SnapshotCheck, ViewSql } from '../../dist/visibility/freshness.queries.js';
import { type View, visibleSource } from '../../dist/visibility/view.js';
import { Semaphore } from '../../dist/limits/semaphore.js';
import { aDatabase, type TestDatabase } from '../support/database.js';

/** Golden files of the SQL with example values; UPDATE_GOLDEN=1 rewrites them. */
const FOLDER = new URL('./page-statements/', import.meta.url);
const EVERYTHING: ListFilter = {
  search: '100%',
  updatedSince: '2026-01-02T00:00:00.000Z',
  version: '1.0.0',
  status: 'archived',
};
const AFTER: Position = { name: 'io.acme/deploy', key: '1' };
const NAME = 'io.acme/deploy';

type Read = (sql: ViewSql) => Promise<unknown>;

function aView(seesAll = false): View {
  const any = { tag: '', sourceIds: [7, 6, 5], revisions: 'epoch|7:1,6:1,5:1' };
  const visible = [visibleSource(7, [1]), visibleSource(5, [1, 2])];
  return { ...any, ...(seesAll ? { seesAll } : { seesAll, visible }) };
}

const request = (filter: ListFilter, after: Position | null = null): ListRequest => ({
  filter,
  limit: 30,
  after,
});
const walk =
  (by: 'partition' | 'source', filter: ListFilter, after?: Position): Read =>
  (sql) =>
    new NameWalk(sql, 'server', request(filter, after), by === 'source').advance(39);
const walkWithoutLong =
  (by: 'partition' | 'source'): Read =>
  (sql) => {
    const servers = { ...request({ version: 'latest' }), maxDocumentBytes: 65_536 };
    return new NameWalk(sql, 'server', servers, by === 'source').advance(39);
  };
/** The last of the scans for a filter. */
const scan =
  (filter: ListFilter, after?: Position): Read =>
  async (sql) => {
    const found = indexScansFor(filter).at(-1);
    if (!found) throw new Error('No scan');
    return readByIndex(sql, found, 'server', request(filter, after), 512);
  };
const named =
  (filter: ListFilter, after?: Position): Read =>
  (sql) => {
    const find = () => Promise.resolve({ names: ['io.acme/deploy', 'io.acme/other'], isLast: true });
    return readByNames(sql, 'server', request({ ...filter, search: '100%' }, after), find);
  };

const versions =
  (asked: Partial<NamedVersions> = {}): Read =>
  (sql) =>
    readVersions(sql, { type: 'server', name: toStorable(NAME), includeDeleted: false, ...asked });

const ASKED = { name: toStorable(NAME), version: toStorable('1.0.0') };
const one =
  (which: SingleVersion['which'], includeDeleted = false): Read =>
  (sql) =>
    new VersionLoader(new Semaphore(4)).load({
      sql,
      kind: { type: 'server', which, includeDeleted },
      ...ASKED,
    });
const two =
  (which: SingleVersion['which'], includeDeleted = false): Read =>
  (sql) => {
    const loader = new VersionLoader(new Semaphore(4));
    const read = { sql, kind: { type: 'server', which, includeDeleted }, ...ASKED } as const;
    return Promise.all([loader.load(read), loader.load(read)]);
  };

const statements: Record<string, Read> = {
  'nothing-visible': nothingVisible,
  'versions.all': versions(),
  'versions.all.with-deleted': versions({ includeDeleted: true }),
  'versions.latest': one('latest'),
  'versions.exact': one('exact'),
  'versions.exact.with-deleted': one('exact', true),
  'versions.latest.together': two('latest'),
  'versions.exact.together': two('exact', true),
  'names.search': named({}),
  'names.search.next-page': named({ version: 'latest', includeDeleted: true }, AFTER),
  'walk.by-partition': walk('partition', {}),
  'walk.by-partition.next-page': walk('partition', {}, AFTER),
  'walk.by-partition.latest': walk('partition', { version: 'latest' }),
  'walk.by-partition.without-long': walkWithoutLong('partition'),
  'walk.by-partition.with-deleted': walk('partition', { includeDeleted: true }),
  'walk.by-partition.everything': walk('partition', EVERYTHING, AFTER),
  'walk.by-source': walk('source', {}),
  'walk.by-source.next-page': walk('source', {}, AFTER),
  'walk.by-source.latest': walk('source', { version: 'latest' }),
  'walk.by-source.without-long': walkWithoutLong('source'),
  'walk.by-source.with-deleted': walk('source', { includeDeleted: true }),
  'walk.by-source.everything': walk('source', EVERYTHING, AFTER),
  'walk.by-source.updated-since': walk('source', {
    updatedSince: '2026-01-02T00:00:00.000Z',
    includeDeleted: true,
  }),
  'scan.updated-since': scan({
    updatedSince: '2026-01-02T00:00:00.000Z',
    includeDeleted: true,
  }),
  'scan.version': scan({ version: '1.0.0' }),
  'scan.status': scan({ version: 'latest', status: 'archived' }),
  'scan.status.everything': scan(EVERYTHING, AFTER),
};

describe('the SQL of a page', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  beforeAll(async () => {
    database = await aDatabase();
    dataSource = await createDataSource({ ...database, poolMax: 1 }, [], () => undefined).initialize();
  });
  afterAll(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  it('lets a read by name finish while another read of the same batch waits its turn', async () => {
    const turns = new Semaphore(1);
    const loader = new VersionLoader(turns);
    const read = (name: string, includeDeleted: boolean) =>
      loader.load({
        sql: new ViewSql(dataSource, new SnapshotCheck(aView())),
        kind: { type: 'server', which: 'latest', includeDeleted },
        name: toStorable(name),
      });
    const release = await turns.acquire('test');
    // Turns alternate: one of ours comes before each read.
    const ours = [turns.acquire('version io.acme/b'), turns.acquire('version io.acme/b')];
    const first = read('io.acme/a', false);
    const second = read('io.acme/b', true);
    await immediate();
    release();
    (await ours[0])?.();
    expect(await first).toBeUndefined();
    expect(await Promise.race([second, immediate('waits')])).toBe('waits');
    (await ours[1])?.();
    expect(await second).toBeUndefined();
  });

  /** Returns the SQL sent to an empty database, which must accept it. */
  async function sentBy(read: Read, seesAll = false): Promise<string> {
    const sent: string[] = [];
    const query = (text: string, values: unknown[]) => {
      const list = values.map((value, index) => `-- $${index + 1} = ${JSON.stringify(value)}\n`);
      sent.push(`${list.join('')}${text.trim()}\n`);
      return dataSource.query(text, values);
    };
    await read(new ViewSql({ query } as unknown as DataSource, new SnapshotCheck(aView(seesAll))));
    expect(sent).toHaveLength(1);
    return sent.join();
  }

  it.each(Object.entries(statements))('matches %s.sql', async (name, read) => {
    const sent = await sentBy(read, name.endsWith('.of-all'));
    const file = new URL(`${name}.sql`, FOLDER);
    if (process.env['UPDATE_GOLDEN'] === '1') await writeFile(file, sent);
    expect(sent).toBe(await readFile(file, 'utf8'));
  });

  it('has no unused golden file', async () => {
    const files = (await readdir(FOLDER)).map((file) => file.replace(/\.sql$/, ''));
    expect(files.sort()).toEqual(Object.keys(statements).sort());
  });

  it.each([
    ['walk', walk('partition', EVERYTHING, AFTER), walk('partition', otherValues(), { name: 'b', key: '2' })],
    ['scan', scan(EVERYTHING, AFTER), scan(otherValues(), { name: 'b', key: '2' })],
  ])('does not depend on the values: %s', async (_, one, other) => {
    const textOf = (sent: string) => sent.replaceAll(/^-- .*\n/gm, '');
    const [first, second] = [await sentBy(one), await sentBy(other)];
    expect(second).not.toBe(first);
    expect(textOf(second)).toBe(textOf(first));
  });

  function otherValues(): ListFilter {
    return { search: 'other', updatedSince: '2026-02-02T00:00:00.000Z', version: '2.0.0', status: 'deleted' };
  }
});
