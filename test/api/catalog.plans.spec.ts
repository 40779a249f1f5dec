import { createHash } from 'node:crypto';
import type { DataSource, QueryRunner, Repository } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readByNames, readList } from '../../dist/catalog/list-strategies.js';
import type { ListFilter, Position } from '../../dist/catalog/list-request.js';
import { readVersions } from '../../dist/catalog/page-reader.js';
import { readShown } from '../../dist/catalog/search-index/search-index.queries.js';
import { type SingleVersion, VersionLoader } from '../../dist/catalog/version.queries.js';
import { createDataSource } from '../../dist/database/open-database.js';
import { PreparedStatements } from '../../dist/database/statements.js';
import { EntryListQueries } from '../../dist/entries/entry-list.queries.js';
import type { Source } from '../../dist/sources/source.entity.js';
import { toStorable } from '../../dist/validation/storable-text.js';
import { SnapshotCheck, ViewSql } from '../../dist/visibility/freshness.queries.js';
import type { View } from '../../dist/visibility/view.js';
import { ViewsQueries } from '../../dist/visibility/registry-lookup.queries.js';
import { BULK_CLAIM_SETS, BULK_SOURCES, bulkView, fillCatalogue } from '../support/bulk-catalogue.js';
import { aDatabase, type TestDatabase } from '../support/database.js';
import { costOfKeepingPlans, rowsTouched } from '../support/explained.js';
import { OpenAccess } from '../../dist/authz/admin-access.js';
import { Semaphore } from '../../dist/limits/semaphore.js';

const SMALL = 2_000;
const LARGE = 5_000;
const LIMIT = 10;
// Contains md5('1'); the code below also uses md5('2').
const NAME = 'io.acme/c4ca4238a0b923820dcc509a6f75849b';
/** Row budget of a list: per row of the page, per partition or source, and for index candidates. */
const LIST_ROWS = 40 * (LIMIT + 1) + (LIMIT + 1) * 16 + 550 * 2;
const NAME_ROWS = 30;
const NO_CONTENT = { fetchHosts: [], fetchAccounts: [], maxBytesPerVersion: 0, maxBytes: 0 };

type Ask = (dataSource: DataSource) => Promise<unknown>;
interface Case {
  readonly what: string;
  readonly ask: Ask;
  readonly atMost: number;
  /** SQL that drops the index the query depends on. */
  readonly needs?: string;
}

const ALL = bulkView(BULK_CLAIM_SETS);
const EVERYTHING = { ...ALL, seesAll: true } as const;
const FEW = bulkView(2);
const MIDDLE: Position = { name: 'io.acme/8', key: '~' };
const PAST: ListFilter = { updatedSince: '2020-01-01T00:00:00Z', includeDeleted: true };

const sqlOf = (dataSource: DataSource, view: View) => new ViewSql(dataSource, new SnapshotCheck(view));
const servers =
  (view: View, filter: ListFilter, after: Position | null = null): Ask =>
  (dataSource) =>
    readList(sqlOf(dataSource, view), 'server', { filter, limit: LIMIT, after });
const index = (name: string) => `drop index ${name}`;
// The unique constraint also covers the version, so its index could be scanned instead.
const VERSIONS = `${index('entry_version_version')};
  alter table entry_version drop constraint entry_version_entry_id_version_key`;
const NAMES = 'alter table entry drop constraint entry_source_id_type_name_key';

