import type { DataSource } from 'typeorm';
import type { Claims } from '../claims/claims.js';
import type { DatabaseConfig } from '../config/config.js';
import { appliedMigrations } from '../database/migrate.js';
import { createDataSource, serverVersion } from '../database/open-database.js';
import type { EntryType } from '../documents/entry-types.js';

interface StoredEntry {
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
    // A source without entries has one row.
    const rows = await dataSource.query<(StoredEntry | { source: string; type: null })[]>(
      `select s.name as source, e.type, e.name, c.claims, v.status
       from source s left join (
         entry e join claim_set c on c.id = e.claim_set_id join entry_version v on v.entry_id = e.id and v.is_latest
       ) on e.source_id = s.id
       order by e.type, e.name`,
    );
    return {
      sources: [...new Set(rows.map(({ source }) => source))],
      entries: rows.filter((row) => row.type !== null),
    };
  });
}

/**
 * Connects to the database and returns its `serverVersion`.
 *
 * @throws connection errors and PostgreSQL errors, and DatabaseStartError for a database of an earlier build.
 */
export function readServerVersion(connection: DatabaseConfig): Promise<number> {
  return connected(connection, serverVersion);
}

async function connected<T>(
  connection: DatabaseConfig,
  read: (dataSource: DataSource) => T | Promise<T>,
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
