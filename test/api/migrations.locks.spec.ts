import type { DataSource, MigrationInterface } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { inMigrationTransaction, migrateDown, migrateUp } from '../../dist/database/migrate.js';
import { createDataSource } from '../../dist/database/open-database.js';
import { aDatabase, type TestDatabase } from '../support/database.js';

const patience = { interval: 10 };
/** The last migration of 0.1.0, whose replicas may be running while the rest is applied. */
const LAST_OF_0_1_0 = 'SourcePartitions1795600000000';
/** Statements that take no longer in a large table. */
const INSTANT = [
  /^alter table \w+ (add|drop) column /,
  /^alter table \w+ drop constraint .* not valid$/,
  /^alter index \w+ rename to /,
  /^drop (index|table|trigger|function|domain) /,
  /^create (or replace )?(trigger|function) /,
  /^truncate source_partition$/,
  /^insert into source_partition select source_id, claim_set_id from carried$/,
  /^(insert into|delete from) "schema_migration"/i,
];
/** Tables of 0.1.0. Later ones are empty when they are created, and so when they get their indexes. */
const FILLED = 'claim_set|entry|entry_version|registry|registry_source|source|source_partition|source_sync';
/** Further statements that are brief enough for writers to wait for. */
const BRIEF = [
  /^(lock|create) table /,
  new RegExp(`^create (unique )?index .* on (?!(${FILLED})\\b)`),
  /^alter index \w+ alter column /,
  /^(insert|update|select) .* (limit \d+|v\.id between \d+ and \d+|entry_id > \$1 and entry_id <= \$2)/,
  // Each scans narrow rows: 0.1 s for 200,000 names, less for sources and partitions.
  /^create temporary table carried on commit drop as select distinct source_id, claim_set_id from entry$/,
  /^create index source_partition_claim_set on source_partition /,
  /^create index (entry_partition_next|entry_revision) on entry /,
  /^create index if not exists entry_claims_changed on entry \(claims_changed_at\) where /,
  /^insert into search_partition .* select distinct source_id, type, claim_set_id from entry$/,
  /^insert into entry_summary_fill select min\(id\) from entry /,
  /^update source set revision = revision \+ 1$/,
  /^select \* from "information_schema"/i,
];

/** Databases that share the slow test of all migrations; its time is spent waiting for locks. */
const PARTS = 6;

/** A database with a row of each kind that migrations change, and all migrations. */
class Migrated {
  static async create(): Promise<Migrated> {
    const other = await aDatabase();
    const owner = createDataSource({ ...other.connection, poolMax: 3 }, [], () => undefined);
    await owner.initialize();
    await other.query(`insert into claim_set (claims, digest) values ('{}', '\\x00')`);
    await other.query(
      `insert into source (name, kind, settings, claim_set_id, origin) values ('s', 'managed', '{}', 1, 'api')`,
    );
    await other.query(
      `insert into entry (source_id, type, name, claim_set_id) values (1, 'server', 'io.acme/a', 1)`,
    );
    await other.query(
      `insert into entry_version (entry_id, version, version_key, document, digest, status, status_changed_at, published_at,
         updated_at, search) values (1, 'v1.0.0', '0', '{}', '', 'active', now(), now(), now(), '')`,
    );
    return new Migrated(owner, other, [...owner.migrations]);
  }

  private constructor(
    readonly owner: DataSource,
    /** The connection of another session. */
    readonly other: TestDatabase,
    readonly migrations: readonly MigrationInterface[],
  ) {}

  /** Applies the next migration; false if none is left. */
  async applied(): Promise<boolean> {
    const done = (await this.names()).length;
    this.owner.migrations.splice(0, Infinity, ...this.migrations.slice(0, done + 1));
    return (await migrateUp(this.owner)).length > 0;
  }

  /** Reverts the newest migration; false if it belongs to 0.1.0. */
  async reverted(): Promise<boolean> {
    return (await this.names()).at(-1) !== LAST_OF_0_1_0 && (await migrateDown(this.owner, true)) !== null;
  }

  async names(): Promise<string[]> {
    const rows = await this.owner.query<{ name: string }[]>('select name from schema_migration order by id');
    return rows.map(({ name }) => name);
  }

  async drop(): Promise<void> {
    await this.owner.destroy();
    await this.other.drop();
  }
}

let first: Migrated;

beforeAll(async () => {
  first = await Migrated.create();
});
afterAll(() => first.drop());