const lists: readonly [string, Ask, string?][] = [
  ['everything, full view', servers(ALL, {}), NAMES],
  ['everything, small view', servers(FEW, {}), index('entry_partition')],
  ['everything, from the middle', servers(ALL, {}, MIDDLE), NAMES],
  ['everything, from the middle, small view', servers(FEW, {}, MIDDLE), index('entry_partition')],
  ['after the last row', servers(ALL, {}, { name: 'io.acme/g', key: '~' })],
  ['latest versions', servers(ALL, { version: 'latest' })],
  ['latest versions, small view', servers(FEW, { version: 'latest' })],
  ['a common version', servers(ALL, { version: '2.0.0' })],
  ['a rare version', servers(ALL, { version: '9.9.9' }), VERSIONS],
  ['an absent version', servers(FEW, { version: '7.7.7' }), VERSIONS],
  ['a common word', servers(ALL, { search: 'server' })],
  ['a common word, from the middle', servers(FEW, { search: 'server' }, MIDDLE)],
  ['a letter', servers(ALL, { search: 'a' })],
  ['recent changes', servers(ALL, { updatedSince: '2026-06-01T00:00:00Z' }), index('entry_version_updated')],
  [
    'entries recently made visible by claims',
    servers(ALL, { updatedSince: '2026-07-01T00:00:00Z' }),
    index('entry_claims_changed'),
  ],
  [
    'changes since a future time',
    servers(FEW, { updatedSince: '2999-01-01T00:00:00Z' }),
    index('entry_version_updated'),
  ],
  ['changes since long ago', servers(ALL, PAST)],
  ['changes since long ago, from the middle', servers(FEW, PAST, MIDDLE)],
  [
    'skills of a rare status',
    (dataSource) =>
      readList(sqlOf(dataSource, ALL), 'skill', {
        filter: { version: 'latest', status: 'archived' },
        limit: LIMIT,
        after: null,
      }),
    index('entry_version_status'),
  ],
  [
    'admin list of entries, from the middle',
    (dataSource) =>
      new EntryListQueries(dataSource, NO_CONTENT).page(
        [1, 2, 3, 4],
        null,
        { name: 'io.acme/8', type: 'server', rank: 1 },
        LIMIT,
      ),
    NAMES,
  ],
];
function versions(view: View): Ask {
  const all = { type: 'server', name: toStorable(NAME), includeDeleted: false } as const;
  return (dataSource) => readVersions(sqlOf(dataSource, view), all);
}
function version(view: View, which: SingleVersion['which'], name = NAME): Ask {
  const read = {
    kind: { type: 'server', which, includeDeleted: false },
    name: toStorable(name),
    version: toStorable('1.0.0'),
  } as const;
  return (dataSource) => new VersionLoader(new Semaphore(4)).load({ sql: sqlOf(dataSource, view), ...read });
}
function together(view: View, which: SingleVersion['which']): Ask {
  const kind = { type: 'server', which, includeDeleted: false } as const;
  return (dataSource) => {
    const loader = new VersionLoader(new Semaphore(4));
    const load = (name: string) =>
      loader.load({
        sql: sqlOf(dataSource, view),
        kind,
        name: toStorable(name),
        version: toStorable('1.0.0'),
      });
    return Promise.all([load(NAME), load('io.acme/x')]);
  };
}
/** A page of a search, from far more names than it has rows. */
function found(view: View): Ask {
  const names = Array.from(
    { length: 40 * LIMIT },
    (_, number) => `io.acme/${createHash('md5').update(String(number)).digest('hex')}`,
  ).sort();
  const request = { filter: { search: 'server' }, limit: LIMIT, after: null };
  return (dataSource) =>
    readByNames(sqlOf(dataSource, view), 'server', request, () => Promise.resolve({ names, isLast: false }));
}
const ofOne: readonly [string, Ask][] = [
  ['a name', versions(ALL)],
  ['the latest of a name', version(ALL, 'latest')],
  ['a version of a name', version(FEW, 'exact')],
  ['the latest of two names', together(ALL, 'latest')],
  ['a version of two names', together(FEW, 'exact')],
  ['a missing name', version(ALL, 'latest', 'io.acme/x')],
];

/** Frequent queries, sent as prepared statements. */
const prepared: readonly [string, Ask][] = [
  ...[ALL, EVERYTHING, FEW].flatMap((view): [string, Ask][] => {
    const who = view.seesAll ? 'a super-admin' : view.tag;
    return [
      [`a list, for ${who}`, servers(view, {})],
      [`the next page, for ${who}`, servers(view, {}, MIDDLE)],
      [`latest versions, for ${who}`, servers(view, { version: 'latest' })],
    ];
  }),
  ...ofOne,
];

const viewsQueries = (dataSource: DataSource) =>
  new ViewsQueries(
    {} as Repository<Source>,
    new PreparedStatements(dataSource),
    new OpenAccess({ adminOpenAccess: false }),
  );

