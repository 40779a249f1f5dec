import fc from 'fast-check';
import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inMigrationTransaction } from '../../dist/database/migrate.js';
import { createDataSource } from '../../dist/database/open-database.js';
import { addSearchKeys, gramsOf } from '../../dist/entries/search-texts.queries.js';
import { SearchTexts1796800000000 as SearchTexts } from '../../dist/migrations/1796800000000-search-texts.js';
import { EntrySummaries1798100000000 as EntrySummaries } from '../../dist/migrations/1798100000000-entry-summaries.js';
import { aDatabase, type TestDatabase } from '../support/database.js';
import { applyIn } from '../support/migrations.js';

const SOURCES = [1, 2];

interface SearchTextRow {
  readonly entry: string;
  readonly content: string;
  readonly grams: string;
  readonly partition: string;
}

const source = fc.constantFrom(...SOURCES);
const claimSet = fc.integer({ min: 1, max: 3 });
const name = fc.constantFrom('a', 'b', 'c', 'd');
const version = fc.constantFrom('1.0.0', '2.0.0');
const search = fc.string({
  unit: fc.constantFrom('a', 'B', ' ', '%', '\\', 'ü', '猫', '😀', '\n', '\u0001'),
  maxLength: 6,
});

/** A change as a server of the previous version makes it, without search texts. */
type Change = readonly [statement: string, values: readonly unknown[]];
const aChange: fc.Arbitrary<Change> = fc.oneof(
  fc.tuple(source, name, claimSet, version, search).map(([s, n, c, v, text]): Change => [
    `with new_entry as (
         insert into entry (source_id, type, name, claim_set_id) values ($1, 'server', $2, $3)
         on conflict do nothing returning id
       )
       insert into entry_version (entry_id, version, version_key, document, digest, status, status_changed_at,
         published_at, updated_at, search)
       select id, $4, $4, '{}', '', 'active', now(), now(), now(), $5 from (
         select id from new_entry union select id from entry where source_id = $1 and name = $2
       ) e on conflict do nothing`,
    [s, n, c, v, text],
  ]),
  fc.tuple(source, version, search).map(([s, v, text]): Change => [
    `update entry_version v set search = $3, updated_at = now() from entry e
       where e.id = v.entry_id and e.source_id = $1 and v.version = $2`,
    [s, v, text],
  ]),
  fc
    .tuple(source, name, claimSet)
    .map(([s, n, c]): Change => [
      `update entry set claim_set_id = $3 where source_id = $1 and name = $2`,
      [s, n, c],
    ]),
  fc
    .tuple(source, claimSet)
    .map(([s, c]): Change => [`update entry set claim_set_id = $2 where source_id = $1`, [s, c]]),
  source.map((s): Change => [
    `update entry set claim_set_id = 1 + claim_set_id % 3 where source_id = $1::int`,
    [s],
  ]),
  fc
    .tuple(source, version)
    .map(([s, v]): Change => [
      `delete from entry_version v using entry e where e.id = v.entry_id and e.source_id = $1 and v.version = $2`,
      [s, v],
    ]),
  fc
    .tuple(source, name)
    .map(([s, n]): Change => [`delete from entry where source_id = $1 and name = $2`, [s, n]]),
);

