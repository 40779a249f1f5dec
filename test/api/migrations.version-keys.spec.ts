import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import type { DataSource, MigrationInterface, QueryRunner } from 'typeorm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { inMigrationTransaction } from '../../dist/database/migrate.js';
import { createDataSource } from '../../dist/database/open-database.js';
import { versionKey } from '../../dist/documents/versions.js';
import { VersionKeys1796300000000 as VersionKeys } from '../../dist/migrations/1796300000000-version-keys.js';
import { ChangedClaims1796400000000 as ChangedClaims } from '../../dist/migrations/1796400000000-changed-claims.js';
import { aDatabase, type TestDatabase } from '../support/database.js';
import { applyIn } from '../support/migrations.js';
import { REAL_VERSIONS } from '../support/versions.js';

const BIRTH = Date.parse('2026-01-01T00:00:00Z');
const patience = { interval: 20 };

interface Row {
  readonly entry: number;
  readonly version: string;
  readonly status: string;
  /** Milliseconds since BIRTH. */
  readonly age: number;
}

/** Version keys of the previous version: versions that begin with `v` order by time. */
function previousKey(version: string, at: Date): string {
  return version.startsWith('v')
    ? `0${String(at.getTime()).padStart(16, '0')} ${version}`
    : versionKey(version, at);
}

const identifier = fc.oneof(
  fc.integer({ min: 0, max: 120 }).map(String),
  fc.stringMatching(/^[A-Za-z-][0-9A-Za-z-]{0,3}$/),
  fc.constantFrom('007', '00', '0a', '-', '--1'),
);
const identifiers = fc.array(identifier, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('.'));
const number = fc.oneof(
  fc.integer({ min: 0, max: 12 }).map(String),
  fc.constantFrom('100', '9'.repeat(70), '01'),
);
const aVersion = fc
  .tuple(
    fc.constantFrom('', 'v', 'v', 'V', 'vv'),
    number,
    number,
    number,
    fc.option(identifiers),
    fc.option(identifiers),
  )
  .map(
    ([v, a, b, c, pre, build]) =>
      `${v}${a}.${b}.${c}${pre === null ? '' : `-${pre}`}${build === null ? '' : `+${build}`}`,
  );
const someRows = fc.uniqueArray(
  fc.record({
    entry: fc.integer({ min: 1, max: 60 }),
    version: fc.oneof(aVersion, fc.constantFrom(...REAL_VERSIONS, 'v1', 'v1.2', 'vNext', 'v')),
    status: fc.constantFrom('active', 'active', 'deprecated', 'deleted'),
    age: fc.integer({ min: 0, max: 10_000 }),
  }),
  { minLength: 400, maxLength: 400, selector: ({ entry, version }) => `${entry} ${version}` },
);

