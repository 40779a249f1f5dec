import type { DataSource, QueryRunner } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readList } from '../../dist/catalog/pages/list-reader.js';
import type { ListFilter, Position } from '../../dist/catalog/pages/list-request.js';
import { readVersions } from '../../dist/catalog/pages/page-reader.js';
import { SnapshotCheck } from '../../dist/catalog/pages/snapshot-check.js';
import {
  type NamedVersions,
  type SingleVersions,
  singleVersions,
} from '../../dist/catalog/pages/versions/version.queries.js';
import { ViewSql } from '../../dist/catalog/pages/view-sql.queries.js';
import { createDataSource } from '../../dist/database/open-database.js';
import { PreparedStatements } from '../../dist/database/statements.js';
import { EntryListQueries } from '../../dist/entries/list/entry-list.queries.js';
import { ViewsQueries } from '../../dist/views/views.queries.js';
import { BULK_CLAIM_SETS, BULK_SOURCES, bulkView, fillCatalogue } from '../support/bulk-catalogue.js';
import { aDatabase, type TestDatabase } from '../support/database.js';
import { costOfKeepingPlans, rowsTouched } from '../support/explained.js';

const SMALL = 2_000;
const LARGE = 5_000;
const LIMIT = 10;
// The name of the number 1, as md5 has it; below, also that of 2.
const NAME = 'io.acme/c4ca4238a0b923820dcc509a6f75849b';
/** Of a list: so many for each row of the page, each partition or source, and for the candidates of an index. */
const LIST_ROWS = 40 * (LIMIT + 1) + (LIMIT + 1) * 16 + 550 * 2;
const NAME_ROWS = 30;
/** The greatest id of a claim set. */
const NONE_IS_NEWER = 2 ** 31 - 1;

type Ask = (dataSource: DataSource) => Promise<unknown>;
interface Case {
  readonly what: string;
  readonly ask: Ask;
  readonly atMost: number;
  /** What it can't be fast without, as SQL that takes it away. */
  readonly needs?: string;
}

const ALL = bulkView(BULK_CLAIM_SETS);
const EVERYTHING = { ...ALL, seesAll: true, visible: [] };
const FEW = bulkView(2);
const MIDDLE: Position = { name: 'io.acme/8', key: '~' };
const PAST: ListFilter = { updatedSince: '2020-01-01T00:00:00Z', includeDeleted: true };

const sqlOf = (dataSource: DataSource, view: typeof ALL) => new ViewSql(dataSource, new SnapshotCheck(view));
const servers =
  (view: typeof ALL, filter: ListFilter, after: Position | null = null): Ask =>
  (dataSource) =>
    readList(sqlOf(dataSource, view), 'server', { filter, limit: LIMIT, after });
const index = (name: string) => `drop index ${name}`;
// The other one also holds the version, next to the entry, and can be read whole.
const VERSIONS = `${index('entry_version_version')};
  alter table entry_version drop constraint entry_version_entry_id_version_key`;
const NAMES = 'alter table entry drop constraint entry_source_id_type_name_key';

const lists: readonly [string, Ask, string?][] = [
  ['everything, for all', servers(ALL, {}), NAMES],
  ['everything, for few', servers(FEW, {}), index('entry_partition')],
  ['everything, from the middle on', servers(ALL, {}, MIDDLE), NAMES],
  ['everything, from the middle on, for few', servers(FEW, {}, MIDDLE), index('entry_partition')],
  ['what comes after the last', servers(ALL, {}, { name: 'io.acme/g', key: '~' })],
  ['latest versions', servers(ALL, { version: 'latest' })],
  ['latest versions, for few', servers(FEW, { version: 'latest' })],
  ['a common version', servers(ALL, { version: '2.0.0' })],
  ['a rare version', servers(ALL, { version: '9.9.9' }), VERSIONS],
  ['an absent version', servers(FEW, { version: '7.7.7' }), VERSIONS],
  ['a common word', servers(ALL, { search: 'server' })],
  ['a common word, from the middle on', servers(FEW, { search: 'server' }, MIDDLE)],
  ['a rare word', servers(ALL, { search: 'xylophone' }), index('search_text_keys')],
  ['a rare word, for few', servers(FEW, { search: 'xylophone' }), index('search_text_keys')],
  ['a rare word among latest', servers(ALL, { search: 'xylophone', version: 'latest' })],
  ['an absent word', servers(ALL, { search: 'qqqq' }), index('search_text_keys')],
  ['a letter', servers(ALL, { search: 'a' })],
  ['an absent letter', servers(ALL, { search: '%' }), index('search_text_keys')],
  ['two absent letters, of those there are', servers(ALL, { search: 'xs' }), index('search_text_keys')],
  [
    'a word that is common in what is hidden',
    servers(FEW, { search: 'clandestine' }),
    index('search_text_keys'),
  ],
  [
    'what changed lately',
    servers(ALL, { updatedSince: '2026-06-01T00:00:00Z' }),
    index('entry_version_updated'),
  ],
  [
    'what other claims have made visible lately',
    servers(ALL, { updatedSince: '2026-07-01T00:00:00Z' }),
    index('entry_claims_changed'),
  ],
  [
    'what will change',
    servers(FEW, { updatedSince: '2999-01-01T00:00:00Z' }),
    index('entry_version_updated'),
  ],
  ['what changed since long ago', servers(ALL, PAST)],
  ['what changed since long ago, from the middle on', servers(FEW, PAST, MIDDLE)],
  ['a rare word since long ago', servers(ALL, { ...PAST, search: 'xylophone' })],
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
    'entries for managers from the middle on',
    (dataSource) =>
      new EntryListQueries(dataSource).page(
        [1, 2, 3, 4],
        null,
        { name: 'io.acme/8', type: 'server', rank: 1 },
        LIMIT,
      ),
    NAMES,
  ],
];
function versions(view: typeof ALL, asked: Pick<NamedVersions, 'which'> & Partial<NamedVersions>): Ask {
  const one = { type: 'server', name: NAME, includeDeleted: false, ...asked } as const;
  return (dataSource) => readVersions(sqlOf(dataSource, view), one);
}
function ofNames(view: typeof ALL, which: SingleVersions['which']): Ask {
  const names = [NAME, 'io.acme/c81e728d9d4c2f636f067f89cc14862c', 'io.acme/x'].map((name) => ({
    name,
    version: '1.0.0',
  }));
  return (dataSource) =>
    singleVersions(sqlOf(dataSource, view), { type: 'server', which, includeDeleted: false }, names);
}
const ofSeveral: readonly [string, Ask][] = [
  ['the latest of several names', ofNames(ALL, 'latest')],
  ['versions of several names', ofNames(FEW, 'exact')],
];
const ofOne: readonly [string, Ask][] = [
  ['a name', versions(ALL, { which: 'all' })],
  ['the latest of a name', versions(ALL, { which: 'latest' })],
  ['a version of a name', versions(FEW, { which: 'exact', version: '1.0.0' })],
  ['a name that is not there', versions(ALL, { which: 'latest', name: 'io.acme/x' })],
];

