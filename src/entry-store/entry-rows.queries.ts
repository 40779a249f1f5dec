import { Any, type EntityManager, In, Raw } from 'typeorm';
import type { Claims } from '../claims/claims.js';
import type { EntryName, EntryType } from '../documents/entry-types.js';
import { EntryVersion, RemovedEntry } from './entry.entity.js';

/*
 * The statements of the bulk writer. Each writes one batch; most take one array parameter per column.
 */

/** How long removals are kept: longer than the hour after which an index reads a source from the beginning. */
const REMEMBERED = '2 hours';

/** SQL: the next revision of the source `$1`, which the transaction must have locked: see `noteChanged`. */
export const NEXT_REVISION = `(select revision + 1 from source where id = $1)`;

/** An entry with its new claim set. */
export interface EntryRow extends EntryName {
  readonly claimSetId: number;
  /** `givenForm`; absent for claims that are inherited. */
  readonly givenClaims?: Claims | null;
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

export async function deleteVersions(manager: EntityManager, ids: readonly string[]): Promise<void> {
  await manager.delete(EntryVersion, { id: Any(ids) });
}
