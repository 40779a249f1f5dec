import type { EntryType } from '../documents/entry-types.js';
import { COMMON_STATUS } from '../documents/statuses.js';
import { FRESHNESS, type CheckedRow, type ViewSql } from '../visibility/freshness.queries.js';
import { isVisible, rankedBy } from '../visibility/visible-entries.queries.js';
import {
  changedSince,
  conditionValues,
  type ListFilter,
  type ListRequest,
  nameFrom,
  passes,
  versionAfter,
} from './list-request.js';
import { FOUND_COLUMNS, type MaybeVersion, PAGE_WINDOW, VERSION_COLUMNS } from './page-body.js';

/** Reads a page through the index of one condition of the filter. */
export type IndexScan = (sql: ViewSql, step: ScanStep) => Promise<ScanRow[]>;

/** A condition whose index also contains later values. */
interface OrderedIndex {
  readonly column: 'version' | 'status';
  /** Condition that selects candidates `v` from the index. */
  readonly candidates: string;
  readonly exact: string;
}

// Subqueries hide the values from the planner. The planner then assumes that an inequality matches a third of the
// table, and prefers an ordered index scan over a sort.
const UPDATED_SINCE = 'v.updated_at >= (select $updatedSince::timestamptz)';
const VERSION: OrderedIndex = {
  column: 'version',
  candidates: 'v.version >= (select $version::text)',
  exact: 'v.version = (select $version::text)',
};
const STATUS: OrderedIndex = {
  column: 'status',
  candidates: `v.status >= (select $status::text) and v.status <> '${COMMON_STATUS}'`,
  exact: 'v.status = (select $status::text)',
};

/** Returns the scans that can serve this filter. None serves its search text: see `readByNames`. */
export function indexScansFor({ updatedSince, version, status }: ListFilter): IndexScan[] {
  const scans: IndexScan[] = [];
  if (updatedSince !== undefined) scans.push(scanChanges);
  if (version !== undefined && version !== 'latest')
    scans.push((sql, step) => scanInOrder(sql, step, VERSION));
  if (status !== undefined && status !== COMMON_STATUS)
    scans.push((sql, step) => scanInOrder(sql, step, STATUS));
  return scans;
}

/** Input and limits of one scan. */
interface ScanStep {
  readonly type: EntryType;
  readonly request: ListRequest;
  /** Maximum number of index rows to read. */
  readonly maxCandidates: number;
  /** Maximum number of versions to return. */
  readonly rows: number;
}

/** A version, or nulls if none was found. `complete` means that the index has no further candidates. */
type ScanRow = MaybeVersion & CheckedRow & { readonly complete: boolean };

/**
 * Reads a page through one index. Counts the candidates first, with an index-only scan where possible, and reads them
 * only if their number is within the limit. Visibility comes before shadowing (reference/catalog): only visible entries of an
 * earlier source shadow others.
 */
function scanInOrder(
  sql: ViewSql,
  { type, request, ...sizes }: ScanStep,
  { column, candidates, exact }: OrderedIndex,
): Promise<ScanRow[]> {
  const { filter } = request;
  return sql.query<ScanRow>(
    `
with ${FRESHNESS},
${rankedBy('$rankedSources::int[]')},
total as materialized (
  select count(*) as n, count(*) <= $maxCandidates as complete from (
    select v.${column} from entry_version v
    where ${candidates}
    order by v.${column} limit $maxCandidates + 1
  ) v
  where ${exact}
),
candidates as materialized (
  select * from (
    select v.id, v.entry_id, v.version_key, v.updated_at, ${passes(filter)} as passes
    from entry_version v
    where ${candidates}
    order by v.${column} limit $maxCandidates + 1
  ) c
  where (select complete from total) limit (select n from total)
),
${shownAmong(request)}`,
    { ...conditionValues(type, request), ...sizes },
  );
}

/**
 * Reads a page of changes since a time: changed versions, and all versions of entries with changed claims. A version
 * that matches both conditions is counted twice but read once.
 */
function scanChanges(sql: ViewSql, { type, request, ...sizes }: ScanStep): Promise<ScanRow[]> {
  const { filter } = request;
  return sql.query<ScanRow>(
    `
with ${FRESHNESS},
${rankedBy('$rankedSources::int[]')},
relabeled as materialized (
  select e.id from entry e
  where e.claims_changed_at >= (select $updatedSince::timestamptz)
  order by e.claims_changed_at limit $maxCandidates + 1
),
total as materialized (
  select n, n <= $maxCandidates as complete from (
    select (
      select count(*) from (
        select v.updated_at from entry_version v
        where ${UPDATED_SINCE}
        order by v.updated_at limit $maxCandidates + 1
      ) v
    ) + (
      select count(*) from (
        select 1 from relabeled r cross join lateral (
          select 1 from entry_version v where v.entry_id = r.id offset 0
        ) v
        limit $maxCandidates + 1
      ) v
    ) as n
  ) counted
),
candidates as materialized (
  select v.id, v.entry_id, v.version_key, v.updated_at, ${passes(filter)} as passes
  from (
    (select v.id from entry_version v
      where ${UPDATED_SINCE} and (select complete from total)
      order by v.updated_at limit (select n from total))
    union
    select v.id from relabeled r cross join lateral (
      select v.id from entry_version v where v.entry_id = r.id and (select complete from total) offset 0
    ) v
  ) changed cross join lateral (
    select * from entry_version v where v.id = changed.id offset 0
  ) v
),
${shownAmong(request)}`,
    { ...conditionValues(type, request), ...sizes },
  );
}

/** SQL: the final part of every scan; selects visible `candidates` that are not shadowed. */
function shownAmong({ filter, after }: ListRequest): string {
  return `visible as materialized (
  select e.name, c.version_key, c.id, r.rank
  from candidates c
  cross join lateral (
    select e.name, e.source_id, e.claim_set_id, e.claims_changed_at from entry e
    where e.id = c.entry_id and e.type = $type offset 0
  ) e
  join ranked r on r.source_id = e.source_id
  where (select complete from total) and c.passes and ${isVisible('e')}
    and ${changedSince(filter, 'c.updated_at', 'e.claims_changed_at')}
    and ${nameFrom(after, 'e.name')}
    and ${versionAfter(after, 'e.name', 'c.version_key')}
),
shown as materialized (
  select s.name, s.version_key, s.id
  from (select * from visible order by name, version_key desc offset 0) s
  where not exists (
    select 1 from ranked r cross join lateral (
      select 1 from entry h
      where h.source_id = r.source_id and h.type = $type and h.name = s.name
        and ${isVisible('h')} offset 0
    ) h
    where r.rank < s.rank offset 0
  )
  order by s.name, s.version_key desc limit $rows
)
select (select "isCurrent" from freshness), total.complete,
    ${FOUND_COLUMNS}
from total left join (
  select s.name,
    ${VERSION_COLUMNS}
  from shown s join entry_version v on v.id = s.id
) found on true
window page as ${PAGE_WINDOW}
order by found.name, found.key desc`;
}
