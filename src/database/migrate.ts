import type { DataSource, QueryRunner } from 'typeorm';

/** Any constant will do as long as it never changes: replicas that start together queue on it. */
const MIGRATION_LOCK = 7_264_018_531;

export interface MigrationStatus {
  readonly name: string;
  readonly applied: boolean;
}

/** Applies what is pending, in one transaction. Safely called by several replicas at once. Returns the names applied. */
export async function migrateUp(dataSource: DataSource): Promise<string[]> {
  return locked(dataSource, async () => {
    const done = await dataSource.runMigrations({ transaction: 'all' });
    return done.map((migration) => migration.name);
  });
}

/** Takes the newest applied migration back. Returns its name, or null when there was none. */
export async function migrateDown(dataSource: DataSource): Promise<string | null> {
  return locked(dataSource, async () => {
    const newest = (await appliedNames(dataSource)).at(-1);
    if (newest === undefined) return null;
    await dataSource.undoLastMigration({ transaction: 'all' });
    return newest;
  });
}

/** Every known migration, oldest first, and whether this database has it. Changes nothing. */
export async function migrationStatus(dataSource: DataSource): Promise<MigrationStatus[]> {
  const applied = new Set(await appliedNames(dataSource));
  return dataSource.migrations.map((migration) => {
    const name = migration.name ?? migration.constructor.name;
    return { name, applied: applied.has(name) };
  });
}

/** Lets a second role, the one the server runs as, use what the migrating role made. */
export async function grantTo(dataSource: DataSource, user: string): Promise<void> {
  const role = `"${user.replaceAll('"', '""')}"`;
  await locked(dataSource, async (runner) => {
    const [row] = (await runner.query(`select quote_ident(current_schema()) as schema`)) as {
      schema: string;
    }[];
    const schema = row?.schema ?? 'public';
    await runner.query(`grant usage on schema ${schema} to ${role}`);
    await runner.query(`grant select, insert, update, delete on all tables in schema ${schema} to ${role}`);
    await runner.query(`grant usage, select on all sequences in schema ${schema} to ${role}`);
  });
}

async function appliedNames(dataSource: DataSource): Promise<string[]> {
  const [table] = await dataSource.query<{ name: string | null }[]>(
    `select to_regclass('schema_migration')::text as name`,
  );
  if (!table?.name) return [];
  const rows = await dataSource.query<{ name: string }[]>(`select name from schema_migration order by id`);
  return rows.map((row) => row.name);
}

// TypeORM takes no lock of its own: two replicas that migrate at once would collide.
async function locked<T>(dataSource: DataSource, work: (runner: QueryRunner) => Promise<T>): Promise<T> {
  const runner = dataSource.createQueryRunner();
  try {
    await runner.query(`set statement_timeout = 0`);
    await runner.query(`select pg_advisory_lock(${MIGRATION_LOCK})`);
    try {
      return await work(runner);
    } finally {
      await runner.query(`select pg_advisory_unlock(${MIGRATION_LOCK})`);
    }
  } finally {
    await runner.query(`reset statement_timeout`).catch(() => undefined);
    await runner.release();
  }
}
