import type { EntityManager } from 'typeorm';
import type { ClaimSet } from '../claim-sets/claim-set.entity.js';
import type { ClaimSetsRepository } from '../claim-sets/claim-sets.repository.js';
import { KINDS } from '../source-kinds/kinds.js';
import type { SourceStates } from './source-states.queries.js';
import type { Source } from './source.entity.js';

/**
 * Gives every entry of a source this claim set, at once (contract §5): for kinds whose entries carry the claims of their
 * source (spec §2.4). Runs inside the transaction that changes the source.
 *
 * @returns how many entries had another one.
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
 * What becomes of the claims of entries that inherit them, when those of their source have changed: the entries get the new ones at
 * once (contract §5). As long as the source has not been read by its present settings and filter, the new claims do not open what is
 * there: it came from another place, or by another filter, and is hidden until the next sync that succeeds.
 *
 * @param source with its new settings; runs inside the transaction that changes it.
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
