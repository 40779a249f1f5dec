import type { EntityManager } from 'typeorm';

/**
 * Increases the revision of a source (see `bumpRevision`) and gives it to these entries, so that indexes in memory read them again.
 * The lock on the source, until the transaction ends, makes the numbers follow the order of commits: whoever has read a revision
 * finds every later change by a higher one.
 */
export async function noteChanged(
  manager: EntityManager,
  sourceId: number,
  entryIds: readonly string[],
): Promise<void> {
  await manager.query(
    `with raised as (update source set revision = revision + 1 where id = $1 returning revision)
     update entry e set revision = r.revision from raised r where e.id = any($2::bigint[])`,
    [sourceId, entryIds],
  );
}
