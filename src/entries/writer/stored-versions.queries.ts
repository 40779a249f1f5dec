import type { EntityManager } from 'typeorm';
import { columnArrays, readInParts } from '../../database/bulk.js';
import type { EntryName, VersionName } from '../../documents/entry-types.js';
import { batches } from '../../limits/batches.js';
import type { StorableVersion, EntrySize } from '../../entry-store/entry-limits.queries.js';
import type { StoredVersion } from '../../entry-store/entry.entity.js';

/** The columns of a `StoredVersion`. Times are numbers, which parse faster than dates and compare exactly. */
const STORED_VERSION = `
  e.id as "entryId", e.claim_set_id as "claimSetId", v.id as "versionId", e.type, e.name, v.version,
  v.version_key as "versionKey", v.digest, v.status, v.status_message as "statusMessage",
  (extract(epoch from v.status_changed_at) * 1000)::float8 as "statusChangedAt",
  (extract(epoch from v.published_at) * 1000)::float8 as "publishedAt"`;

/** Rows per query, limited because parsing a large result blocks the event loop. */
const BATCH = 1_000;

/** Returns the versions of all entries of a source. Requires a transaction, because it uses a cursor. */
export async function allVersions(manager: EntityManager, sourceId: number): Promise<StoredVersion[]> {
  const versions: StoredVersion[] = [];
  for await (const rows of readInParts<StoredVersion>(
    manager,
    `select ${STORED_VERSION} from entry e join entry_version v on v.entry_id = e.id where e.source_id = $1`,
    [sourceId],
    BATCH,
  ))
    versions.push(...rows);
  return versions;
}

/** Returns all versions of the given entries in a source. Entries must be distinct. */
export function versionsOfEntries(
  manager: EntityManager,
  sourceId: number,
  entries: readonly EntryName[],
): Promise<StoredVersion[]> {
  return found(manager, sourceId, entries, STORED_VERSION);
}

/** Returns the given versions that exist in a source. */
export function versionsAmong(
  manager: EntityManager,
  sourceId: number,
  versions: readonly VersionName[],
): Promise<StoredVersion[]> {
  return found(manager, sourceId, versions, STORED_VERSION, 'and v.version = n.version');
}

/** Returns the sizes of the given entries that exist in a source. */
export function sizesOfEntries(
  manager: EntityManager,
  sourceId: number,
  entries: readonly EntryName[],
): Promise<(EntryName & EntrySize)[]> {
  const columns = `e.type, e.name, count(*)::int as versions, sum(octet_length(v.document))::float8 as bytes`;
  return found(manager, sourceId, entries, columns, 'group by e.id');
}

/** A stored version with the length of its document. */
export type SizedVersion = StorableVersion & Pick<StoredVersion, 'publishedAt'>;

export function sizedVersions(
  manager: EntityManager,
  sourceId: number,
  entry: EntryName,
): Promise<SizedVersion[]> {
  return found(
    manager,
    sourceId,
    [entry],
    `e.type, e.name, v.version, v.version_key as "versionKey", octet_length(v.document) as bytes,
     (extract(epoch from v.published_at) * 1000)::float8 as "publishedAt"`,
  );
}

/** Reads the versions `v` of the given entries `e` of a source. @param more SQL after the join with the versions. */
async function found<Row>(
  manager: EntityManager,
  sourceId: number,
  items: readonly (EntryName & Partial<VersionName>)[],
  columns: string,
  more: 'and v.version = n.version' | 'group by e.id' | '' = '',
): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const batch of batches(items, BATCH))
    rows.push(
      ...(await manager.query<Row[]>(
        `select ${columns}
         from unnest($2::text[], $3::text[], $4::text[]) as n(type, name, version)
         join entry e on e.source_id = $1 and e.type = n.type and e.name = n.name
         join entry_version v on v.entry_id = e.id ${more}`,
        [sourceId, ...columnArrays(batch, 'type', 'name', 'version')],
      )),
    );
  return rows;
}
