import type { EntityManager } from 'typeorm';
import type { EntryName, VersionName } from '../../documents/incoming-version.js';
import type { StoredVersion } from './catalog-diff.js';

/** The columns of a `StoredVersion`: times as numbers, which are read faster than dates and compared exactly. */
const STORED_VERSION = `
  e.id as "entryId", v.id as "versionId", e.type, e.name, v.version, v.version_key as "versionKey", v.digest, v.status,
  v.status_message as "statusMessage",
  (extract(epoch from v.status_changed_at) * 1000)::float8 as "statusChangedAt",
  (extract(epoch from v.published_at) * 1000)::float8 as "publishedAt"`;

/** The versions of all entries of a source. */
export async function allVersions(manager: EntityManager, sourceId: number): Promise<StoredVersion[]> {
  return manager.query<StoredVersion[]>(
    `select ${STORED_VERSION}
     from entry e join entry_version v on v.entry_id = e.id
     where e.source_id = $1`,
    [sourceId],
  );
}

/** The versions of these entries of a source. */
export async function versionsOfEntries(
  manager: EntityManager,
  sourceId: number,
  entries: readonly EntryName[],
): Promise<StoredVersion[]> {
  return manager.query<StoredVersion[]>(
    `select ${STORED_VERSION}
     from (select distinct * from unnest($2::text[], $3::text[]) as n(type, name)) n
     join entry e on e.source_id = $1 and e.type = n.type and e.name = n.name
     join entry_version v on v.entry_id = e.id`,
    [sourceId, entries.map(({ type }) => type), entries.map(({ name }) => name)],
  );
}

/** Those of these versions that a source has. */
export async function versionsAmong(
  manager: EntityManager,
  sourceId: number,
  versions: readonly VersionName[],
): Promise<StoredVersion[]> {
  return manager.query<StoredVersion[]>(
    `select ${STORED_VERSION}
     from unnest($2::text[], $3::text[], $4::text[]) as n(type, name, version)
     join entry e on e.source_id = $1 and e.type = n.type and e.name = n.name
     join entry_version v on v.entry_id = e.id and v.version = n.version`,
    [
      sourceId,
      versions.map(({ type }) => type),
      versions.map(({ name }) => name),
      versions.map(({ version }) => version),
    ],
  );
}
