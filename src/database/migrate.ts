import { setTimeout as sleep } from 'node:timers/promises';
import { type DataSource, MigrationExecutor, type QueryRunner } from 'typeorm';
import { migrations } from '#migrations';
import { DatabaseStartError, isLockConflict } from './database-errors.js';

/** An arbitrary lock id. It must never change, because replicas that start together queue on this lock. */
const MIGRATION_LOCK = 7_264_018_531;
/**
 * Both the wait for a lock and the pause grow by this per attempt. Readers queue behind a waiting migration, so waits
 * stay short: long enough for PostgreSQL to cancel an autovacuum, which it does after a second.
 */
const STEP_MS = 300;
const LONGEST_WAIT_MS = 1_200;
const LONGEST_PAUSE_MS = 10_000;
/** Attempts before a wait is logged: five seconds. */
const LOGGED_ATTEMPT = 5;
/** Builds before 1.0 began with another migration; their databases cannot be upgraded. */
const FIRST_MIGRATION = migrations[0]?.name;

type Log = (message: string) => void;
const ignore: Log = () => undefined;

export interface MigrationStatus {
  readonly name: string;
  /** `unknown` means that a newer version of this server applied the migration. */
  readonly state: 'applied' | 'pending' | 'unknown';
  /** Data deleted by reverting this migration; absent if none. */
  readonly loses?: string;
}

/** A migration whose `down` deletes data. */
interface LosingMigration {
  /** Describes the deleted data to the operator. */
  readonly loses: string;
}

/**
 * Applies pending migrations and returns their names. Each runs in a separate transaction: waiting for a lock while
 * holding an earlier migration's locks could deadlock with a replica that still runs the previous version. Safe to call
 * from several replicas concurrently.
 *
 * @param log receives a line when a migration waits for other sessions.
 * @throws DatabaseStartError when the database was migrated by an earlier build or a newer version.
 */
export async function migrateUp(dataSource: DataSource, log: Log = ignore): Promise<string[]> {
  const applied: string[] = [];
  for (;;) {
    const name = await inMigrationTransaction(dataSource, (runner) => applyNext(dataSource, runner), log);
    if (name === null) return applied;
    applied.push(name);
  }
}

async function applyNext(dataSource: DataSource, runner: QueryRunner): Promise<string | null> {
  const applied = await appliedMigrations(runner);
  const unknown = unknownOf(dataSource, applied);
  if (unknown.length > 0)
    throw new DatabaseStartError(
      `The database has migrations that this version does not know: ${unknown.join(', ')}. ` +
        'Run the newer version that applied them, or revert them with its "migrate down"',
    );
  // Most starts end here. TypeORM would look for its table in the information schema, which is slow.
  if (dataSource.migrations.every((migration) => applied.includes(nameOf(migration)))) return null;
  const made = executor(dataSource, runner);
  const [next] = await made.getPendingMigrations();
  if (!next) return null;
  await naming(next.name, made.executeMigration(next));
  return next.name;
}

async function naming<T>(migration: string, running: T): Promise<Awaited<T>> {
  try {
    return await running;
  } catch (error) {
    if (error instanceof Error) error.message = `${migration}: ${error.message}`;
    throw error;
  }
}

/**
 * Reverts the newest applied migration. Returns its name, or null if none was applied.
 *
 * @param log receives a line when the migration waits for other sessions.
 * @throws DatabaseStartError when the migration belongs to a newer version, or would delete data and `destructive` is
 *   false.
 */
export async function migrateDown(
  dataSource: DataSource,
  destructive = false,
  log: Log = ignore,
): Promise<string | null> {
  const revertNewest = async (runner: QueryRunner) => {
    const newest = (await appliedMigrations(runner)).at(-1);
    if (newest === undefined) return null;
    const migration = dataSource.migrations.find((known) => nameOf(known) === newest);
    if (!migration)
      throw new DatabaseStartError(`${newest} was applied by a newer version: revert it with that version`);
    const { loses } = migration as Partial<LosingMigration>;
    if (loses !== undefined && !destructive)
      throw new DatabaseStartError(
        `Reverting ${newest} deletes data: ${loses}. Use --destructive to allow it`,
      );
    await naming(newest, executor(dataSource, runner).undoLastMigration());
    return newest;
  };
  return inMigrationTransaction(dataSource, revertNewest, log);
}

