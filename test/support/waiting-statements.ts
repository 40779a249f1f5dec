import type { TestDatabase } from './database.js';

/**
 * Counts the statements that wait for a lock, such as one that the test holds. Leaves out the writer of search summaries,
 * which reads documents at any time; it holds locks on summaries then.
 */
export async function waitingStatements(database: TestDatabase): Promise<number> {
  const [row] = await database.query<{ count: number }>(
    `select count(*)::int as count from pg_locks w
     where not w.granted and w.database = (select oid from pg_database where datname = current_database())
       and not exists (
         select 1 from pg_locks h where h.pid = w.pid and h.granted and h.relation = 'entry_summary'::regclass
       )`,
  );
  return row?.count ?? 0;
}
