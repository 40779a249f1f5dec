import type { EntityManager } from 'typeorm';
import type { EntryName, VersionName } from '../../documents/entry-types.js';
import type { Candidate, EntrySize } from '../entry-limits.js';
import { batches, type StoredVersion } from './catalog-diff.js';

/** The columns of a `StoredVersion`. Times are numbers, which parse faster than dates and compare exactly. */
const STORED_VERSION = `
  e.id as "entryId", v.id as "versionId", e.type, e.name, v.version, v.version_key as "versionKey", v.digest, v.status,
  v.status_message as "statusMessage",
  (extract(epoch from v.status_changed_at) * 1000)::float8 as "statusChangedAt",
  (extract(epoch from v.published_at) * 1000)::float8 as "publishedAt"`;

/** Rows per query, limited because parsing a large result blocks the event loop. */
const BATCH = 1_000;

/** Returns the versions of all entries of a source. Requires a transaction, because it uses a cursor. */
export async function allVersions(manager: EntityManager, sourceId: number): Promise<StoredVersion[]> {
  // By default PostgreSQL optimizes a cursor for its first rows; this one is read to the end.
  await manager.query(`set local cursor_tuple_fraction = 1`);
  await manager.query(
    `declare stored_version no scroll cursor for
     select ${STORED_VERSION}
     from entry e join entry_version v on v.entry_id = e.id
     where e.source_id = $1`,
    [sourceId],
  );
  const versions: StoredVersion[] = [];
  let rows: StoredVersion[];
  do {
    rows = await manager.query<StoredVersion[]>(`fetch ${BATCH} from stored_version`);
    versions.push(...rows);
  } while (rows.length === BATCH);
  await manager.query(`close stored_version`);
  return versions;
}

/** Returns all versions of the given entries in a source. Entries must be distinct. */
export async function versionsOfEntries(
  manager: EntityManager,
  sourceId: number,
  entries: readonly EntryName[],
): Promise<StoredVersion[]> {
  return foundInBatches(entries, (batch) =>
    manager.query<StoredVersion[]>(
      `select ${STORED_VERSION}
       from unnest($2::text[], $3::text[]) as n(type, name)
       join entry e on e.source_id = $1 and e.type = n.type and e.name = n.name
       join entry_version v on v.entry_id = e.id`,
      [sourceId, batch.map(({ type }) => type), batch.map(({ name }) => name)],
    ),
  );
}

/** Returns the given versions that exist in a source. */
export async function versionsAmong(
  manager: EntityManager,
  sourceId: number,
  versions: readonly VersionName[],
): Promise<StoredVersion[]> {
  return foundInBatches(versions, (batch) =>
    manager.query<StoredVersion[]>(
      `select ${STORED_VERSION}
       from unnest($2::text[], $3::text[], $4::text[]) as n(type, name, version)
       join entry e on e.source_id = $1 and e.type = n.type and e.name = n.name
       join entry_version v on v.entry_id = e.id and v.version = n.version`,
      [
        sourceId,
        batch.map(({ type }) => type),
        batch.map(({ name }) => name),
        batch.map(({ version }) => version),
      ],
    ),
  );
}

/** Returns the sizes of the given entries that exist in a source. */
export async function sizesOfEntries(
  manager: EntityManager,
  sourceId: number,
  entries: readonly EntryName[],
): Promise<(EntryName & EntrySize)[]> {
  return foundInBatches(entries, (batch) =>
    manager.query<(EntryName & EntrySize)[]>(
      `select e.type, e.name, count(*)::int as versions, sum(octet_length(v.document))::float8 as bytes
       from unnest($2::text[], $3::text[]) as n(type, name)
       join entry e on e.source_id = $1 and e.type = n.type and e.name = n.name
       join entry_version v on v.entry_id = e.id
       group by e.id`,
      [sourceId, batch.map(({ type }) => type), batch.map(({ name }) => name)],
    ),
  );
}

/** A stored version with the length of its document. */
export type SizedVersion = Candidate & Pick<StoredVersion, 'publishedAt'>;

/** Returns all versions of an entry in a source. */
export async function sizedVersions(
  manager: EntityManager,
  sourceId: number,
  { type, name }: EntryName,
): Promise<SizedVersion[]> {
  return manager.query<SizedVersion[]>(
    `select e.type, e.name, v.version, v.version_key as "versionKey", octet_length(v.document) as bytes,
       (extract(epoch from v.published_at) * 1000)::float8 as "publishedAt"
     from entry e join entry_version v on v.entry_id = e.id
     where e.source_id = $1 and e.type = $2 and e.name = $3`,
    [sourceId, type, name],
  );
}

async function foundInBatches<T, Found>(
  items: readonly T[],
  find: (batch: readonly T[]) => Promise<Found[]>,
): Promise<Found[]> {
  const found: Found[] = [];
  for await (const batch of batches(items, BATCH)) found.push(...(await find(batch)));
  return found;
}
