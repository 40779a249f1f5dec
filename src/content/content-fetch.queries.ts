import { type EntityManager, IsNull, LessThan, Not } from 'typeorm';
import type { ContentTarget } from '../admission/content-admission.queries.js';
import type { ReviewRule } from '../admission/review-rules.js';
import type { Claims } from '../claims/claims.js';
import type { VersionName } from '../documents/entry-types.js';
import { MEMBERS_VERSION } from '../members/members.js';
import { ContentBlob, ContentFetch, ContentTree } from './content.entity.js';

/** A version whose content this replica is fetching. */
export interface Fetch {
  readonly id: string;
  readonly sourceId: number;
}

export interface FetchedVersion extends VersionName {
  readonly target: ContentTarget;
  readonly document: string;
  readonly packages: string;
  /** The commit or digest of an earlier attempt. */
  readonly pin: string | null;
  /** Number of failures so far. */
  readonly attempts: number;
  readonly source: string;
  readonly isManaged: boolean;
  /** The source's repository, if the source derives its skill or plugin documents from it. */
  readonly repository: string | null;
  readonly claims: Claims;
  readonly review: readonly ReviewRule[] | null;
  /** Whether the source has admission rules. */
  readonly isCurated: boolean;
}

/**
 * Takes due versions, from each source in turn, and leases them: when a lease expires before the content is stored, any
 * replica takes the version again.
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
       select d.id from waiting w cross join lateral (
         select id, row_number() over (order by fetch_at) as turn from content_fetch
         where source_id = w.source_id and fetch_at <= now() order by fetch_at limit $2::int
       ) d order by d.turn, random() limit $1::int
     ), taken as materialized (
       select f.id from due join content_fetch f on f.id = due.id
       where f.fetch_at <= now() for update of f skip locked
     )
     update content_fetch f set fetch_at = now() + $4::float * interval '1 millisecond' from taken
     where f.id = taken.id
     returning f.id, f.source_id as "sourceId"`,
    [limit, perSource, busy, leaseMs],
  );
  return rows;
}

/** Returns what to fetch; null if the version is gone, or no longer held for its content. */
export async function fetchedVersion(manager: EntityManager, id: string): Promise<FetchedVersion | null> {
  const [row] = await manager.query<FetchedVersion[]>(
    `select w.target, w.type, w.name, w.version, w.document, f.packages, f.pin, f.attempts, s.name as source,
       s.kind = 'managed' as "isManaged",
       case when y.format in ('marketplace', 'skills') then s.settings->>'repository' end as repository, coalesce(w.claims, c.claims) as claims, s.settings->'review' as review,
       s.admission is not null as "isCurated"
     from content_fetch f join source s on s.id = f.source_id join source_sync y on y.source_id = s.id
     join claim_set c on c.id = s.claim_set_id
     cross join lateral (
       select json_build_object('versionId', v.id::text) as target, e.type, e.name, v.version, v.document, k.claims
       from entry_version v join entry e on e.id = v.entry_id join claim_set k on k.id = e.claim_set_id
       where v.id = f.version_id
       union all
       select json_build_object('itemId', i.id), i.type, i.name, i.version, i.document, i.claims from admission_item i
       where i.id = f.item_id and i.status = 'held' and i.reasons @> '[{"policy": "content"}]'
     ) w
     where f.id = $1 and f.packages is not null`,
    [id],
  );
  return row ?? null;
}

/**
 * The size of all stored files, the number of trees with outdated members, and the number of versions waiting to be
 * fetched.
 */
export async function readContentFigures(manager: EntityManager): Promise<{
  readonly stored: number;
  readonly outdated: number;
  readonly pending: number;
  readonly failed: number;
  /** Age of the oldest pending version in seconds. */
  readonly oldest: number;
}> {
  const stored = await manager.sum(ContentBlob, 'bytes');
  const outdated = await manager.countBy(ContentTree, { membersVersion: LessThan(MEMBERS_VERSION) });
  const figures = await manager
    .createQueryBuilder(ContentFetch, 'queued')
    .select('count(*) filter (where queued.error is null)::int', 'pending')
    .addSelect('count(queued.error)::int', 'failed')
    .addSelect(
      'coalesce(extract(epoch from now() - min(queued.queuedAt) filter (where queued.error is null)), 0)::float8',
      'oldest',
    )
    .where({ fetchAt: Not(IsNull()) })
    .getRawOne<{ pending: number; failed: number; oldest: number }>();
  if (!figures) throw new Error('PostgreSQL returned no figures');
  return { stored: stored ?? 0, outdated, ...figures };
}
