import type { EntityManager } from 'typeorm';

/**
 * Finds the latest version of entries anew: the newest that is not deleted, and when all are, the newest of them. Runs in
 * the transaction that changed the versions.
 */
export async function electLatest(manager: EntityManager, entryIds: readonly string[]): Promise<void> {
  const elected = `select distinct on (entry_id) id from entry_version where entry_id = any($1::bigint[])
    order by entry_id, (status = 'deleted'), version_key desc`;
  // Two statements: the index that allows one latest per entry is checked row by row.
  await manager.query(
    `update entry_version set is_latest = false
     where entry_id = any($1::bigint[]) and is_latest and id not in (${elected})`,
    [entryIds],
  );
  await manager.query(
    `update entry_version set is_latest = true where not is_latest and id in (${elected})`,
    [entryIds],
  );
}
