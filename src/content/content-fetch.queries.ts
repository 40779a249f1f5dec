import type { EntityManager } from 'typeorm';
import type { ReviewRule } from '../admission/reviewers.js';
import type { Claims } from '../claims/claims.js';
import type { VersionName } from '../documents/entry-types.js';
import { MEMBERS_VERSION } from '../members/members.js';

/** A version whose content this replica fetches now. */
export interface Fetch {
  readonly versionId: string;
  readonly sourceId: number;
}

export interface FetchedVersion extends VersionName {
  readonly document: string;
  readonly packages: string;
  /** The commit or digest of an earlier attempt. */
  readonly pin: string | null;
  /** Failures so far. */
  readonly attempts: number;
  readonly source: string;
  readonly isManaged: boolean;
  /** The source's repository, if the source makes its documents of skills or plugins there. */
  readonly repository: string | null;
  readonly claims: Claims;
  readonly review: readonly ReviewRule[] | null;
  /** Whether the source has rules about what comes in. */
  readonly isCurated: boolean;
}

/**
 * Takes versions that are due, from each source in turn, and leases them: if they are not stored by then, any replica takes
 * them again.
 *
 * @param busy sources that must wait.
 */
export async function takeFetches(
  manager: EntityManager,
  limit: number,
  perSource: number,
  busy: readonly number[],
  leaseMs: number,
): Promise<Fetch[]> {
  const [rows] = await manager.query<[Fetch[], number]>(
    `with waiting as materialized (
       select distinct source_id from content_fetch where fetch_at <= now() and source_id <> all($3::int[])
     ), due as materialized (
       select d.version_id from waiting w cross join lateral (
         select version_id, row_number() over (order by fetch_at) as turn from content_fetch
         where source_id = w.source_id and fetch_at <= now() order by fetch_at limit $2::int
       ) d order by d.turn, random() limit $1::int
     ), taken as materialized (
       select f.version_id from due join content_fetch f on f.version_id = due.version_id
       where f.fetch_at <= now() for update of f skip locked
     )
     update content_fetch f set fetch_at = now() + $4::float * interval '1 millisecond' from taken
     where f.version_id = taken.version_id
     returning f.version_id as "versionId", f.source_id as "sourceId"`,
    [limit, perSource, busy, leaseMs],
  );
  return rows;
}

/** Returns what to fetch; null if the version is gone. */
export async function fetchedVersion(
  manager: EntityManager,
  versionId: string,
): Promise<FetchedVersion | null> {
  const [row] = await manager.query<FetchedVersion[]>(
    `select e.type, e.name, v.version, v.document, f.packages, f.pin, f.attempts, s.name as source,
       s.kind = 'managed' as "isManaged",
       case when y.format in ('marketplace', 'skills') then s.settings->>'repository' end as repository, c.claims, s.settings->'review' as review,
       s.admission is not null as "isCurated"
     from content_fetch f join entry_version v on v.id = f.version_id join entry e on e.id = v.entry_id
     join source s on s.id = e.source_id join source_sync y on y.source_id = s.id
     join claim_set c on c.id = e.claim_set_id
     where f.version_id = $1 and f.packages is not null`,
    [versionId],
  );
  return row ?? null;
}

/** The size of all stored files, the trees whose members are outdated, and the versions that wait to be fetched. */
export async function readContentFigures(manager: EntityManager): Promise<{
  readonly stored: number;
  readonly outdated: number;
  readonly pending: number;
  readonly failed: number;
  /** Age of the oldest pending version in seconds. */
  readonly oldest: number;
}> {
  const [figures] = await manager.query<
    { stored: number; outdated: number; pending: number; failed: number; oldest: number }[]
  >(
    `select (select coalesce(sum(bytes), 0)::float8 from content_blob) as stored,
       (select count(*)::int from content_tree where members_version < $1) as outdated,
       count(*) filter (where error is null)::int as pending, count(error)::int as failed,
       coalesce(extract(epoch from now() - min(queued_at) filter (where error is null)), 0)::float8 as oldest
     from content_fetch where fetch_at is not null`,
    [MEMBERS_VERSION],
  );
  if (!figures) throw new Error('PostgreSQL returned no figures');
  return figures;
}