export async function migrationStatus(dataSource: DataSource): Promise<MigrationStatus[]> {
  const names = await appliedMigrations(dataSource);
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

/** Grants the role of the running server access to the migration role's tables. */
export async function grantTo(dataSource: DataSource, user: string): Promise<void> {
  const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
  const role = quoted(user);
  await inMigrationTransaction(dataSource, async (runner) => {
    const schema = quoted((await runner.getCurrentSchema()) ?? 'public');
    await runner.query(`
      grant usage on schema ${schema} to ${role};
      grant select, insert, update, delete on all tables in schema ${schema} to ${role};
      grant usage, select on all sequences in schema ${schema} to ${role}`);
  });
}

function nameOf(migration: { name?: string; constructor: { name: string } }): string {
  return migration.name ?? migration.constructor.name;
}

function unknownOf(dataSource: DataSource, applied: readonly string[]): string[] {
  const known = new Set(dataSource.migrations.map(nameOf));
  return applied.filter((name) => !known.has(name));
}

/**
 * Returns the names of the migrations that were applied, oldest first.
 *
 * @throws DatabaseStartError when an earlier build applied them.
 */
export async function appliedMigrations(database: {
  query(sql: string): Promise<unknown>;
}): Promise<string[]> {
  const [table] = (await database.query(`select to_regclass('schema_migration')::text as name`)) as {
    name: string | null;
  }[];
  if (!table?.name) return [];
  const rows = (await database.query(`select name from schema_migration order by id`)) as { name: string }[];
  const names = rows.map((row) => row.name);
  if (names.length > 0 && names[0] !== FIRST_MIGRATION)
    throw new DatabaseStartError(
      'The database was written by an earlier build, and this version cannot upgrade it: publish its entries again into a new ' +
        'database (docs/upgrading.md), or run that build',
    );
  return names;
}

function executor(dataSource: DataSource, runner: QueryRunner): MigrationExecutor {
  const made = new MigrationExecutor(dataSource, runner);
  made.transaction = 'all';
  return made;
}

/**
 * Runs `work` in a transaction that no other replica's overlaps. Retries it for as long as another session holds a lock
 * that it needs.
 *
 * TypeORM does not lock, so concurrent migrations by two replicas would collide. The lock and the settings are bound to
 * the transaction, because a pooler reuses sessions for other clients.
 */
export async function inMigrationTransaction<T>(
  dataSource: DataSource,
  work: (runner: QueryRunner) => Promise<T>,
  log: Log = ignore,
): Promise<T> {
  const runner = dataSource.createQueryRunner();
  try {
    await runner.startTransaction();
    try {
      await runner.query(`
        set local statement_timeout = 0;
        set local lock_timeout = 0;
        set local idle_in_transaction_session_timeout = 0;
        select pg_advisory_xact_lock(${MIGRATION_LOCK})`);
      const result = await retryingLocks(runner, () => work(runner), log);
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

/** Retries within the transaction: other replicas wait for it, instead of taking turns at blocking readers. */
async function retryingLocks<T>(runner: QueryRunner, work: () => Promise<T>, log: Log): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    // A nested transaction, which is a savepoint.
    await runner.startTransaction();
    try {
      await runner.query(`set local lock_timeout = ${Math.min(attempt * STEP_MS, LONGEST_WAIT_MS)}`);
      const result = await work();
      await runner.commitTransaction();
      return result;
    } catch (error) {
      await runner.rollbackTransaction().catch(() => undefined);
      if (!isLockConflict(error)) throw error;
      if (attempt === LOGGED_ATTEMPT)
        log(`A migration waits until other sessions release their locks (${(error as Error).message})`);
      await sleep(Math.min(attempt * STEP_MS, LONGEST_PAUSE_MS));
    }
  }
}
