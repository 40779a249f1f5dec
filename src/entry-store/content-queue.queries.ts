import type { EntityManager } from 'typeorm';
import { jsonMember } from '../database/sql-expressions.js';
import { isBareType, type VersionName } from '../documents/entry-types.js';
import { batches } from '../limits/batches.js';

const BATCH = 1_000;

// If a document now names other packages, the old document's content is removed (reference/content). A version that a
// block held has kept its content.
const QUEUE = `
with asked as materialized (
  select v.id, e.source_id, nullif(${jsonMember('v.document', 'packages')}, '[]') as packages
  from unnest($2::text[], $3::text[], $4::text[]) as n(type, name, version)
  join entry e on e.source_id = $1 and e.type = n.type and e.name = n.name
  join entry_version v on v.entry_id = e.id and v.version = n.version
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
    await manager.query(QUEUE, [
      sourceId,
      batch.map(({ type }) => type),
      batch.map(({ name }) => name),
      batch.map(({ version }) => version),
    ]);
}
