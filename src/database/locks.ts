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

/** Makes every other change of sources and registries wait until the transaction ends. */
export async function lockCatalogue(manager: EntityManager): Promise<void> {
  await manager.query(`select pg_advisory_xact_lock(${CATALOGUE_LOCK})`);
}
