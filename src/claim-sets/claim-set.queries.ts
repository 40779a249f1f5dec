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

/** The ids for many claims, in their order; as `internClaimSet`, in two statements. */
export async function internClaimSets(manager: EntityManager, all: readonly Claims[]): Promise<number[]> {
  const texts = all.map((claims) => canonicalClaims(claims));
  const digests = new Map(
    [...new Set(texts)].map((text) => [text, createHash('sha256').update(text).digest('hex')]),
  );
  // In one order, so that two transactions that add the same claims can't wait for each other.
  const distinct = [...digests].sort(([, one], [, other]) => (one < other ? -1 : 1));
  const keys = distinct.map(([, digest]) => digest);
  await manager.query(
    `insert into claim_set (claims, digest)
     select n.claims, decode(n.digest, 'hex') from unnest($1::jsonb[], $2::text[]) as n(claims, digest)
     on conflict (digest) do nothing`,
    [distinct.map(([text]) => text), keys],
  );
  const rows = await manager.query<{ id: number; digest: string }[]>(
    `select c.id, n.digest from unnest($1::text[]) as n(digest) join claim_set c on c.digest = decode(n.digest, 'hex')`,
    [keys],
  );
  const ids = new Map(rows.map(({ id, digest }) => [digest, id]));
  return texts.map((text) => {
    const id = ids.get(digests.get(text) ?? '');
    if (id === undefined) throw new Error('A claim set was neither added nor found');
    return id;
  });
}
