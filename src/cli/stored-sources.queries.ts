import type { DataSource } from 'typeorm';
import type { Claims } from '../claims/claims.js';
import type { DatabaseConfig } from '../config/config.js';
import { appliedMigrations } from '../database/migrate.js';
import { createDataSource } from '../database/open-database.js';
import type { EntryType } from '../documents/entry-types.js';

export interface StoredEntry {
  readonly source: string;
  readonly type: EntryType;
  readonly name: string;
  readonly claims: Claims;
  /** The status of the latest version. */
  readonly status: string;
}

export interface StoredSources {
  readonly sources: readonly string[];
  readonly entries: readonly StoredEntry[];
}

/**
 * Reads them without migrating or writing anything.
 *
 * @throws connection errors and PostgreSQL errors, and DatabaseStartError for a database of an earlier build.
 */
export function readStoredSources(connection: DatabaseConfig): Promise<StoredSources> {
  return connected(connection, async (dataSource) => {
    const sources = await dataSource.query<{ name: string }[]>(`select name from source`);
    const entries = await dataSource.query<StoredEntry[]>(
      `select s.name as source, e.type, e.name, c.claims, v.status
       from entry e join source s on s.id = e.source_id join claim_set c on c.id = e.claim_set_id
       join entry_version v on v.entry_id = e.id and v.is_latest
       order by e.type, e.name`,
    );
    return { sources: sources.map(({ name }) => name), entries };
  });
}

/**
 * Connects to the database and returns the version of PostgreSQL as a number, such as 160004.
 *
 * @throws connection errors and PostgreSQL errors, and DatabaseStartError for a database of an earlier build.
 */
export function readServerVersion(connection: DatabaseConfig): Promise<number> {
  return connected(connection, async (dataSource) => {
    const [row] = await dataSource.query<{ server_version_num: string }[]>(`show server_version_num`);
    return Number(row?.server_version_num);
  });
}

async function connected<T>(
  connection: DatabaseConfig,
  read: (dataSource: DataSource) => Promise<T>,
): Promise<T> {
  const dataSource = createDataSource({ ...connection, poolMax: 1 }, [], () => undefined);
  await dataSource.initialize();
  try {
    // Refuses a database of an earlier build.
    await appliedMigrations(dataSource);
    return await read(dataSource);
  } finally {
    await dataSource.destroy();
  }
}