const cases: Case[] = [
  ...lists.map(([what, ask, needs]) => ({ what, ask, atMost: LIST_ROWS, ...(needs ? { needs } : {}) })),
  ...ofOne.map(([what, ask]) => ({ what, ask, atMost: NAME_ROWS })),
  ...[ALL, EVERYTHING].map((view) => ({
    what: `a page of many names, for ${view.seesAll ? 'a super-admin' : view.tag}`,
    ask: found(view),
    atMost: 10 * NAME_ROWS,
  })),
  {
    what: 'the partitions of a registry',
    ask: (dataSource) => viewsQueries(dataSource).partitions([1, 2, 3, 4]),
    // Plus the source rows, which hold the revisions.
    atMost: BULK_SOURCES * ((BULK_CLAIM_SETS + 1) * 2 + 1),
  },
  {
    what: 'what a page of the ranked search shows',
    ask: (dataSource) =>
      readShown(sqlOf(dataSource, ALL), [
        { type: 'server', name: NAME, sourceId: 3, rank: 0, updated: 0 },
        { type: 'server', name: 'io.acme/x', sourceId: 3, rank: 0, updated: 0 },
      ]),
    atMost: 2 * NAME_ROWS,
  },
  {
    what: 'the claims of these partitions',
    ask: (dataSource) =>
      viewsQueries(dataSource).claimsOf(ALL.visible.flatMap(({ claimSetIds }) => claimSetIds)),
    atMost: BULK_SOURCES * BULK_CLAIM_SETS * 2,
  },
];

/** A catalog with `names` names, and a connection to it. */
class Filled {
  database!: TestDatabase;
  runner!: QueryRunner;
  private dataSource!: DataSource;

  constructor(private readonly names: number) {}

  async open(): Promise<void> {
    this.database = await aDatabase();
    await fillCatalogue(this.database, this.names);
    this.dataSource = createDataSource({ ...this.database, poolMax: 2 }, [], () => undefined);
    await this.dataSource.initialize();
    this.runner = this.dataSource.createQueryRunner();
  }

  async close(): Promise<void> {
    await this.runner.release();
    await this.dataSource.destroy();
    await this.database.drop();
  }
}

describe('rows read by a query', () => {
  const small = new Filled(SMALL);
  const large = new Filled(LARGE);
  beforeAll(() => Promise.all([small.open(), large.open()]));
  afterAll(() => Promise.all([small.close(), large.close()]));

  async function dependsOnThePage({ ask, atMost }: Case): Promise<void> {
    const rows = await rowsTouched(large.runner, ask);
    expect(rows).toBeLessThanOrEqual(atMost);
    const fewer = await rowsTouched(small.runner, ask);
    // Slack: with more names, neighbors differ slightly in versions and sources.
    expect(rows).toBeLessThanOrEqual(1.5 * fewer + LIMIT);
  }

  describe('in a freshly filled catalog', () => {
    it.each(cases)('depend on the page size and not on the catalog: $what', dependsOnThePage);
  });

  describe('in a catalog with statistics', () => {
    beforeAll(async () => {
      for (const { database } of [small, large]) await database.query('vacuum analyze entry, entry_version');
    });
    it.each(cases)('depend on the page size and not on the catalog: $what', dependsOnThePage);

    // If a generic plan costs more with size, PostgreSQL would at some point replan each execution.
    it.each(prepared)('come from a generic plan: %s', async (_, ask) => {
      const atFewer = await costOfKeepingPlans(small.runner, ask);
      expect(await costOfKeepingPlans(large.runner, ask)).toBeLessThan(atFewer + 1);
    });

    it.each(cases.filter(({ needs }) => needs !== undefined))(
      'more than double without the index: $what',
      async ({ ask, needs = '' }) => {
        const rows = await rowsTouched(small.runner, ask);
        await small.runner.startTransaction();
        await small.runner.query(needs);
        const without = await rowsTouched(small.runner, ask);
        await small.runner.rollbackTransaction();
        expect(without).toBeGreaterThan(2 * rows);
      },
    );
  });
});
