import type { EntityManager } from 'typeorm';
import type { ClaimSetsRepository } from '../claim-sets/claim-sets.repository.js';
import { KINDS } from '../source-kinds/kinds.js';
import type { SourceStates } from './source-states.queries.js';
import type { Source } from './source.entity.js';

/**
 * Sets the claim set of every entry of a source whose kind passes its claims to entries (reference/access), and increments the
 * revision of the source. Runs inside the transaction that changes the source.
 *
 * @returns the number of changed entries.
 */
export async function setInheritedClaims(
  manager: EntityManager,
  sourceId: number,
  claimSetId: number,
): Promise<number> {
  const [, count] = await manager.query<[unknown[], number]>(
    `with raised as (update source set revision = revision + 1 where id = $1 returning revision)
     update entry e set claim_set_id = $2, revision = r.revision from raised r
     where e.source_id = $1 and e.claim_set_id <> $2`,
    [sourceId, claimSetId],
  );
  return count;
}

interface Stores {
  readonly claimSets: ClaimSetsRepository;
  readonly states: SourceStates;
}

/**
 * Applies changed claims of a source to the entries that inherit them (reference/access). Runs inside the transaction that
 * changes the source.
 *
 * @param source the source with its new settings and claims.
 */
export async function inheritClaims(
  manager: EntityManager,
  source: Pick<Source, 'id' | 'kind' | 'claimSetId'>,
  stores: Stores,
): Promise<void> {
  if (!KINDS[source.kind].inheritsClaims) return;
  const claimSetId = await inheritedClaimSet(manager, source, stores);
  await setInheritedClaims(manager, source.id, claimSetId);
  const isRead = claimSetId === source.claimSetId;
  if (!isRead) await hideRemoved(manager, source.id);
  await hideHeld(manager, source.id, isRead);
}

/** Hides the names of entries that were removed while the source had other claims. */
async function hideRemoved(manager: EntityManager, sourceId: number): Promise<void> {
  await manager.query(
    `update removed_entry set claims = '{}' where source_id = $1 and type <> 'server' and claims is null`,
    [sourceId],
  );
}

/**
 * Hides held documents like the source's entries, and always those that the upstream no longer has. The next sync gives
 * the source's claims to the others.
 */
async function hideHeld(manager: EntityManager, sourceId: number, onlyRemoved: boolean): Promise<void> {
  await manager.query(
    `update admission_item set claims = '{}' where source_id = $1 and status = 'held' and claims is null
       and (not $2::boolean or reasons @> '[{"policy": "removed"}]')`,
    [sourceId, onlyRemoved],
  );
}

/**
 * Returns the id of the claim set that entries of a source inherit. If the source has not been synced with its current
 * settings and filter, they are hidden until the next successful sync, because they may come from a different upstream.
 */
export async function inheritedClaimSet(
  manager: EntityManager,
  { id, claimSetId }: Pick<Source, 'id' | 'claimSetId'>,
  { claimSets, states }: Stores,
): Promise<number> {
  if (await states.isRead(manager, id)) return claimSetId;
  return (await claimSets.findOrCreate(manager, {})).id;
}
