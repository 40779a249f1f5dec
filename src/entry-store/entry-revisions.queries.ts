import type { EntityManager } from 'typeorm';
import { electLatest } from './latest-version.queries.js';

/**
 * Increments the revision of a source, which invalidates its cached views and pages in every replica, and stores it with these
 * entries, so that indexes in memory read them again. Whatever writes entries calls it, in the same transaction. The source stays
 * locked until the transaction ends, so revisions follow the order of commits: an index that has read one revision finds all later
 * changes at higher ones.
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

/** Elects the latest versions of entries whose versions changed, and notes the change. */
export async function settleVersions(
  manager: EntityManager,
  sourceId: number,
  entryIds: readonly string[],
): Promise<void> {
  await electLatest(manager, entryIds);
  await noteChanged(manager, sourceId, entryIds);
}