/** What is asked again and again, in prepared statements. */
const prepared: readonly [string, Ask][] = [
  ...[ALL, EVERYTHING, FEW].flatMap((view): [string, Ask][] => {
    const who = view.seesAll ? 'whoever sees all' : view.tag;
    return [
      [`a list, for ${who}`, servers(view, {})],
      [`the next page, for ${who}`, servers(view, {}, MIDDLE)],
      [`latest versions, for ${who}`, servers(view, { version: 'latest' })],
    ];
  }),
  ...ofOne,
  ...ofSeveral,
];

const cases: Case[] = [
  ...lists.map(([what, ask, needs]) => ({ what, ask, atMost: LIST_ROWS, ...(needs ? { needs } : {}) })),
  ...ofOne.map(([what, ask]) => ({ what, ask, atMost: NAME_ROWS })),
  ...ofSeveral.map(([what, ask]) => ({ what, ask, atMost: 3 * NAME_ROWS })),
  {
    what: 'the partitions of a registry',
    ask: (dataSource) =>
      new ViewsQueries(dataSource, new PreparedStatements(dataSource)).partitions(
        [1, 2, 3, 4],
        NONE_IS_NEWER,
      ),
    // And the sources, which have the revisions.
    atMost: BULK_SOURCES * ((BULK_CLAIM_SETS + 1) * 2 + 1),
  },
  {
    what: 'the claims of these partitions',
    ask: (dataSource) =>
      new ViewsQueries(dataSource, new PreparedStatements(dataSource)).claimsOf(
        ALL.visible.flatMap(({ claimSetIds }) => claimSetIds),
      ),
    atMost: BULK_SOURCES * BULK_CLAIM_SETS * 2,
  },
];

/** A catalogue of so many names, and a connection to it. */
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

describe('what a query reads', () => {
  const small = new Filled(SMALL);
  const large = new Filled(LARGE);
  beforeAll(() => Promise.all([small.open(), large.open()]));
  afterAll(() => Promise.all([small.close(), large.close()]));

  async function dependsOnThePage({ ask, atMost }: Case): Promise<void> {
    const rows = await rowsTouched(large.runner, ask);
    expect(rows).toBeLessThanOrEqual(atMost);
    const fewer = await rowsTouched(small.runner, ask);
    // More names make neighbours differ a little in their versions and sources.
    expect(rows).toBeLessThanOrEqual(1.5 * fewer + LIMIT);
  }

  describe('of a catalogue that was just filled', () => {
    it.each(cases)('depends on the page and not on the catalogue: $what', dependsOnThePage);
  });

  describe('of a catalogue PostgreSQL has statistics of', () => {
    beforeAll(async () => {
      for (const { database } of [small, large])
        await database.query('vacuum analyze entry, entry_version, search_text, search_partition');
    });
    it.each(cases)('depends on the page and not on the catalogue: $what', dependsOnThePage);

    // What a plan for any values costs more than one for these must not grow: at some size it would be made anew each time.
    it.each(prepared)('is planned once for all values: %s', async (_, ask) => {
      const atFewer = await costOfKeepingPlans(small.runner, ask);
      expect(await costOfKeepingPlans(large.runner, ask)).toBeLessThan(atFewer + 1);
    });

    it.each(cases.filter(({ needs }) => needs !== undefined))(
      'takes reading far more without its index: $what',
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
