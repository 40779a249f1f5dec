import type { EntityManager } from 'typeorm';
import type { Claims } from '../claims/claims.js';

/** The registries that have a source, in order of name. */
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
