import type { EntityManager } from 'typeorm';
import { columnArrays } from '../database/bulk.js';
import type { VersionName } from '../documents/entry-types.js';
import { batches } from '../limits/batches.js';
import { SourceFolder } from './content.entity.js';

const BATCH = 1_000;

/** What is known about a folder with the content of a version. */
export interface StoredFolder {
  /** The first commit that contained the folder in its current state. */
  readonly commit: string;
  /** The digest of its content; null if the content was refused. */
  readonly tree: string | null;
  /** Why the content was refused. */
  readonly error: string | null;
}

/** Returns the folders of a source by their keys. */
export async function storedFolders(
  manager: EntityManager,
  sourceId: number,
): Promise<Map<string, StoredFolder>> {
  const rows = await manager.findBy(SourceFolder, { sourceId });
  return new Map(rows.map(({ key, commit, tree, error }) => [key, { commit, tree, error }]));
}

/** Records folders, by their keys, in the transaction that stores their content. */
export async function recordFolders(
  manager: EntityManager,
  sourceId: number,
  folders: readonly (readonly [string, StoredFolder])[],
): Promise<void> {
  const rows = folders.map(([key, folder]) => ({ sourceId, key, ...folder }));
  if (rows.length > 0) await manager.upsert(SourceFolder, rows, ['sourceId', 'key']);
}

/** Forgets the folders that a source no longer has. */
export async function forgetOtherFolders(
  manager: EntityManager,
  sourceId: number,
  keys: readonly string[],
): Promise<void> {
  await manager.query(
    `delete from source_folder where source_id = $1
       and key not in (select decode(k, 'hex') from unnest($2::text[]) as kept(k))`,
    [sourceId, keys],
  );
}

/** A version of a source, with what is known about its folder. */
export interface VersionInFolder extends VersionName, StoredFolder {
  /** The digest of its document. */
  readonly digest: Buffer;
}

/** A version that now has its content. */
export interface LinkedVersion extends VersionName {
  readonly entryId: string;
  /** The digest, bytes and number of files of its content. */
  readonly tree: string;
  readonly bytes: number;
  readonly files: number;
}

/**
 * Links versions that are served or held with this document to the content of their folders. Refused content is not
 * fetched in another way.
 *
 * @returns the served versions that did not have this content before.
 */
export async function linkFolders(
  manager: EntityManager,
  sourceId: number,
  versions: readonly VersionInFolder[],
): Promise<LinkedVersion[]> {
  const linked: LinkedVersion[] = [];
  for await (const batch of batches(versions, BATCH))
    linked.push(
      ...(await manager.query<LinkedVersion[]>(LINK, [
        sourceId,
        ...columnArrays(batch, 'type', 'name', 'version', 'digest', 'tree', 'error'),
      ])),
    );
  return linked;
}

const LINK = `
with given as materialized (
  select n.type, n.name, n.version, n.digest, decode(n.tree, 'hex') as tree, n.error, v.id, e.id as entry_id
  from unnest($2::text[], $3::text[], $4::text[], $5::bytea[], $6::text[], $7::text[])
    as n(type, name, version, digest, tree, error)
  left join entry e on e.source_id = $1 and e.type = n.type and e.name = n.name
  left join entry_version v on v.entry_id = e.id and v.version = n.version and v.digest = n.digest
), held as (
  update admission_item i set content_tree = g.tree from given g
  where i.source_id = $1 and i.type = g.type and i.name = g.name and i.version = g.version and i.digest = g.digest
    and i.status = 'held' and i.change is null and i.content_tree is distinct from g.tree and g.tree is not null
  returning i.id
), linked as (
  insert into version_content as c (version_id, tree) select id, tree from given where id is not null and tree is not null
  on conflict (version_id) do update set tree = excluded.tree where c.tree <> excluded.tree
  returning version_id
), settled as (
  update content_fetch f set fetch_at = null, attempts = 0, error = g.error from given g
  where f.version_id = g.id and (f.fetch_at is not null or f.error is distinct from g.error)
)
select g.entry_id as "entryId", g.type, g.name, g.version, encode(g.tree, 'hex') as tree, t.bytes,
  (select count(*)::int from content_file where tree = g.tree) as files
from linked l join given g on g.id = l.version_id join content_tree t on t.digest = g.tree`;
