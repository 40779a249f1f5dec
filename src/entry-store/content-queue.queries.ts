import type { EntityManager } from 'typeorm';
import { jsonMember } from '../database/sql-expressions.js';
import { isBareType, type VersionName } from '../documents/entry-types.js';
import { batches } from '../limits/batches.js';

const BATCH = 1_000;

// If a document now names other packages, the old document's content is removed (reference/content). A version that a
// block held has kept its content.
const queue = (asked: string) => `
with asked as materialized (
  select v.id, e.source_id, nullif(${jsonMember('v.document', 'packages')}, '[]') as packages
  ${asked}
), queued as (
  insert into content_fetch as f (version_id, source_id, packages, fetch_at)
  select a.id, a.source_id, a.packages,
    case when exists (select 1 from version_content c where c.version_id = a.id) then null else now() end
  from asked a
  where a.packages is not null or exists (select 1 from content_fetch o where o.version_id = a.id)
  on conflict (version_id) do update set source_id = excluded.source_id, packages = excluded.packages, pin = null,
    attempts = 0, error = null, queued_at = now(), fetch_at = case when excluded.packages is not null then now() end
  where f.packages is distinct from excluded.packages
  returning f.version_id, f.packages, f.fetch_at
), gone as (
  delete from version_content where version_id in (
    select version_id from queued where fetch_at is not null or packages is null
  )
)
select count(*)::int as count from queued`;

const STORED = queue(`
  from unnest($2::text[], $3::text[], $4::text[]) as n(type, name, version)
  join entry e on e.source_id = $1 and e.type = n.type and e.name = n.name
  join entry_version v on v.entry_id = e.id and v.version = n.version`);

const MISSING = queue(`
  from entry_version v join entry e on e.id = v.entry_id
  where v.id = any($1::bigint[])`);

/**
 * Queues the content of versions that were stored or changed, in the transaction of the change. A version is queued again
 * only if its packages have changed.
 */
export async function queueContent(
  manager: EntityManager,
  sourceId: number,
  versions: Iterable<VersionName>,
): Promise<void> {
  const bare = [...versions].filter(({ type }) => isBareType(type));
  for await (const batch of batches(bare, BATCH))
    await manager.query(STORED, [
      sourceId,
      batch.map(({ type }) => type),
      batch.map(({ name }) => name),
      batch.map(({ version }) => version),
    ]);
}

/**
 * Queues the content of a batch of versions that an older release stored without queueing it.
 *
 * @param after id of the last version examined.
 * @returns the id to continue with; null at the end.
 */
export async function queueMissing(manager: EntityManager, after: string): Promise<string | null> {
  const rows = await manager.query<{ id: string; isQueued: boolean }[]>(
    `select v.id, exists (select 1 from content_fetch f where f.version_id = v.id) as "isQueued"
     from entry_version v join entry e on e.id = v.entry_id
     where e.type <> 'server' and v.id > $1 order by v.id limit ${BATCH}`,
    [after],
  );
  const missing = rows.filter(({ isQueued }) => !isQueued).map(({ id }) => id);
  if (missing.length > 0) await manager.query(MISSING, [missing]);
  return rows.length < BATCH ? null : (rows.at(-1)?.id ?? null);
}
