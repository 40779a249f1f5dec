import { Any, type EntityManager } from 'typeorm';
import { columnArrays } from '../database/bulk.js';
import { isOneOf } from '../database/sql-expressions.js';
import type { VersionName } from '../documents/entry-types.js';
import { LATEST_STATUSES } from '../documents/statuses.js';
import { UPSTREAM_LATEST } from '../documents/versions.js';
import { EntryVersion } from './entry.entity.js';

/**
 * Elects the latest version of each entry: the newest one with a status that is eligible to be latest, otherwise the
 * newest one. Must run in the transaction that changed the versions.
 *
 * @returns the ids of the versions that became latest.
 */
export async function electLatest(
  manager: EntityManager,
  entryIds: readonly string[],
): Promise<ReadonlySet<string>> {
  // Two statements, because PostgreSQL checks the unique index on the latest version row by row. `entry_version_order`
  // finds the newest of thousands of versions as cheaply as the newest of two. Removed entries get no latest version.
  // The lateral join looks up each id, even if the planner believes that the table has just become empty.
  const elected = await manager.query<{ id: string }[]>(
    `with elected as materialized (
       select coalesce(
         (select v.id from entry_version v where v.entry_id = e.id and ${isOneOf('v.status', LATEST_STATUSES)}
          order by v.version_key desc limit 1),
         (select v.id from entry_version v where v.entry_id = e.id order by v.version_key desc limit 1)
       ) as id
       from unnest($1::bigint[]) as e(id)
     ), deposed as (
       update entry_version set is_latest = false
       where entry_id = any($1::bigint[]) and is_latest and id not in (select id from elected where id is not null)
     )
     select v.id from elected cross join lateral (
       select id from entry_version where id = elected.id and not is_latest offset 0
     ) v`,
    [entryIds],
  );
  const ids = elected.map(({ id }) => id);
  if (ids.length > 0) await manager.update(EntryVersion, { id: Any(ids) }, { isLatest: true });
  return new Set(ids);
}

/**
 * Returns whether one version precedes another in the election of the latest version. Uses the order of `electLatest`,
 * for entries that are not stored yet.
 */
export function precedes(one: Electable, other: Electable): boolean {
  const mayBeLatest = LATEST_STATUSES.includes(one.status);
  if (mayBeLatest !== LATEST_STATUSES.includes(other.status)) return mayBeLatest;
  // Compares bytes, as the database does: UTF-16 order differs.
  return Buffer.compare(Buffer.from(one.versionKey), Buffer.from(other.versionKey)) > 0;
}

type Electable = Pick<EntryVersion, 'status' | 'versionKey'>;

/**
 * Demotes an entry's previous upstream-latest version when the upstream registry reports a new one, because incremental
 * syncs report only the new one. Skips entries with several upstream-latest versions.
 *
 * @param latest the versions that the upstream registry now marks as latest.
 */
export async function demoteUpstreamLatest(
  manager: EntityManager,
  sourceId: number,
  latest: readonly VersionName[],
): Promise<void> {
  await manager.query(
    `with called as (
       select e.id as entry_id, n.version
       from unnest($2::text[], $3::text[], $4::text[]) as n(type, name, version)
       join entry e on e.source_id = $1 and e.type = n.type and e.name = n.name
     ), before as (
       select v.id, v.entry_id, v.version, count(*) over (partition by v.entry_id) as versions
       from (select distinct entry_id from called) c
       join entry_version v on v.entry_id = c.entry_id and v.version_key >= $5
     )
     update entry_version v set version_key = substr(v.version_key, length($5) + 1)
     from before b
     where v.id = b.id and b.versions = 1
       and not exists (select 1 from called c where c.entry_id = b.entry_id and c.version = b.version)`,
    [sourceId, ...columnArrays(latest, 'type', 'name', 'version'), UPSTREAM_LATEST],
  );
}
