import type { EntryType } from '../../documents/entry-types.js';
import { CURRENCY, IS_WORTH_READING } from '../../views/views.queries.js';
import {
  conditionValues,
  isVisible,
  isVisibleAmongMany,
  nameFrom,
  NOT_DELETED,
  passingVersions,
  rankedBy,
} from './list-conditions.js';
import type { ListRequest } from './list-request.js';
import type { CurrencyRow } from './snapshot-check.js';
import { type MaybeVersion, VERSION_COLUMNS } from './version-row.js';
import { FOUND_COLUMNS, ONLY_FOUND_COLUMNS, PAGE_WINDOW } from './page-size.js';
import { partitionValues, type ViewSql } from './view-sql.queries.js';

// With those of index-scan.queries.ts, every statement that reads pages of the consumer API, as sent in test/api/page-statements/*.sql. Only the conditions of the
// filter and of the position vary, and the text is the same for the same keys of a filter. All of them filter by the ids of
// a view, and none knows claims. Their plans are held by test/api/catalog.plans.spec.ts: OFFSET 0 keeps each subquery as it
// is written, so that it is answered by its own index, once per row outside of it.

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

/** SQL: which versions `v` of a name are meant. */
const WHICH = {
  all: 'true',
  latest: 'v.is_latest',
  exact: 'v.version = $version',
} as const;

/** SQL: of the versions of one name, those that have room on a page; of a single one there is nothing to measure or to sort. */
const ALL_FOUND = {
  columns: FOUND_COLUMNS,
  order: `window page as ${PAGE_WINDOW}
order by found.key desc`,
};
const ONLY_FOUND = { columns: ONLY_FOUND_COLUMNS, order: 'limit 1' };

/** Versions of one name. */
export interface NamedVersions {
  readonly type: EntryType;
  readonly name: string;
  readonly which: keyof typeof WHICH;
  /** The one that is meant by `exact`. */
  readonly version?: string;
  readonly includeDeleted: boolean;
  /** Only versions older than the one with this key. */
  readonly after?: string | null;
}

/** Versions of one name, newest first, from the first source whose entry is in the view; a single row of nulls for none. */
export function versionsOfName(
  sql: ViewSql,
  { type, name, which, version, includeDeleted, after = null }: NamedVersions,
): Promise<(MaybeVersion & CurrencyRow)[]> {
  const { columns, order } = which === 'all' ? ALL_FOUND : ONLY_FOUND;
  return sql.query<MaybeVersion & CurrencyRow>(
    `
with ${CURRENCY},
${rankedBy('(select $rankedSources::int[])')},
first_entry as materialized (
  ${firstEntry('$name')}
)
select currency."isCurrent",
    ${columns}
from currency left join (
  select f.name,
    ${VERSION_COLUMNS}
  from first_entry f join entry_version v on v.entry_id = f.id
  where ${WHICH[which]} and ${includeDeleted ? 'true' : NOT_DELETED}
    and ($afterKey::text is null or v.version_key < $afterKey)
) found on true
${order}`,
    { type, name, version, afterKey: after },
  );
}

/** One version of each of several names. */
export interface SingleVersions {
  readonly type: EntryType;
  readonly which: 'latest' | 'exact';
  readonly includeDeleted: boolean;
}

export interface VersionName {
  readonly name: string;
  /** The one that is meant by `exact`. */
  readonly version: string;
}

/** A version that was found, or nulls when none was. */
export type SingleVersionRow = MaybeVersion &
  CurrencyRow & {
    /** Which of the names it is for, from 0 on. */
    readonly place: number | null;
  };

/**
 * The version that is asked for of each of these names, from the first source whose entry is in the view. The documents have room
 * together as on a page.
 */
export function singleVersions(
  sql: ViewSql,
  { type, which, includeDeleted }: SingleVersions,
  asked: readonly VersionName[],
): Promise<SingleVersionRow[]> {
  return sql.query<SingleVersionRow>(
    `
with ${CURRENCY},
${rankedBy('(select $rankedSources::int[])')}
select currency."isCurrent", found.place,
    ${FOUND_COLUMNS}
from currency left join (
  select asked.place::int - 1 as place, e.name,
    ${VERSION_COLUMNS}
  from unnest((select $names::text[]), (select $versions::text[])) with ordinality as asked(name, version, place)
  cross join lateral (
  ${firstEntry('asked.name')}
  ) e
  cross join lateral (
    select * from entry_version o
    where o.entry_id = e.id and ${which === 'exact' ? 'o.version = asked.version' : 'o.is_latest'} offset 0
  ) v
  where ${includeDeleted ? 'true' : NOT_DELETED}
) found on true
window page as (order by found.place rows unbounded preceding)`,
    { type, names: asked.map(({ name }) => name), versions: asked.map(({ version }) => version) },
  );
}

/** SQL: of the entries of one name that are in the view, that of the first source. */
function firstEntry(name: string): string {
  return `select e.id, e.name
  from ranked r cross join lateral (
    select e.id, e.name from entry e
    where e.source_id = r.source_id and e.type = $type and e.name = ${name}
      and ${isVisible('e')} offset 0
  ) e
  order by r.rank limit 1`;
}

/** What a view in which nothing is visible shows. That nothing is visible is an answer like any other, and may be out of date too. */
export async function nothingVisible(sql: ViewSql): Promise<[]> {
  await sql.query(`
with ${CURRENCY}
select "isCurrent" from currency`);
  return [];
}
