import fc from 'fast-check';
import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { indexScansFor } from '../../dist/catalog/index-scan.queries.js';
import { NameWalk, readByIndex, readByNames, readList } from '../../dist/catalog/list-strategies.js';
import {
  isSearch,
  type ListFilter,
  type ListRequest,
  type Position,
} from '../../dist/catalog/list-request.js';
import type { FoundVersion } from '../../dist/catalog/page-body.js';
import { SearchIndex } from '../../dist/catalog/search-index/search-index.service.js';
import { createDataSource } from '../../dist/database/open-database.js';
import { DATABASE_EPOCH, SnapshotCheck, ViewSql } from '../../dist/visibility/freshness.queries.js';
import { type VisibleSource, visibleSource } from '../../dist/visibility/view.js';
import { aDatabase, type TestDatabase } from '../support/database.js';
import { inSoak } from '../support/soak.js';

const STATES = inSoak(400, 25);
const SOURCES = 3;
const CLAIM_SETS = 3;

interface Version {
  readonly version: string;
  readonly status: string;
  readonly word: string;
  readonly day: number;
}
interface Entry {
  readonly source: number;
  readonly claimSet: number;
  readonly name: string;
  /** Day on which claims last changed. */
  readonly relabeled: number | null;
  readonly versions: readonly Version[];
}
interface Question {
  readonly entries: readonly Entry[];
  readonly seen: readonly (readonly [number, number])[];
  readonly filter: ListFilter;
  readonly limit: number;
}

const anEntry = fc.record({
  source: fc.integer({ min: 1, max: SOURCES }),
  claimSet: fc.integer({ min: 1, max: CLAIM_SETS }),
  name: fc.constantFrom(...'abcdefgh'),
  relabeled: fc.option(fc.integer({ min: 1, max: 5 })),
  versions: fc.uniqueArray(
    fc.record({
      version: fc.constantFrom('1.0.0', '2.0.0', '3.0.0'),
      status: fc.constantFrom('active', 'active', 'deprecated', 'deleted', 'archived'),
      word: fc.constantFrom('apple', 'pear', 'ap'),
      day: fc.integer({ min: 1, max: 5 }),
    }),
    { minLength: 1, maxLength: 3, selector: ({ version }) => version },
  ),
});

const aQuestion: fc.Arbitrary<Question> = fc.record({
  entries: fc.uniqueArray(anEntry, { maxLength: 16, selector: ({ source, name }) => `${source}${name}` }),
  // Claim sets are visible in all sources or in none.
  seen: fc
    .subarray([1, 2, 3], { minLength: 1 })
    .map((sets) => [1, 2, 3].flatMap((source) => sets.map((set) => [source, set] as const))),
  filter: fc.record(
    {
      search: fc.constantFrom('apple', 'pear', 'p', 'ea', 'none', '%', 'q'),
      updatedSince: fc.constantFrom(day(1), day(3), day(9)),
      version: fc.constantFrom('latest', '2.0.0', '9.9.9'),
      includeDeleted: fc.constant(true as const),
      status: fc.constantFrom('active', 'archived'),
    },
    { requiredKeys: [] },
  ),
  limit: fc.integer({ min: 1, max: 4 }),
});

function day(of: number): string {
  return `2026-01-0${of}T00:00:00.000Z`;
}

function isLatest({ versions }: Entry, { version }: Version): boolean {
  const sorted = [...versions].sort((one, other) => (one.version < other.version ? 1 : -1));
  const latest = sorted.find(({ status }) => status !== 'deleted') ?? sorted[0];
  return latest?.version === version;
}

/** Groups pairs of source and claim set into a view. */
function visibleOf(seen: Question['seen']): VisibleSource[] {
  const sources = [...new Set(seen.map(([source]) => source))];
  return sources.map((id) =>
    visibleSource(
      id,
      seen.filter(([source]) => source === id).map(([, claimSet]) => claimSet),
    ),
  );
}

