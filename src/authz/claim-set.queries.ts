import { createHash } from 'node:crypto';
import type { EntityManager } from 'typeorm';
import { canonicalClaims, type Claims } from '../claims/claims.js';

/**
 * The id of the stored row for these claims, made when it is not there yet. Equal claims (by canonical form) share a row.
 * Must run inside the transaction that refers to the id.
 */
export async function internClaimSet(manager: EntityManager, claims: Claims): Promise<number> {
  const canonical = canonicalClaims(claims);
  const digest = createHash('sha256').update(canonical).digest();
  // "do nothing" returns no row when the claims are known already, hence the second half.
  const rows = await manager.query<{ id: number }[]>(
    `with added as (
       insert into claim_set (claims, digest) values ($1::jsonb, $2) on conflict (digest) do nothing returning id
     )
     select id from added union all select id from claim_set where digest = $2 limit 1`,
    [canonical, digest],
  );
  if (rows[0]) return rows[0].id;
  // Another transaction added the same claims after our snapshot was taken: a new statement sees its row.
  const again = await manager.query<{ id: number }[]>(`select id from claim_set where digest = $1`, [digest]);
  if (!again[0]) throw new Error('A claim set was neither added nor found');
  return again[0].id;
}
