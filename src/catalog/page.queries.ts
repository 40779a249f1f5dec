import type { EntryType } from '../documents/entry-types.js';
import { CURRENCY, IS_WORTH_READING } from '../visibility/views.queries.js';
import {
  conditionValues,
  isVisibleAmongMany,
  nameFrom,
  passingVersions,
  rankedBy,
} from './list-conditions.js';
import type { ListRequest } from './list-request.js';
import { FOUND_COLUMNS, type MaybeVersion, PAGE_WINDOW, VERSION_COLUMNS } from './page-body.js';
import { type CurrencyRow, partitionValues, type ViewSql } from './view-sql.queries.js';

// With those of the other *.queries.ts of this folder, every statement that reads pages of the consumer API, as sent in
// test/api/page-statements/*.sql. Only the conditions of the filter and of the position vary, and the text is the same for the
// same keys of a filter. All of them filter by the ids of a view, and none knows claims. Their plans are held by
// test/api/catalog.plans.spec.ts: OFFSET 0 keeps each subquery as it is written, so that it is answered by its own index, once
// per row outside of it.

/** One step of the walk through the names of a view. */
export interface WalkStep {
  readonly type: EntryType;
  readonly request: ListRequest;
  /** Names to go over. */
  readonly names: number;
  /** Entries to read of each partition, or of each source. */
  readonly depth: number;
  /** Versions to return at most. */
  readonly rows: number;
}

/** A version that was found, or nulls, beside how far the step came. */
export type WalkRow = MaybeVersion &
  CurrencyRow & {
    /** The last name this step has dealt with; null when there are no more. */
    readonly reached: string | null;
    /** How much of what was read is in the view, from 0 to 1; null for nothing read. */
    readonly visibleShare: number | null;
  };

/**
 * The versions of the next names of a view, as the merge of its partitions.
 *
 * As long as a partition has more entries than were read, only names up to the first of their ends are known to be complete. All
 * visible entries of one name are among those, so the first in the order of the registry shadows the others (contract §6).
 */
export function walkByPartition(sql: ViewSql, { type, request, ...sizes }: WalkStep): Promise<WalkRow[]> {
  const { after } = request;
  return sql.query<WalkRow>(
    `
with ${CURRENCY},
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
select (select "isCurrent" from currency), progress.reached, 1 as "visibleShare",
    ${versionsOfNames(request)}`,
    { ...conditionValues(type, request), ...partitionValues(sql.view), ...sizes },
  );
}

/**
 * The same as the merge of the sources of a view: each entry's claim set is tested against all that are visible. What is not
 * visible is left out before names are compared, so that it shadows nothing.
 */
export function walkBySource(sql: ViewSql, { type, request, ...sizes }: WalkStep): Promise<WalkRow[]> {
  const { after } = request;
  return sql.query<WalkRow>(
    `
with ${CURRENCY},
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
select (select "isCurrent" from currency), progress.reached, progress."visibleShare",
    ${versionsOfNames(request)}`,
    { ...conditionValues(type, request), ...sizes },
  );
}

/** SQL: the end of both walks: of the `names`, the versions that pass and have room on the page. */
function versionsOfNames(request: ListRequest): string {
  const entry = { id: 'n.id', name: 'n.name', claimsChangedAt: 'n.claims_changed_at' };
  return `${FOUND_COLUMNS}
from progress left join (
  select n.name,
    ${VERSION_COLUMNS}
  from names n cross join lateral (
    ${passingVersions(request, entry, '(select $rows::int)')}
  ) v
  order by n.name, v.version_key desc limit (select $rows::int)
) found on true
window page as ${PAGE_WINDOW}
order by found.name, found.key desc`;
}

/** What a view in which nothing is visible shows. That nothing is visible is an answer like any other, and may be out of date too. */
export async function nothingVisible(sql: ViewSql): Promise<[]> {
  await sql.query(`
with ${CURRENCY}
select "isCurrent" from currency`);
  return [];
}
