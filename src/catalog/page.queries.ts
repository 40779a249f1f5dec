import type { NamedValues } from '../database/statements.js';
import type { EntryType } from '../documents/entry-types.js';
import {
  FRESHNESS,
  type CheckedRow,
  IS_WORTH_READING,
  type ViewSql,
} from '../visibility/freshness.queries.js';
import { partitionValues, type ViewOfPartitions } from '../visibility/view.js';
import { isVisibleAmongMany, rankedBy } from '../visibility/visible-entries.queries.js';
import { conditionValues, type ListRequest, nameFrom, passingVersions } from './list-request.js';
import {
  FOUND_COLUMNS,
  type MaybeVersion,
  PAGE_WINDOW,
  VERSION_COLUMNS,
  VERSION_COLUMNS_WITHOUT_LONG,
} from './page-body.js';
import { firstEntry } from './version.queries.js';

// The *.queries.ts files in this folder contain all statements that read pages; test/api/page-statements/*.sql shows
// them as sent. A statement's text depends only on which fields of the filter and the position are set. Statements
// filter by the ids in a view and know nothing about claims. test/api/catalog.plans.spec.ts tests their plans: OFFSET 0
// keeps the planner from flattening a subquery, so that each subquery uses its own index once per outer row.

/** One step of the walk through the names of a view. */
export interface WalkStep {
  readonly type: EntryType;
  readonly request: ListRequest;
  /** Number of names that the walk covers. */
  readonly names: number;
  /** Number of entries to read from each partition or source. */
  readonly depth: number;
  /** Maximum number of versions to return. */
  readonly rows: number;
}

/** A version, or nulls if none was found, and the progress of the step. */
export type WalkRow = MaybeVersion &
  CheckedRow & {
    /** The last name of this step; null at the end of the view. */
    readonly reached: string | null;
    /** Share of visible entries among the entries read, from 0 to 1; null if no entry was read. */
    readonly visibleShare: number | null;
  };

/**
 * Reads the versions of a view's next names by merging its partitions.
 *
 * While some partitions have unread entries, a name is complete only if no such partition stopped before it: then all
 * its visible entries have been read, and the first in registry order shadows the others (reference/catalog).
 */
export function walkByPartition(
  sql: ViewSql,
  view: ViewOfPartitions,
  { type, request, ...sizes }: WalkStep,
): Promise<WalkRow[]> {
  const { after } = request;
  return sql.query<WalkRow>(
    `
with ${FRESHNESS},
partitions as materialized (
  select * from unnest(
    (select $partitionSources::int[]), (select $partitionClaimSets::int[]), (select $partitionRanks::int[])
  ) as p(source_id, claim_set_id, rank)
  where ${IS_WORTH_READING}
),
next_entries as materialized (
  select p.source_id, p.claim_set_id, p.rank, e.id, e.name, e.claims_changed_at
  from partitions p cross join lateral (
    select e.id, e.name, e.claims_changed_at from entry e
    where e.source_id = p.source_id and e.type = (select $type::text) and e.claim_set_id = p.claim_set_id
      and ${nameFrom(after, 'e.name')}
    order by e.name limit (select $depth::int)
  ) e
),
complete as materialized (
  select min(last_name) as last_name from (
    select max(name) as last_name from next_entries group by source_id, claim_set_id having count(*) = $depth
  ) partition_with_more
),
names as materialized (
  select distinct on (name) id, name, claims_changed_at from next_entries
  where (select last_name from complete) is null or name <= (select last_name from complete)
  order by name, rank limit (select $names::int)
),
progress as (
  select case when (select count(*) from names) = $names then (select max(name) from names)
    else (select last_name from complete) end as reached
)
select (select "isCurrent" from freshness), progress.reached, 1 as "visibleShare",
    ${versionsOfNames(request)}`,
    { ...walkValues(type, request), ...partitionValues(view), ...sizes },
  );
}