describe.each(['applied', 'reverted'] as const)('a migration since 0.1.0 that is %s', (how) => {
  let statements: Statement[];
  beforeAll(async () => {
    while (await first[how === 'applied' ? 'reverted' : 'applied']());
    statements = recordStatements();
    while (await first[how]());
    vi.restoreAllMocks();
  });

  it('does nothing that takes time while others cannot read, and waits for no lock without a timeout', () => {
    const locking = statements.filter(({ unreadable }) => unreadable.length > 0);
    expect(new Set(locking.flatMap(({ unreadable }) => unreadable)).size).toBeGreaterThan(5);
    expect(locking.filter(({ sql }) => !INSTANT.some((instant) => instant.test(sql)))).toEqual([]);
    expect(statements.filter(({ lockTimeout }) => lockTimeout === '0')).toEqual([]);
  });

  // Replicas are stopped while migrations are reverted.
  if (how === 'applied')
    it('does nothing that takes time while others cannot write', () => {
      const locking = statements.filter(({ unwritable }) => unwritable.length > 0);
      expect(new Set(locking.flatMap(({ unwritable }) => unwritable)).size).toBeGreaterThan(5);
      const long = locking.filter(({ sql }) => ![...INSTANT, ...BRIEF].some((brief) => brief.test(sql)));
      expect(long.map(({ sql, unwritable }) => [sql, unwritable])).toEqual([]);
      for (const table of ['entry_version', 'search_text'])
        expect(locking.map(({ sql }) => sql)).toContainEqual(
          expect.stringMatching(new RegExp(`^(update|insert into) ${table}`)),
        );
    });

  it('lets others read while another session keeps every table from it', async () => {
    const oldest = (await first.names()).indexOf(LAST_OF_0_1_0) + 1;
    const length = (first.migrations.length - oldest) / PARTS;
    const startOf = (part: number) => oldest + Math.round(part * length);
    const databases: Migrated[] = [];
    while (databases.length < PARTS) databases.push(await Migrated.create());
    const waits = await Promise.all(
      databases.map((database, part) => {
        const [from, to] = [startOf(part), startOf(part + 1)];
        return how === 'applied'
          ? waitsForDumps(database, how, from, to)
          : waitsForDumps(database, how, to, from);
      }),
    );
    expect(waits.reduce((sum, one) => sum + one)).toBeGreaterThan(10);
    for (const database of databases) await database.drop();
  });
});

/** Migrates until this number of migrations is applied; returns how many of them waited for a dump. */
async function waitsForDumps(
  database: Migrated,
  how: 'applied' | 'reverted',
  from: number,
  to: number,
): Promise<number> {
  while ((await database.names()).length !== from) await database.reverted();
  let waits = 0;
  while ((await database.names()).length !== to) waits += Number(await waitsForADump(database, how));
  return waits;
}

/** Migrates while another session reads as pg_dump does and others can read; true if the migration waits for it. */
async function waitsForADump(database: Migrated, how: 'applied' | 'reverted'): Promise<boolean> {
  const { other, owner } = database;
  const tables = await readLikeADump(other);
  const stepping = database[how]();
  let isDone = false;
  void stepping.finally(() => (isDone = true));
  await expect.poll(async () => isDone || (await waitsForReaders(other)), patience).toBe(true);
  const waits = !isDone;
  // Each fails at the statement timeout if the migration kept waiting.
  for (const table of tables) await owner.query(`select 1 from ${table} limit 1`);
  await other.query('commit');
  await stepping;
  return waits;
}

/** Locks all tables in a transaction with a snapshot, as pg_dump does, and returns their names. */
async function readLikeADump(other: TestDatabase): Promise<string[]> {
  await other.query('begin isolation level repeatable read read only');
  const rows = await other.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'public' order by 1`,
  );
  const names = rows.map(({ name }) => name);
  await other.query(`lock table ${names.join(', ')} in access share mode`);
  return names;
}

async function waitsForReaders(other: TestDatabase): Promise<boolean> {
  const [row] = await other.query<{ waits: boolean }>(
    `select exists (select 1 from pg_locks where not granted and mode = 'AccessExclusiveLock'
       and database = (select oid from pg_database where datname = current_database())) as waits`,
  );
  return row?.waits === true;
}

const KEEP_READERS = ['AccessExclusiveLock'];
const KEEP_WRITERS = ['ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', ...KEEP_READERS];

interface Statement {
  readonly sql: string;
  /** Existing tables that others cannot read after it. */
  readonly unreadable: string[];
  /** Existing tables that others cannot write after it. */
  readonly unwritable: string[];
  readonly lockTimeout: string;
}

/** Records the statements of the migrations that follow. */
function recordStatements(): Statement[] {
  const statements: Statement[] = [];
  const { owner, other } = first;
  const create = owner.createQueryRunner.bind(owner);
  vi.spyOn(owner, 'createQueryRunner').mockImplementation((mode) => {
    const runner = create(mode);
    const query = runner.query.bind(runner) as (...parameters: unknown[]) => Promise<unknown>;
    runner.query = async (sql: string, ...others: unknown[]) => {
      const result = await query(sql, ...others);
      const locked = await lockedTables(other);
      const [unreadable, unwritable] = [KEEP_READERS, KEEP_WRITERS].map((modes) =>
        locked.filter(({ mode }) => modes.includes(mode)).map(({ name }) => name),
      ) as [string[], string[]];
      if (unwritable.length > 0) {
        const [row] = (await query('show lock_timeout')) as { lock_timeout: string }[];
        statements.push({
          sql: sql.replaceAll(/\s+/g, ' ').trim(),
          unreadable,
          unwritable,
          lockTimeout: row?.lock_timeout ?? '',
        });
      }
      return result as never;
    };
    return runner;
  });
  return statements;
}

// A table that an unfinished transaction creates is not visible here.
async function lockedTables(other: TestDatabase): Promise<{ name: string; mode: string }[]> {
  return other.query(
    `select c.relname as name, l.mode from pg_locks l join pg_class c on c.oid = l.relation
     where l.granted and c.relkind = 'r' and l.database = (select oid from pg_database where datname = current_database())`,
  );
}

it('a migration that deadlocks is tried again', async () => {
  let attempts = 0;
  await inMigrationTransaction(first.owner, async (runner) => {
    attempts += 1;
    if (attempts === 1)
      await runner.query(`do $$ begin raise exception 'deadlock' using errcode = '40P01'; end $$`);
    await runner.query('create table attempted ()');
  });
  expect(await first.other.query('select 1 from attempted')).toEqual([]);
  expect(attempts).toBe(2);
});
