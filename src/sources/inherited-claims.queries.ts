import type { EntityManager } from 'typeorm';

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
