import type { EntityManager } from 'typeorm';
import type { IncomingVersion } from '../../documents/incoming-version.js';
import type { StoredVersion } from './catalog-diff.js';

const STORED = `e.id as "entryId", v.id as "versionId", e.type, e.name, v.version, v.digest, v.status,
  v.status_message as "statusMessage", (extract(epoch from v.status_changed_at) * 1000)::float8 as "statusChangedAt",
  (extract(epoch from v.published_at) * 1000)::float8 as "publishedAt"`;

/** The versions of a source: of all its entries, or of those named in `among`. */
export async function storedVersions(
  manager: EntityManager,
  sourceId: number,
  among: readonly Pick<IncomingVersion, 'type' | 'name'>[] | null,
): Promise<StoredVersion[]> {
  const named = among
    ? `join (select distinct * from unnest($2::text[], $3::text[]) as n(type, name)) n using (type, name)`
    : '';
  return manager.query<StoredVersion[]>(
    `select ${STORED}
     from entry e ${named} join entry_version v on v.entry_id = e.id where e.source_id = $1`,
    among ? [sourceId, among.map(({ type }) => type), among.map(({ name }) => name)] : [sourceId],
  );
}

/** The versions of a source that are among these. */
export async function storedAmong(
  manager: EntityManager,
  sourceId: number,
  versions: readonly Pick<IncomingVersion, 'type' | 'name' | 'version'>[],
): Promise<StoredVersion[]> {
  return manager.query<StoredVersion[]>(
    `select ${STORED}
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
