import type { EntityManager } from 'typeorm';
import type { ClaimSet } from '../claim-sets/claim-set.entity.js';
import type { ClaimSetsRepository } from '../claim-sets/claim-sets.repository.js';
import type { Claims } from '../claims/claims.js';
import { KINDS } from '../source-kinds/kinds.js';
import type { SourceStates } from './source-states.queries.js';
import type { Source } from './source.entity.js';

/** Returns the registries that contain a source, ordered by name. */
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
 * Increases the revision of a source, which invalidates its cached views and pages in every replica. Runs inside the
 * transaction that changes the source's entries.
 */
export async function bumpRevision(manager: EntityManager, sourceId: number): Promise<void> {
  await manager.query(`update source set revision = revision + 1 where id = $1`, [sourceId]);
}

/**
 * Sets the claim set of every entry of a source (contract §5), for kinds whose entries inherit claims (spec §2.4). Runs
 * inside the transaction that changes the source.
 *
 * @returns the number of changed entries.
 */
export async function setInheritedClaims(
  manager: EntityManager,
  sourceId: number,
  claimSetId: number,
): Promise<number> {
  const [, count] = await manager.query<[unknown[], number]>(
    `update entry set claim_set_id = $2 where source_id = $1 and claim_set_id <> $2`,
    [sourceId, claimSetId],
  );
  return count;
}

/**
 * Applies changed claims of a source to the entries that inherit them (contract §5). If the source has not been synced
 * with its current settings and filter, its entries are hidden until the next successful sync, because they may come
 * from a different upstream. Runs inside the transaction that changes the source.
 *
 * @param source the source with its new settings.
 */
export async function inheritClaims(
  manager: EntityManager,
  { id, kind }: Source,
  claimSet: ClaimSet,
  { claimSets, states }: { readonly claimSets: ClaimSetsRepository; readonly states: SourceStates },
): Promise<void> {
  if (!KINDS[kind].inheritsClaims) return;
  const isRead = await states.isRead(manager, id);
  const inherited = isRead ? claimSet : await claimSets.findOrCreate(manager, {});
  await setInheritedClaims(manager, id, inherited.id);
}