/** Reference implementation of a list (reference/catalog). */
function expected({ entries, seen, filter }: Question): string[] {
  const visible = entries.filter(({ source, claimSet }) =>
    seen.some(([s, c]) => s === source && c === claimSet),
  );
  const unshadowed = visible.filter(
    ({ name, source }) => !visible.some((other) => other.name === name && other.source < source),
  );
  return unshadowed
    .flatMap((entry) =>
      entry.versions
        .filter(
          (version) =>
            (filter.includeDeleted || version.status !== 'deleted') &&
            (filter.version === undefined ||
              (filter.version === 'latest'
                ? isLatest(entry, version)
                : version.version === filter.version)) &&
            (filter.status === undefined || version.status === filter.status) &&
            (filter.updatedSince === undefined ||
              day(Math.max(version.day, entry.relabeled ?? 0)) >= filter.updatedSince) &&
            (filter.search === undefined || `${entry.name} ${version.word}`.includes(filter.search)),
        )
        .map(({ version }) => ({ name: entry.name, version })),
    )
    .sort((one, other) => compare(one.name, other.name) || compare(other.version, one.version))
    .map(({ name, version }) => `${name} ${version}`);
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

describe('query strategies of a list', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  beforeAll(async () => {
    database = await aDatabase();
    dataSource = createDataSource({ ...database, poolMax: 1 }, [], () => undefined);
    await dataSource.initialize();
    await database.query(
      `insert into claim_set (claims, digest)
       select jsonb_build_object('n', n::text), decode(lpad(n::text, 64, '0'), 'hex') from generate_series(1, 3) n`,
    );
    await database.query(
      `insert into source (name, kind, settings, claim_set_id, origin)
       select 's' || n, 'kubernetes', '{}', 1, 'api' from generate_series(1, 3) n`,
    );
  });
  afterAll(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  async function store(entries: readonly Entry[]): Promise<void> {
    await database.query('truncate entry, entry_version cascade');
    const rows = entries.flatMap((entry) =>
      entry.versions.map((version) => ({
        ...entry,
        ...version,
        day: day(version.day),
        relabeled: entry.relabeled === null ? null : day(entry.relabeled),
        latest: isLatest(entry, version),
      })),
    );
    await database.query(
      `with rows as (select * from jsonb_to_recordset($1) as r(source int, "claimSet" int, name text, version text,
         status text, word text, day timestamptz, latest boolean, relabeled timestamptz)),
       entries as (
         insert into entry (source_id, type, name, claim_set_id, claims_changed_at)
         select distinct source, 'server', name, "claimSet", relabeled from rows returning id, source_id, name
       )
       insert into entry_version (entry_id, version, version_key, document, digest, status, status_changed_at,
         published_at, updated_at, is_latest, search)
       select e.id, r.version, r.version, '{}', '', r.status, r.day, r.day, r.day, r.latest, r.name || ' ' || r.word
       from rows r join entries e on e.source_id = r.source and e.name = r.name`,
      [JSON.stringify(rows)],
    );
  }

  it('all return the same pages', async () => {
    const check = async (question: Question) => {
      const { entries, seen, filter, limit } = question;
      await store(entries);
      const snapshot = new SnapshotCheck({
        seesAll: false,
        visible: visibleOf(seen),
        tag: '',
        sourceIds: [1, 2, 3],
        revisions: '',
      });
      const sql = new ViewSql(dataSource, snapshot);
      const walked = (bySource: boolean) => async (request: ListRequest) => {
        const walk = new NameWalk(sql, 'server', request, bySource);
        // Minimal steps, so that most pages need several.
        while (!walk.isDone) await walk.advance(2);
        return walk.found;
      };
      const scanned = indexScansFor(filter).map((scan) => async (request: ListRequest) => {
        const rows = await readByIndex(sql, scan, 'server', request, 1_000);
        if (!rows) throw new Error('There are not that many versions');
        return rows;
      });
      const context = {
        callerKey: '',
        deadline: performance.now() + 60_000,
        signal: new AbortController().signal,
      };
      const hasIndex = filter.search !== undefined && !isSearch({ ...filter, search: undefined });
      const [row] = await database.query<{ epoch: string }>(`select ${DATABASE_EPOCH} as epoch`);
      const view = { ...sql.view, revisions: `${row?.epoch}|{1,2,3}|{0,0,0}` };
      const limits = { searchIndexBytes: 1e9 } as ConstructorParameters<typeof SearchIndex>[1];
      const index = new SearchIndex(dataSource, limits, { synonyms: [] });
      // A list does not wait until the index is read.
      await index.search(view, { filter: {}, sort: 'name', limit: 1, after: null }, context);
      const named = async (request: ListRequest) => {
        const rows = await readByNames(sql, 'server', request, (part) => index.list(view, part, context));
        if (!rows) throw new Error('The index has not been read');
        return rows;
      };
      const chosen = (request: ListRequest) => readList(sql, 'server', request);
      const strategies = [walked(true), walked(false), ...scanned, ...(hasIndex ? [named] : []), chosen];
      // Uses each strategy on its own, then a different one for every page.
      for (let start = 0; start <= strategies.length; start += 1) {
        const shown: string[] = [];
        let after: Position | null = null;
        for (let page = 0; ; page += 1) {
          const strategy = strategies[start < strategies.length ? start : page % strategies.length];
          const rows: FoundVersion[] = (await strategy?.({ filter, limit, after })) ?? [];
          const here = rows.slice(0, limit);
          shown.push(...here.map(({ name, version }) => `${name} ${version}`));
          const last: FoundVersion | undefined = here.at(-1);
          if (!last || rows.length <= limit) break;
          after = { name: last.name, key: last.key };
        }
        expect(shown).toEqual(expected(question));
      }
      index.onApplicationShutdown();
    };
    await fc.assert(fc.asyncProperty(aQuestion, check), { numRuns: STATES });
  });
});
