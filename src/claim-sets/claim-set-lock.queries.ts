import type { Queries } from '../database/statements.js';

/** Returns the ID of a claim set, locked so that it cannot be deleted before the transaction ends; null if there is none. */
export async function lockClaimSet(statements: Queries, digest: Buffer): Promise<number | null> {
  const [row] = await statements.query<{ id: number }[]>(
    `select id from claim_set where digest = $1 for key share`,
    [digest],
  );
  return row?.id ?? null;
}