describe('the migration that orders versions with a leading v as semver', () => {
  let database: TestDatabase;
  let owner: DataSource;
  beforeAll(async () => {
    database = await aDatabase();
    owner = createDataSource({ ...database.connection, poolMax: 3 }, [], () => undefined);
    await owner.initialize();
    await database.query(`insert into claim_set (claims, digest) values ('{}', '\\x00')`);
    await database.query(
      `insert into source (name, kind, settings, claim_set_id, origin)
       select 's' || n, 'kubernetes', '{}', 1, 'api' from generate_series(1, 2) n`,
    );
    await database.query(
      `insert into entry (source_id, type, name, claim_set_id)
       select 1 + n % 2, 'server', 'io.acme/' || n, 1 from generate_series(1, 60) n`,
    );
  });
  afterAll(async () => {
    await owner.destroy();
    await database.drop();
  });

  const migrate = (
    direction: 'up' | 'down',
    migrations: readonly (new () => MigrationInterface)[] = [VersionKeys],
  ) =>
    inMigrationTransaction(owner, async (runner) => {
      for (const migration of migrations)
        await (direction === 'up' ? applyIn(runner, new migration()) : new migration().down(runner));
    });

  /** Replaces the stored versions with rows as the previous version would have written them. */
  async function store(rows: readonly Row[]): Promise<void> {
    const written = rows.map((row) => {
      const at = new Date(BIRTH + row.age);
      return { ...row, at: at.toISOString(), key: previousKey(row.version, at) };
    });
    await database.query('truncate entry_version cascade');
    await database.query(
      `insert into entry_version (entry_id, version, version_key, document, digest, status, status_changed_at,
         published_at, updated_at, search)
       select r.entry, r.version, r.key, '{}', '', r.status, r.at, r.at, r.at, ''
       from jsonb_to_recordset($1) as r(entry bigint, version text, key text, status text, at timestamptz)`,
      [JSON.stringify(written)],
    );
    await database.query(
      `update entry_version v set is_latest = true where v.id in (
         select distinct on (entry_id) id from entry_version order by entry_id, status = 'deleted', version_key desc)`,
    );
  }

  const stored = () =>
    database.query<{
      version: string;
      at: Date;
      key: string;
      latest: boolean;
      status: string;
      entry: string;
    }>(
      `select version, published_at as at, version_key as key, is_latest as latest, status, entry_id as entry
       from entry_version order by entry_id, version`,
    );

  it("writes this version's keys, recomputes latest, and reverts both", async () => {
    await fc.assert(
      fc.asyncProperty(someRows, async (rows) => {
        await store(rows);
        const before = await stored();
        const revisions = () => database.query(`select revision from source where revision > 0 order by id`);
        const earlier = await revisions();

        await migrate('up');
        const after = await stored();
        for (const { version, at, key } of after)
          expect([version, key]).toEqual([version, versionKey(version, at)]);
        const latest = (entry: string) =>
          after
            .filter((row) => row.entry === entry)
            .sort(
              (one, other) =>
                Number(one.status === 'deleted') - Number(other.status === 'deleted') ||
                Buffer.compare(Buffer.from(other.key), Buffer.from(one.key)),
            )[0]?.version;
        for (const { entry, version, latest: isLatest } of after)
          expect([entry, version, isLatest]).toEqual([entry, version, version === latest(entry)]);
        expect(await revisions()).not.toEqual(earlier);

        await migrate('down');
        expect(await stored()).toEqual(before);
      }),
      { numRuns: 15 },
    );
  });

  it('changes versions of one entry in several batches', async () => {
    const rows = Array.from({ length: 1_200 }, (_, age): Row => {
      const version = age % 3 === 0 ? `${age}.0.0` : `v${age}.0.0`;
      return { entry: 1, version, status: 'active', age };
    });
    await store(rows);
    await migrate('up');
    const after = await stored();
    expect(after.filter(({ version, at, key }) => key !== versionKey(version, at))).toEqual([]);
    expect(after.filter((row) => row.latest).map(({ version }) => version)).toEqual(['v1199.0.0']);
  });

  it("also reverts an upstream's choice of latest", async () => {
    await store([
      { entry: 1, version: '1.0.0', status: 'active', age: 0 },
      { entry: 1, version: 'v2.0.0', status: 'active', age: 1 },
    ]);
    const before = await stored();
    await migrate('up');
    await database.query(`update entry_version set version_key = '2' || version_key`);
    await migrate('down');
    expect(await stored()).toEqual(before);
  });

  describe('while a server of the previous version is writing', () => {
    let writer: QueryRunner;
    beforeEach(async () => {
      await store([
        { entry: 1, version: 'v1.9.0', status: 'active', age: 0 },
        { entry: 1, version: 'v1.8.0', status: 'active', age: 1 },
      ]);
      writer = owner.createQueryRunner();
      await writer.startTransaction();
      // PostgreSQL ends the one that notices a deadlock first.
      await writer.query(`set local deadlock_timeout = '60s'`);
    });
    const isWaiting = async (mode = 'ExclusiveLock') =>
      (
        await database.query(
          `select 1 from pg_locks l join pg_database d on d.oid = l.database
           where d.datname = current_database() and not l.granted and l.mode = $1`,
          [mode],
        )
      ).length > 0;
    const latest = async () => (await stored()).filter((row) => row.latest).map(({ version }) => version);

    it('waits for an uncommitted version and writes its key too', async () => {
      await writer.query(`select id from source where id = 1 for key share`);
      const at = new Date(BIRTH + 2);
      await writer.query(
        `insert into entry_version (entry_id, version, version_key, document, digest, status, status_changed_at,
           published_at, updated_at, search) values (1, 'v1.10.0', $1, '{}', '', 'active', $2, $2, $2, '')`,
        [previousKey('v1.10.0', at), at],
      );
      const migrating = migrate('up');
      await expect.poll(() => isWaiting(), patience).toBe(true);
      await writer.commitTransaction();
      await migrating;
      expect(await latest()).toEqual(['v1.10.0']);
      await writer.release();
    });

    it('does not deadlock with a writer that locks the tables in another order', async () => {
      await writer.query(`update entry_version set status = 'deleted' where version = 'v1.8.0'`);
      const migrating = migrate('up');
      await expect.poll(() => isWaiting(), patience).toBe(true);
      await sleep(50);
      await writer.query(`update source set revision = revision + 1 where id = 1`);
      await writer.commitTransaction();
      await migrating;
      expect(await latest()).toEqual(['v1.9.0']);
      await writer.release();
    });

    it('releases its locks for a writer whose locks the next migration in its transaction waits for', async () => {
      await migrate('down', [ChangedClaims]);
      await writer.query(`select id from entry where id = 1`);
      const migrating = migrate('up', [VersionKeys, ChangedClaims]);
      await expect.poll(() => isWaiting('AccessExclusiveLock'), patience).toBe(true);
      await writer.query(`update source set revision = revision + 1 where id = 1`);
      await writer.commitTransaction();
      await migrating;
      expect(await latest()).toEqual(['v1.9.0']);
      await writer.release();
    });
  });
});
