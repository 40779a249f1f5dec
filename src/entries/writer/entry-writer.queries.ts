import { Any, type EntityManager, In, Raw } from 'typeorm';
import type { Claims } from '../../claims/claims.js';
import type { EntryName, EntryType } from '../../documents/entry-types.js';
import { copyRows } from './copy-rows.queries.js';
import { EntryVersion, RemovedEntry, type VersionColumns } from '../entry.entity.js';

/*
 * The statements of the bulk writer. Each writes one batch; most take one array parameter per column.
 */

/** How long removals are kept: longer than the hour after which an index reads a source from the beginning. */
const REMEMBERED = '2 hours';

/** SQL: the next revision of the source `$1`, which the transaction must have locked: see `noteChanged`. */
const NEXT_REVISION = `(select revision + 1 from source where id = $1)`;

/** An entry with its new claim set. */
export interface EntryRow extends EntryName {
  readonly claimSetId: number;
  /** `givenForm`; absent for claims that are inherited. */
  readonly givenClaims?: Claims | null;
}

/** A version to add to an existing entry. */
export interface NewVersionRow extends VersionColumns {
  readonly entryId: string;
  readonly document: Buffer;
  readonly isLatest: boolean;
  /** JSON: see `EntryVersion`. */
  readonly summary: string | null;
}

/** Adds the entries that a source does not have yet and returns them. Rows must be distinct. */
export async function insertEntries(
  manager: EntityManager,
  sourceId: number,
  rows: readonly EntryRow[],
): Promise<(EntryName & { readonly id: string })[]> {
  return manager.query<{ id: string; type: EntryType; name: string }[]>(
    `insert into entry (source_id, type, name, claim_set_id, given_claims, revision)
     select $1::int, n.type, n.name, n.claim_set_id, n.given_claims::jsonb, ${NEXT_REVISION}
     from unnest($2::text[], $3::text[], $4::int[], $5::text[]) as n(type, name, claim_set_id, given_claims)
     on conflict (source_id, type, name) do nothing
     returning id, type, name`,
    [
      sourceId,
      rows.map(({ type }) => type),
      rows.map(({ name }) => name),
      rows.map(({ claimSetId }) => claimSetId),
      rows.map(({ givenClaims }) => (givenClaims ? JSON.stringify(givenClaims) : null)),
    ],
  );
}

/**
 * Sets the claim sets of entries in a source.
 *
 * @returns the ids of changed entries.
 */
export async function updateClaimSets(
  manager: EntityManager,
  sourceId: number,
  rows: readonly EntryRow[],
): Promise<string[]> {
  const [updated] = await manager.query<[{ id: string }[], number]>(
    `update entry e set claim_set_id = n.claim_set_id, revision = ${NEXT_REVISION}
     from unnest($2::text[], $3::text[], $4::int[]) as n(type, name, claim_set_id)
     where e.source_id = $1 and e.type = n.type and e.name = n.name and e.claim_set_id <> n.claim_set_id
     returning e.id`,
    [
      sourceId,
      rows.map(({ type }) => type),
      rows.map(({ name }) => name),
      rows.map(({ claimSetId }) => claimSetId),
    ],
  );
  return updated.map(({ id }) => id);
}

/**
 * Removes entries without versions.
 *
 * @returns their ids.
 */
export async function deleteEmptyEntries(
  manager: EntityManager,
  entryIds: readonly string[],
): Promise<string[]> {
  const deleted = await manager.query<{ id: string; sourceId: number }[]>(
    `with deleted as (
       delete from entry e
       where e.id = any($1::bigint[]) and not exists (select 1 from entry_version v where v.entry_id = e.id)
       returning e.id, e.source_id, e.type, e.name
     ), numbered as (
       update source s set revision = s.revision + 1 where s.id in (select source_id from deleted)
       returning s.id, s.revision
     ), noted as (
       insert into removed_entry (source_id, type, name, revision)
       select d.source_id, d.type, d.name, n.revision from deleted d join numbered n on n.id = d.source_id
       on conflict (source_id, type, name) do update set revision = excluded.revision, removed_at = now()
     )
     select id, source_id as "sourceId" from deleted`,
    [entryIds],
  );
  if (deleted.length > 0)
    await manager.delete(RemovedEntry, {
      sourceId: In([...new Set(deleted.map(({ sourceId }) => sourceId))]),
      removedAt: Raw((column) => `${column} < now() - interval '${REMEMBERED}'`),
    });
  return deleted.map(({ id }) => id);
}

/** Returns the entries of a source with these names. */
export async function findEntries(
  manager: EntityManager,
  sourceId: number,
  names: readonly EntryName[],
): Promise<(EntryName & { readonly id: string })[]> {
  return manager.query<{ id: string; type: EntryType; name: string }[]>(
    `select e.id, e.type, e.name
     from unnest($2::text[], $3::text[]) as n(type, name)
     join entry e on e.source_id = $1 and e.type = n.type and e.name = n.name`,
    [sourceId, names.map(({ type }) => type), names.map(({ name }) => name)],
  );
}

/** Adds versions to their entries. */
export async function insertVersions(manager: EntityManager, rows: Iterable<NewVersionRow>): Promise<void> {
  await copyRows(
    manager,
    `copy entry_version (entry_id, version, version_key, document, digest, search, status, status_message,
       status_changed_at, published_at, updated_at, is_latest, summary) from stdin (format binary)`,
    rows,
    (row, version) => {
      row.begin(13);
      row.bigint(BigInt(version.entryId));
      row.text(version.version);
      row.text(version.versionKey);
      row.bytes(version.document);
      row.bytes(version.digest);
      row.text(version.search);
      row.text(version.status);
      row.text(version.statusMessage);
      row.time(version.statusChangedAt);
      row.time(version.publishedAt);
      row.time(version.updatedAt);
      row.boolean(version.isLatest);
      row.text(version.summary);
    },
  );
}

export async function deleteVersions(manager: EntityManager, ids: readonly string[]): Promise<void> {
  await manager.delete(EntryVersion, { id: Any(ids) });
}