describe('search texts', () => {
  let database: TestDatabase;
  let owner: DataSource;
  beforeAll(async () => {
    database = await aDatabase();
    owner = createDataSource({ ...database.connection, poolMax: 2 }, [], () => undefined);
    await owner.initialize();
    await database.query(
      `insert into claim_set (claims, digest)
       select jsonb_build_object('n', n::text), decode(lpad(n::text, 64, '0'), 'hex') from generate_series(1, 3) n`,
    );
    for (const id of SOURCES) await addSource(id);
  });
  afterAll(async () => {
    await owner.destroy();
    await database.drop();
  });

  const addSource = (id: number) =>
    database.query(
      `insert into source (id, name, kind, settings, claim_set_id, origin) overriding system value
       values ($1::int, 's' || $1::int, 'kubernetes', '{}', 1, 'api')`,
      [id],
    );
  const migrate = (direction: 'up' | 'down') =>
    inMigrationTransaction(owner, async (runner) => {
      // Its triggers follow the search texts.
      if (direction === 'down') await new EntrySummaries().down(runner);
      if (direction === 'down') await new SearchTexts().down(runner);
      else await applyIn(runner, new SearchTexts());
      if (direction === 'up') await new EntrySummaries().up(runner);
    });
  const written = () =>
    database.query<SearchTextRow>(
      `select t.entry_id as entry, t.content, t.grams,
         p.source_id || ' ' || p.type || ' ' || p.claim_set_id || ' ' || t.type || ' ' || t.name as partition
       from search_text t left join search_partition p on p.id = t.partition_id order by 1, 2`,
    );

  /** Compares the stored search texts with the texts computed from the versions and entries. */
  async function expectAllWritten(): Promise<void> {
    while (await addSearchKeys(owner));
    const rows = await database.query<Omit<SearchTextRow, 'grams'>>(
      `select distinct e.id as entry, v.search collate "C" as content,
         e.source_id || ' ' || e.type || ' ' || e.claim_set_id || ' ' || e.type || ' ' || e.name as partition
       from entry e join entry_version v on v.entry_id = e.id order by 1, 2`,
    );
    const sorted = (grams: string) => grams.split('\u0001').sort().join('\u0001');
    const stored = (await written()).map((row) => ({ ...row, grams: sorted(row.grams) }));
    expect(stored).toEqual(rows.map((row) => ({ ...row, grams: sorted(gramsOf(row.content)) })));
    const partitions = (of: string) =>
      database.query(`select distinct source_id, type, claim_set_id from ${of} order by 1, 2, 3`);
    expect(await partitions('search_partition')).toEqual(await partitions('entry'));
  }

  it('follow every write by a server of the previous version', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(aChange, { minLength: 5, maxLength: 25 }), async (changes) => {
        await database.query('truncate entry, entry_version cascade');
        await database.query('delete from search_partition');
        for (const [statement, values] of changes) await database.query(statement, [...values]);
        await expectAllWritten();
      }),
      { numRuns: 60 },
    );
  });

  it('are built from existing versions by `up` and dropped by `down`', async () => {
    await migrate('down');
    for (const [index, text] of ['first', 'Second 猫', '100%'].entries())
      await database.query(
        `with new_entry as (
           insert into entry (source_id, type, name, claim_set_id) values (1, 'skill', $1, 2) returning id
         )
         insert into entry_version (entry_id, version, version_key, document, digest, status, status_changed_at,
           published_at, updated_at, search)
         select id, n, n, '{}', '', 'active', now(), now(), now(), $2 from new_entry, unnest('{1,2}'::text[]) n`,
        [`kept ${index}`, text],
      );
    await migrate('up');
    await expectAllWritten();
    const before = await written();
    await migrate('down');
    await migrate('up');
    expect(await written()).toEqual(before);
  });

  it('are built in batches, and go on after an interrupted one', async () => {
    await database.query(
      `with new_entry as (
         insert into entry (source_id, type, name, claim_set_id)
         select 1 + n % 2, 'skill', 'many ' || n, 1 + n % 3 from generate_series(1, 700) n returning id
       )
       insert into entry_version (entry_id, version, version_key, document, digest, status, status_changed_at,
         published_at, updated_at, search)
       select id, v, v, '{}', '', 'active', now(), now(), now(), id || ' ' || v from new_entry, unnest('{1,2}'::text[]) v`,
    );
    await migrate('down');
    const first = new SearchTexts();
    const batch = (after: string | null) =>
      inMigrationTransaction(owner, (runner) => first.batch(runner, after));
    expect(await batch(await batch(null))).not.toBeNull();
    // Between batches, writers of the previous version go on, in filled and in unfilled parts.
    await database.query(`update entry set claim_set_id = 1 + claim_set_id % 3 where id % 5 = 0`);
    await database.query(`delete from entry where id % 7 = 0`);
    await database.query(`update entry_version set search = 'changed' where id % 11 = 0`);
    await migrate('up');
    await expectAllWritten();
  });

  it('are not rewritten when all entries of a source change claims', async () => {
    const places = () =>
      database.query(`select ctid::text, partition_id from search_text t order by entry_id, content`);
    await database.query(`update entry set claim_set_id = 1 where source_id = 1`);
    const before = await places();
    await database.query(`update entry set claim_set_id = 3 where source_id = 1`);
    expect(await places()).toEqual(before);
    await expectAllWritten();
  });

  it('are deleted with their source', async () => {
    await database.query('delete from source where id = 1');
    await expectAllWritten();
    expect(await database.query('select 1 from search_text where name like $1', ['kept%'])).toEqual([]);
    await addSource(1);
  });

  it('leave no pending list for searches to scan', async () => {
    await database.query(
      `with new_entry as (
         insert into entry (source_id, type, name, claim_set_id) values (2, 'skill', 'sorted', 2) returning id
       )
       insert into entry_version (entry_id, version, version_key, document, digest, status, status_changed_at,
         published_at, updated_at, search)
       select id, '1', '1', '{}', '', 'active', now(), now(), now(), 'sorted' from new_entry`,
    );
    expect(await database.query(`select gin_clean_pending_list('search_text_keys')::int as pages`)).toEqual([
      { pages: 0 },
    ]);
  });
});
