import type { TestDatabase } from './database.js';

/** Counts the statements that wait for a lock, such as one that the test holds. */
export async function waitingStatements(database: TestDatabase): Promise<number> {
  const [row] = await database.query<{ count: number }>(
    `select count(*)::int as count from pg_locks w
     where not w.granted and w.database = (select oid from pg_database where datname = current_database())`,
  );
  return row?.count ?? 0;
}
