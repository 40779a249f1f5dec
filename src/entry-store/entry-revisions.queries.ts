import type { EntityManager } from 'typeorm';

/**
 * Increments the revision of a source (see `bumpRevision`) and stores it with these entries, so that indexes in memory
 * read them again. The source stays locked until the transaction ends, so revisions follow the order of commits: an
 * index that has read one revision finds all later changes at higher ones.
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
