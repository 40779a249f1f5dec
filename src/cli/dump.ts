import type { DataSource } from 'typeorm';
import { ENTITIES } from '../app/entities.js';
import { parseDatabaseUrl } from '../config/database-settings.js';
import { DatabaseStartError } from '../database/database-errors.js';
import { migrationStatus } from '../database/migrate.js';
import { type DatabaseOptions, type OpenDatabase, openDatabase } from '../database/open-database.js';
import { configuration } from './check.js';
import { copyDatabase } from './copy-database.queries.js';

/** Copies the database to another PostgreSQL server. Returns exit code 0, or 1 with the reason on standard error. */
export async function dump(file: string, url: string): Promise<number> {
  const loaded = configuration(file, {});
  if (!loaded) return 1;
  const target = parseDatabaseUrl(url);
  if (typeof target === 'string') {
    process.stderr.write(`dump: --to ${target}\n`);
    return 1;
  }
  const { database, dataDirectory } = loaded.config;
  const opened: OpenDatabase[] = [];
  const open = async (connection: DatabaseOptions['connection'], onlyReads = false) => {
    const log = (message: string) => process.stderr.write(`${message}\n`);
    const one = await openDatabase({ connection, dataDirectory, onlyReads }, ENTITIES, log);
    opened.push(one);
    return one;
  };
  try {
    const { dataSource: from } = await open(database, true);
    await checkMigrated(from);
    const { dataSource: to, migrate } = await open({ ...target, poolMax: 2 });
    await migrate();
    const tables = ENTITIES.map((entity) => from.getMetadata(entity).tableName);
    for (const { table, rows } of await copyDatabase(from, to, tables))
      process.stdout.write(`${table}: ${rows} row(s)\n`);
    return 0;
  } catch (error) {
    process.stderr.write(`dump: ${error instanceof Error ? error.message : 'failed'}\n`);
    return 1;
  } finally {
    for (const one of opened) await one.close();
  }
}

// The source database is not migrated: another version may be using it.
async function checkMigrated(from: DataSource): Promise<void> {
  const pending = (await migrationStatus(from)).find(({ state }) => state !== 'applied');
  if (pending)
    throw new DatabaseStartError(
      `Migration ${pending.name} is ${pending.state} in the source database; nothing was copied. Use the version that serves it, ` +
        'or run "migrate up" first',
    );
}