/**
 * Works like `walkByPartition`, but merges the view's sources and tests each entry's claim set. Hidden entries are
 * removed before names are compared, so they shadow nothing.
 */
export function walkBySource(sql: ViewSql, { type, request, ...sizes }: WalkStep): Promise<WalkRow[]> {
  const { after } = request;
  return sql.query<WalkRow>(
    `
with ${FRESHNESS},
${rankedBy('(select $rankedSources::int[])')},
next_entries as materialized (
  select r.source_id, r.rank, e.id, e.name, e.claims_changed_at, ${isVisibleAmongMany('e')} as visible
  from ranked r cross join lateral (
    select e.id, e.name, e.claim_set_id, e.claims_changed_at from entry e
    where e.source_id = r.source_id and e.type = (select $type::text)
      and ${nameFrom(after, 'e.name')}
    order by e.name limit (select $depth::int)
  ) e
),
complete as materialized (
  select min(last_name) as last_name from (
    select max(name) as last_name from next_entries group by source_id having count(*) = $depth
  ) source_with_more
),
names as materialized (
  select distinct on (name) id, name, claims_changed_at from next_entries
  where visible and ((select last_name from complete) is null or name <= (select last_name from complete))
  order by name, rank limit (select $names::int)
),
progress as (
  select case when (select count(*) from names) = $names then (select max(name) from names)
    else (select last_name from complete) end as reached,
    (select avg(visible::int)::float8 from next_entries) as "visibleShare"
)
select (select "isCurrent" from freshness), progress.reached, progress."visibleShare",
    ${versionsOfNames(request)}`,
    { ...walkValues(type, request), ...sizes },
  );
}

function walkValues(type: EntryType, request: ListRequest): NamedValues {
  return { ...conditionValues(type, request), maxDocumentBytes: request.maxDocumentBytes };
}

/** SQL: the final part of both walks; selects the versions of `names` that pass the filter and fit on the page. */
function versionsOfNames(request: ListRequest): string {
  const entry = { id: 'n.id', name: 'n.name', claimsChangedAt: 'n.claims_changed_at' };
  return `${FOUND_COLUMNS}
from progress left join (
  select n.name,
    ${request.maxDocumentBytes === undefined ? VERSION_COLUMNS : VERSION_COLUMNS_WITHOUT_LONG}
  from names n cross join lateral (
    ${passingVersions(request, entry, '(select $rows::int)')}
  ) v
  order by n.name, v.version_key desc limit (select $rows::int)
) found on true
window page as ${PAGE_WINDOW}
order by found.name, found.key desc`;
}

/** Reads the first versions of these names that pass the filter and come after the position. */
export function versionsOfListed(
  sql: ViewSql,
  { type, request, rows }: Pick<WalkStep, 'type' | 'request' | 'rows'>,
  names: readonly string[],
): Promise<(MaybeVersion & CheckedRow)[]> {
  const entry = { id: 'e.id', name: 'n.name', claimsChangedAt: 'null' };
  return sql.query<MaybeVersion & CheckedRow>(
    `
with ${FRESHNESS}
select freshness."isCurrent",
    ${FOUND_COLUMNS}
from freshness left join (
  select n.name,
    ${VERSION_COLUMNS}
  from (
    select name collate "C" as name from unnest((select $names::text[])) as asked(name) order by 1 offset 0
  ) n
  cross join lateral (
  ${firstEntry('n.name')}
  ) e
  cross join lateral (
    ${passingVersions(request, entry, '(select $rows::int)')}
  ) v
  order by n.name, v.version_key desc limit (select $rows::int)
) found on true
window page as ${PAGE_WINDOW}
order by found.name, found.key desc`,
    { ...conditionValues(type, request), rows, names },
  );
}

/** Returns no entries, but checks that the empty view is current: entries may have become visible since. */
export async function nothingVisible(sql: ViewSql): Promise<[]> {
  await sql.query(`
with ${FRESHNESS}
select "isCurrent" from freshness`);
  return [];
}
