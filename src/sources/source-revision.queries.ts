import type { EntityManager } from 'typeorm';

/**
 * Tells every replica that the entries of a source have changed: views and pages are kept by its revision. Belongs into the
 * transaction that changes them.
 */
export async function bumpRevision(manager: EntityManager, sourceId: number): Promise<void> {
  await manager.query(`update source set revision = revision + 1 where id = $1`, [sourceId]);
}
