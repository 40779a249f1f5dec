import type { EntityManager } from 'typeorm';

/** Held by every change of sources and registries: shared by those of the API, alone by a start that applies the file. */
const CATALOGUE_LOCK = 7_264_018_532;
/** A change that has to wait longer is better tried again than kept waiting with a connection in its hand. */
const PATIENCE = '5s';

/**
 * Makes changes of one name happen one after the other, until the transaction ends: also those that create it, which have
 * no row to lock yet.
 */
export async function lockForChange(manager: EntityManager, noun: string, name: string): Promise<void> {
  await manager.query(`set local lock_timeout = '${PATIENCE}'`);
  await manager.query(`select pg_advisory_xact_lock_shared(${CATALOGUE_LOCK})`);
  await manager.query(`select pg_advisory_xact_lock(hashtextextended($1, 0))`, [`${noun}:${name}`]);
}

/** Keeps every other change of sources and registries waiting, until the transaction ends. */
export async function lockCatalogue(manager: EntityManager): Promise<void> {
  await manager.query(`select pg_advisory_xact_lock(${CATALOGUE_LOCK})`);
}
