import type { Claims } from '../claims/claims.js';
import type { DatabaseConfig } from '../config/config.js';
import { isOneOf } from '../database/columns.js';
import { createDataSource } from '../database/open-database.js';
import type { EntryType } from '../documents/entry-types.js';
import { SHOWN_STATUSES } from '../documents/statuses.js';

/** An entry of the database that is shown to somebody. */
export interface StoredEntry {
  readonly source: string;
  readonly type: EntryType;
  readonly name: string;
  readonly claims: Claims;
}

/** What is in the database, as it is: nothing is migrated or written. */
export interface StoredCatalogue {
  readonly sources: readonly string[];
  readonly entries: readonly StoredEntry[];
}

/** @throws what PostgreSQL or the way there says. */
export async function readStoredCatalogue(connection: DatabaseConfig): Promise<StoredCatalogue> {
  const dataSource = createDataSource({ ...connection, poolMax: 1 }, [], () => undefined);
  await dataSource.initialize();
  try {
    const sources = await dataSource.query<{ name: string }[]>(`select name from source`);
    const entries = await dataSource.query<StoredEntry[]>(
      `select s.name as source, e.type, e.name, c.claims
       from entry e join source s on s.id = e.source_id join claim_set c on c.id = e.claim_set_id
       join entry_version v on v.entry_id = e.id and v.is_latest and ${isOneOf('v.status', SHOWN_STATUSES)}
       order by e.type, e.name`,
    );
    return { sources: sources.map(({ name }) => name), entries };
  } finally {
    await dataSource.destroy();
  }
}
