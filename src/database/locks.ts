import type { EntityManager } from 'typeorm';

/** Locked by every change of sources and registries: shared by API requests, exclusive while the configuration file is applied. */
const CATALOGUE_LOCK = 7_264_018_532;
/** A waiting change occupies a pool connection, so it fails after this time; the client may retry. */
const LOCK_TIMEOUT = '5s';

/**
 * Serializes changes of one name until the transaction ends. An advisory lock also covers creation, when there is no row yet.
 *
 * @param noun namespace of the name, such as `source` or `registry`.
 */
export async function lockForChange(manager: EntityManager, noun: string, name: string): Promise<void> {
  await manager.query(`set local lock_timeout = '${LOCK_TIMEOUT}'`);
  await manager.query(`select pg_advisory_xact_lock_shared(${CATALOGUE_LOCK})`);
  await manager.query(`select pg_advisory_xact_lock(hashtextextended($1, 0))`, [`${noun}:${name}`]);
}

/**
 * The same for one published entry, in a single statement because entries change far more often than sources.
 *
 * @returns the time at which the lock was acquired, in milliseconds. Unlike transaction start times, these increase with
 *   every change of an entry.
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

/** Blocks all other changes of sources and registries until the transaction ends. */
export async function lockCatalogue(manager: EntityManager): Promise<void> {
  await manager.query(`select pg_advisory_xact_lock(${CATALOGUE_LOCK})`);
}
