import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import type { EntityManager } from 'typeorm';
import { columnArrays } from '../database/bulk.js';
import { jsonMember } from '../database/sql-expressions.js';
import { isBareType, type VersionName } from '../documents/entry-types.js';
import { batches } from '../limits/batches.js';
import { EntryVersion } from './entry.entity.js';

const BATCH = 1_000;

// If the document now lists other packages, removes the content of the old document (reference/content). A version that
// was held by a block keeps its content.
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
    await manager.query(QUEUE, [sourceId, ...columnArrays(batch, 'type', 'name', 'version')]);
}

/** A stored version, with the digest of content that is already stored. */
export interface VersionWithContent extends VersionName {
  readonly tree: Buffer;
}

/**
 * Attaches content to versions: the content that they had while they were held, or that admission based its decision
 * on. Call it before `queueContent`.
 */
export async function attachContent(
  manager: EntityManager,
  sourceId: number,
  versions: readonly VersionWithContent[],
): Promise<void> {
  for await (const batch of batches(versions, BATCH))
    await manager.query(
      `with given as materialized (
         select v.id, n.tree from unnest($2::text[], $3::text[], $4::text[], $5::bytea[]) as n(type, name, version, tree)
         join entry e on e.source_id = $1 and e.type = n.type and e.name = n.name
         join entry_version v on v.entry_id = e.id and v.version = n.version
       ), earlier as (
         delete from content_fetch where version_id in (select id from given)
       )
       insert into version_content (version_id, tree) select id, tree from given
       on conflict (version_id) do update set tree = excluded.tree`,
      [sourceId, ...columnArrays(batch, 'type', 'name', 'version', 'tree')],
    );
}

export const CONTENT_STATUSES = ['stored', 'pending', 'failed', 'none'] as const;

/** A server of a plugin that cannot be expressed in the other format of servers files. */
export class UntranslatedServerAnswer {
  @ApiProperty({ example: '.mcp.json', description: 'The file in the plugin' })
  file: string;

  @ApiPropertyOptional({ description: 'Absent if the whole file cannot be read' })
  server?: string;

  reason: string;
}

/** The content of a version of a skill or plugin (reference/content). */
export class ContentAnswer {
  @ApiProperty({
    enum: CONTENT_STATUSES,
    enumName: 'ContentStatus',
    description:
      '`pending`: it will be fetched; `failed`: fetching it failed and is retried; `none`: nothing is stored, and no package ' +
      'can be fetched',
  })
  status: (typeof CONTENT_STATUSES)[number];

  @ApiPropertyOptional({ description: 'Why the last attempt failed' })
  error?: string;

  @ApiPropertyOptional({ description: 'Digest of the list of files; the ETag of the zip file' })
  digest?: string;

  @ApiPropertyOptional({ type: 'integer', description: 'The size of all files together' })
  bytes?: number;

  @ApiPropertyOptional({
    type: [UntranslatedServerAnswer],
    description:
      'The servers that the marketplace leaves out of the `mcp.json` or `.mcp.json` that it adds to a plugin',
  })
  untranslated?: UntranslatedServerAnswer[];
}

/**
 * SQL expression: the `ContentAnswer` of version `v`, as JSON.
 *
 * @param mayFetch SQL: whether content is fetched at all.
 */
export const contentState = (mayFetch: string) =>
  stateOf(
    mayFetch,
    '(select v.id) known left join version_content c on c.version_id = known.id',
    'f.version_id = known.id',
  );

/** Works like `contentState`, but for the held version `i`. */
export const itemContentState = (mayFetch: string) =>
  stateOf(mayFetch, '(select i.content_tree as tree) c', 'f.item_id = i.id');

const stateOf = (mayFetch: string, content: string, isFetch: string) => `(
  select json_strip_nulls(json_build_object(
    'status', case when c.tree is not null then 'stored'
      when f.error is not null and (f.fetch_at is null or ${mayFetch}) then 'failed'
      when f.fetch_at is null or not ${mayFetch} then 'none' else 'pending' end,
    'error', case when c.tree is null and (f.fetch_at is null or ${mayFetch}) then f.error end,
    'digest', encode(c.tree, 'hex'), 'bytes', t.bytes,
    'untranslated', nullif(t.plugin_servers -> 'untranslated', '[]')
  ))
  from ${content}
  left join content_tree t on t.digest = c.tree
  left join content_fetch f on ${isFetch}
)`;

/** Returns the state of the content of these versions, by version id. */
export async function contentStates(
  manager: EntityManager,
  versionIds: readonly string[],
  mayFetch: boolean,
): Promise<ReadonlyMap<string, ContentAnswer>> {
  const rows = await manager
    .createQueryBuilder(EntryVersion, 'v')
    .select('v.id', 'id')
    .addSelect(contentState(':mayFetch'), 'content')
    .where('v.id = any(:versionIds)', { versionIds, mayFetch })
    .getRawMany<{ id: string; content: ContentAnswer }>();
  return new Map(rows.map(({ id, content }) => [id, content]));
}
