import type { EntityManager } from 'typeorm';
import type { Claims } from '../claims/claims.js';

/** Returns the registries that contain a source, by name. */
export async function registriesOf(
  manager: EntityManager,
  sourceId: number,
): Promise<{ readonly name: string; readonly claims: Claims }[]> {
  return manager.query(
    `select r.name, c.claims
     from registry_source held join registry r on r.id = held.registry_id join claim_set c on c.id = r.claim_set_id
     where held.source_id = $1
     order by r.name`,
    [sourceId],
  );
}

/**
 * Invalidates the views and pages of a source that replicas have cached by revision. Runs inside the transaction that changes
 * its entries.
 */
export async function bumpRevision(manager: EntityManager, sourceId: number): Promise<void> {
  await manager.query(`update source set revision = revision + 1 where id = $1`, [sourceId]);
}
