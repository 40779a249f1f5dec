import type { EntityManager } from 'typeorm';

/** Held by every change of sources and registries: shared by those of the API, exclusively by a start that applies the file. */
const CATALOGUE_LOCK = 7_264_018_532;
/** A change that waits holds a connection of the pool: after this time it fails, and may be tried again. */
const LOCK_TIMEOUT = '5s';

/**
 * Serializes the changes of one name until the transaction ends: also those that create it, which have no row to lock yet.
 *
 * @param noun what the name is one of: names of sources and of registries are apart.
 */
export async function lockForChange(manager: EntityManager, noun: string, name: string): Promise<void> {
  await manager.query(`set local lock_timeout = '${LOCK_TIMEOUT}'`);
  await manager.query(`select pg_advisory_xact_lock_shared(${CATALOGUE_LOCK})`);
  await manager.query(`select pg_advisory_xact_lock(hashtextextended($1, 0))`, [`${noun}:${name}`]);
}

/**
 * The same for one published entry, in a single statement, since entries are changed far more often than sources.
 *
 * @returns the time from which the lock is held, to the millisecond: of two changes of an entry, the later one has the later
 *   time, which the times their transactions began at do not promise.
 */
export async function lockEntry(manager: EntityManager, type: string, name: string): Promise<Date> {
  const [row] = await manager.query<{ now: Date }[]>(
    `with timeout as materialized (select set_config('lock_timeout', '${LOCK_TIMEOUT}', true)),
       lock as materialized (select pg_advisory_xact_lock(hashtextextended($1, 0)) from timeout)
     select date_trunc('milliseconds', clock_timestamp()) as now from lock`,
    [`${type}:${name}`],
  );
  if (!row) throw new Error('PostgreSQL returned no time');
  return row.now;
}

/** Makes every other change of sources and registries wait until the transaction ends. */
export async function lockCatalogue(manager: EntityManager): Promise<void> {
  await manager.query(`select pg_advisory_xact_lock(${CATALOGUE_LOCK})`);
}
