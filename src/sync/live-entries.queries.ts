import type { EntityManager } from 'typeorm';

/** How many entries of a source have a version that is not deleted. */
export async function countLiveEntries(manager: EntityManager, sourceId: number): Promise<number> {
  const rows = await manager.query<{ count: number }[]>(
    `select count(*)::int as count from entry e
     where e.source_id = $1
       and exists (select 1 from entry_version v where v.entry_id = e.id and v.status <> 'deleted')`,
    [sourceId],
  );
  return rows[0]?.count ?? 0;
}
