import { Any, type EntityManager, In, Raw } from 'typeorm';
import { asGiven, type Claims } from '../claims/claims.js';
import { columnArrays } from '../database/bulk.js';
import type { EntryName, EntryType, VersionName } from '../documents/entry-types.js';
import type { Status } from '../documents/statuses.js';
import { KINDS, MANAGED_KIND } from '../source-kinds/kinds.js';
import { type EntrySize, SIZE_OF_ENTRY } from './entry-limits.queries.js';
import { EntryVersion, RemovedEntry } from './entry.entity.js';
import { electLatest } from './latest-version.queries.js';

/** A published entry, with what publishing another version requires. */
export interface PublishedEntry {
  readonly id: string;
  readonly sourceId: number;
  /** The claims required to see it. */
  readonly claims: Claims;
  /** The claims as given. */
  readonly shownClaims: Claims;
  readonly size: EntrySize;
  /** Whether the entry already has the version to be published. */
  readonly hasVersion: boolean;
  readonly latest: { readonly status: Status; readonly versionKey: string };
}

interface PublishedRow {
  readonly id: string;
  readonly sourceId: number;
  readonly claims: Claims;
  readonly givenClaims: Claims | null;
  readonly versions: number;
  readonly bytes: number;
  readonly hasVersion: boolean;
  readonly status: Status;
  readonly versionKey: string;
}

/** Reads the entry of a version to publish; null if the name is new. */
export async function findPublished(
  manager: EntityManager,
  { type, name, version }: VersionName,
): Promise<PublishedEntry | null> {
  const [row] = await manager.query<PublishedRow[]>(
    `select e.id, e.source_id as "sourceId", c.claims, e.given_claims as "givenClaims", size.*,
       latest.status, latest.version_key as "versionKey"
     from source s
     join entry e on e.source_id = s.id and e.type = $1 and e.name = $2
     join claim_set c on c.id = e.claim_set_id
     join entry_version latest on latest.entry_id = e.id and latest.is_latest
     cross join lateral (${SIZE_OF_ENTRY('e.id', '$3')}) size
     where s.kind = '${MANAGED_KIND}'`,
    [type, name, version],
  );
  if (!row) return null;
  const { id, sourceId, claims, givenClaims, versions, bytes, hasVersion, status, versionKey } = row;
  return {
    ...{ id, sourceId, claims, hasVersion },
    shownClaims: asGiven(claims, givenClaims),
    size: { versions, bytes },
    latest: { status, versionKey },
  };
}

/**
 * Increments the revision of a source, which invalidates its cached views and pages in every replica, and stores it
 * with these entries, so that indexes in memory read them again. All code that writes entries must call it, in the same
 * transaction. The source stays locked until the transaction ends, so revisions follow the order of commits: an index
 * that has read one revision finds all later changes at higher ones.
 */
export async function noteChanged(
  manager: EntityManager,
  sourceId: number,
  entryIds: readonly string[],
): Promise<void> {
  await manager.query(
    `with raised as (update source set revision = revision + 1 where id = $1 returning revision)
     update entry e set revision = r.revision from raised r where e.id = any($2::bigint[])`,
    [sourceId, entryIds],
  );
}

/** Elects the latest versions of entries whose versions changed, and calls `noteChanged`. */
export async function settleVersions(
  manager: EntityManager,
  sourceId: number,
  entryIds: readonly string[],
): Promise<void> {
  await electLatest(manager, entryIds);
  await noteChanged(manager, sourceId, entryIds);
}

/*
 * Bulk statements. Each writes one batch; most take one array parameter per column.
 */

/**
 * How long removals are kept: longer than an index can leave a source unread (an hour) without having to read the whole
 * source again.
 */
const REMEMBERED = '2 hours';
/**
 * How long removed plugins and skills are remembered, so that clients disable their copies (reference/client-config).
 */
const WITHDRAWN = '1 year';
/**
 * The kinds of sources whose current claims apply to their entries, including removed ones. Entries with other claims are
 * hidden (see `inheritClaims`), and stay hidden when they are removed.
 */
const INHERITING = Object.entries(KINDS).flatMap(([kind, { inheritsClaims }]) =>
  inheritsClaims ? [kind] : [],
);

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
      ...columnArrays(rows, 'type', 'name', 'claimSetId'),
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
       returning e.id, e.source_id, e.type, e.name, e.claim_set_id
     ), numbered as (
       update source s set revision = s.revision + 1 where s.id in (select source_id from deleted)
       returning s.id, s.revision, s.kind, s.claim_set_id
     ), noted as (
       insert into removed_entry (source_id, type, name, revision, claims)
       select d.source_id, d.type, d.name, n.revision,
         case when d.type <> 'server' and (n.kind <> all($2::text[]) or d.claim_set_id <> n.claim_set_id) then c.claims end
       from deleted d join numbered n on n.id = d.source_id join claim_set c on c.id = d.claim_set_id
       on conflict (source_id, type, name) do update
         set revision = excluded.revision, removed_at = now(), claims = excluded.claims
     )
     select id, source_id as "sourceId" from deleted`,
    [entryIds, INHERITING],
  );
  const sourceId = In([...new Set(deleted.map((entry) => entry.sourceId))]);
  const before = (age: string) => Raw((column) => `${column} < now() - interval '${age}'`);
  if (deleted.length > 0) {
    await manager.delete(RemovedEntry, { sourceId, type: 'server', removedAt: before(REMEMBERED) });
    await manager.delete(RemovedEntry, { sourceId, removedAt: before(WITHDRAWN) });
  }
  return deleted.map(({ id }) => id);
}

export async function deleteVersions(manager: EntityManager, ids: readonly string[]): Promise<void> {
  await manager.delete(EntryVersion, { id: Any(ids) });
}
