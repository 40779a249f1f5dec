import type { EntityManager } from 'typeorm';

/**
 * Invalidates what every replica has cached of the entries of a source: views and pages are cached by its revision. Runs
 * inside the transaction that changes them.
 */
export async function bumpRevision(manager: EntityManager, sourceId: number): Promise<void> {
  await manager.query(`update source set revision = revision + 1 where id = $1`, [sourceId]);
}
