import { setTimeout as sleep } from 'node:timers/promises';
import { type DataSource, MigrationExecutor, type QueryRunner } from 'typeorm';
import { DatabaseStartError, isStatementTimeout } from './database-errors.js';

/** Any constant will do as long as it never changes: replicas that start together queue on it. */
const MIGRATION_LOCK = 7_264_018_531;
/** How often a migration is tried that waits for others who wait for it. */
const ATTEMPTS = 20;
const PAUSE_MS = 500;

export interface MigrationStatus {
  readonly name: string;
  /** `unknown`: applied by a newer version than this one. */
  readonly state: 'applied' | 'pending' | 'unknown';
  /** What is lost when it is taken back; absent: nothing. */
  readonly loses?: string;
}

/** A migration that can't be taken back without losing what only it has made room for. */
export interface LosingMigration {
  /** What goes with it, as an operator calls it. */
  readonly loses: string;
}

/**
 * Applies what is pending, each migration in a transaction of its own: what one has locked does not wait for the locks of the next,
 * against writers of the version before and their readers. Safely called by several replicas at once. Returns the names applied.
 *
 * @throws DatabaseStartError when the database was migrated by a newer version.
 */
export async function migrateUp(dataSource: DataSource): Promise<string[]> {
  const applied: string[] = [];
  for (;;) {
    const name = await patiently(() => inTransaction(dataSource, (runner) => applyNext(dataSource, runner)));
    if (name === null) return applied;
    applied.push(name);
  }
}

async function applyNext(dataSource: DataSource, runner: QueryRunner): Promise<string | null> {
  const unknown = unknownOf(dataSource, await appliedNames(runner));
  if (unknown.length > 0)
    throw new DatabaseStartError(
      `The database has migrations that this version does not know: ${unknown.join(', ')}. A newer version has made them: ` +
        'run that one, or take them back with its "migrate down"',
    );
  const made = executor(dataSource, runner);
  const [next] = await made.getPendingMigrations();
  if (!next) return null;
  try {
    await made.executeMigration(next);
  } catch (error) {
    if (error instanceof Error) error.message = `${next.name}: ${error.message}`;
    throw error;
  }
  return next.name;
}

/** A migration and those at work who wait for each other: it is taken back as a whole, and tried again. */
async function patiently<T>(migrate: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1)
    try {
      return await migrate();
    } catch (error) {
      if (!isStatementTimeout(error) || attempt === ATTEMPTS) throw error;
      await sleep(PAUSE_MS);
    }
}

/**
 * Takes the newest applied migration back. Returns its name, or null when there was none.
 *
 * @throws DatabaseStartError when it is not known here, or when data would be lost that may not be.
 */
export async function migrateDown(dataSource: DataSource, destructive = false): Promise<string | null> {
  return inTransaction(dataSource, async (runner) => {
    const newest = (await appliedNames(runner)).at(-1);
    if (newest === undefined) return null;
    const migration = dataSource.migrations.find((known) => nameOf(known) === newest);
    if (!migration)
      throw new DatabaseStartError(`${newest} was applied by a newer version, which alone can take it back`);
    const { loses } = migration as Partial<LosingMigration>;
    if (loses !== undefined && !destructive)
      throw new DatabaseStartError(
        `${newest} can't be taken back without losing data: ${loses}. --destructive allows it`,
      );
    await executor(dataSource, runner).undoLastMigration();
    return newest;
  });
}

/** Every migration, oldest first, and whether this database has it. Changes nothing. */
export async function migrationStatus(dataSource: DataSource): Promise<MigrationStatus[]> {
  const names = await appliedNames(dataSource);
  const applied = new Set(names);
  return [
    ...dataSource.migrations.map((migration): MigrationStatus => {
      const name = nameOf(migration);
      const { loses } = migration as Partial<LosingMigration>;
      return {
        name,
        state: applied.has(name) ? 'applied' : 'pending',
        ...(loses === undefined ? {} : { loses }),
      };
    }),
    ...unknownOf(dataSource, names).map((name): MigrationStatus => ({ name, state: 'unknown' })),
  ];
}

/** Lets a second role, the one the server runs as, use what the migrating role made. */
export async function grantTo(dataSource: DataSource, user: string): Promise<void> {
  const role = `"${user.replaceAll('"', '""')}"`;
  await inTransaction(dataSource, async (runner) => {
    const [row] = (await runner.query(`select quote_ident(current_schema()) as schema`)) as {
      schema: string;
    }[];
    const schema = row?.schema ?? 'public';
    await runner.query(`grant usage on schema ${schema} to ${role}`);
    await runner.query(`grant select, insert, update, delete on all tables in schema ${schema} to ${role}`);
    await runner.query(`grant usage, select on all sequences in schema ${schema} to ${role}`);
  });
}

function nameOf(migration: { name?: string; constructor: { name: string } }): string {
  return migration.name ?? migration.constructor.name;
}

function unknownOf(dataSource: DataSource, applied: readonly string[]): string[] {
  const known = new Set(dataSource.migrations.map(nameOf));
  return applied.filter((name) => !known.has(name));
}

async function appliedNames(database: { query(sql: string): Promise<unknown> }): Promise<string[]> {
  const [table] = (await database.query(`select to_regclass('schema_migration')::text as name`)) as {
    name: string | null;
  }[];
  if (!table?.name) return [];
  const rows = (await database.query(`select name from schema_migration order by id`)) as { name: string }[];
  return rows.map((row) => row.name);
}

function executor(dataSource: DataSource, runner: QueryRunner): MigrationExecutor {
  const made = new MigrationExecutor(dataSource, runner);
  made.transaction = 'all';
  return made;
}

// TypeORM takes no lock of its own: two replicas that migrate at once would collide. The lock is one of the transaction, and so
// are the settings: behind a pooler, what is left of a session goes to somebody else.
async function inTransaction<T>(
  dataSource: DataSource,
  work: (runner: QueryRunner) => Promise<T>,
): Promise<T> {
  const runner = dataSource.createQueryRunner();
  try {
    await runner.startTransaction();
    try {
      await runner.query(`set local statement_timeout = 0`);
      // Earlier versions take it for their session; the two keep each other out.
      await runner.query(`select pg_advisory_xact_lock(${MIGRATION_LOCK})`);
      const result = await work(runner);
      await runner.commitTransaction();
      return result;
    } catch (error) {
      await runner.rollbackTransaction().catch(() => undefined);
      throw error;
    }
  } finally {
    await runner.release();
  }
}
