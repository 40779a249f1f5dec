import type { EntryType } from '../documents/entry-types.js';
import { countPartitions, type View } from '../visibility/view-cache.js';
import { CURRENCY } from '../visibility/views.queries.js';
import {
  conditionValues,
  isVisible,
  type ListRequest,
  nameFrom,
  passingVersions,
  rankedBy,
} from './list-request.js';
import { FOUND_COLUMNS, type MaybeVersion, PAGE_WINDOW, VERSION_COLUMNS } from './page-body.js';
import { type CurrencyRow, partitionValues, type ViewSql } from './view-sql.queries.js';

/** Up to this many index lookups, one per partition, are faster than skipping hidden matches of a common text. */
const MAX_PARTITION_LOOKUPS = 1_000;

/** Input and limits of one scan. */
export interface SearchStep {
  readonly type: EntryType;
  readonly request: ListRequest;
  /** Grams of the search text: see `gramsToFind`. */
  readonly grams: string;
  /** Maximum number of texts to find. */
  readonly maxCandidates: number;
  /** Maximum number of found texts to examine, in name order. */
  readonly maxSorted: number;
  /** Maximum number of versions to return. */
  readonly rows: number;
}

/** A version, or nulls if none was found, and whether the scan was complete. */
export type SearchRow = MaybeVersion &
  CurrencyRow & {
    /** Whether all candidates were found. */
    readonly complete: boolean;
    /** Whether some candidates were not examined. */
    readonly isCut: boolean;
  };

/** SQL: the index keys for `$grams`, each with this prefix. */
const keysOf = (prefix: string) =>
  `string_to_array(${prefix} || ' ' || replace($grams, chr(1), chr(1) || ${prefix} || ' '), chr(1))`;
const TEXT_KEYS = 'search_keys(t.partition_id, t.type, t.grams)';

/** SQL: the texts whose keys are not in the index yet (`addSearchKeys`), if `condition` holds. */
const textsWithoutKeys = (condition: string) => `select t.entry_id, t.name, t.content from (
    select t.entry_id, t.name, t.content from search_text t where t.grams = '' and ${condition} offset 0
  ) t`;

/** SQL: the texts in all partitions that contain the grams, if `condition` holds. */
const textsOfAll = (condition = 'true') => `select t.entry_id, t.name, t.content from (
    select t.entry_id, t.name, t.content from search_text t
    where ${TEXT_KEYS} @> ${keysOf('$type')} and ${condition} offset 0
  ) t`;

/**
 * SQL: the texts in visible partitions that may contain the grams, without reading hidden partitions. Makes one index
 * lookup per partition, then reads the table once; a single lookup suffices if all partitions are visible.
 */
const TEXTS_OF_PARTITIONS = `partitions as materialized (
  select p.id from unnest($partitionSources::int[], $partitionClaimSets::int[]) as v(source_id, claim_set_id)
  join search_partition p on p.source_id = v.source_id and p.type = $type and p.claim_set_id = v.claim_set_id
),
whole as materialized (
  select count(*) <= (select count(*) from partitions) as visible from (
    select 1 from search_partition p where p.type = $type limit (select count(*) from partitions) + 1
  ) p
),
texts as (
  select t.entry_id, t.name, t.content from (
    select array(
      select ${keysOf('p.id::text')}::search_key_list from partitions p where not (select visible from whole)
    ) as keys offset 0
  ) asked cross join lateral (
    select t.entry_id, t.name, t.content from search_text t
    where ${TEXT_KEYS} @> any (asked.keys) offset 0
  ) t
  union all
  ${textsOfAll('(select visible from whole)')}
  union all
  ${textsWithoutKeys('t.partition_id in (select id from partitions)')}
)`;

const TEXTS_OF_ALL = `texts as (
  ${textsOfAll()}
  union all
  ${textsWithoutKeys('t.type = $type')}
)`;

/**
 * Reads the versions whose text contains the search term, through the search text index. Examines candidates in name
 * order until the page is full, keeping versions that are visible, not shadowed (contract §6) and pass the filter.
 * Finding the first of many candidates is much faster than sorting all of them. A candidate beyond the limit gets an
 * empty name, so that it sorts first and reveals the excess. A separate count would take a quarter of the scan's time.
 */
export function scanSearchTexts(sql: ViewSql, { type, request, ...sizes }: SearchStep): Promise<SearchRow[]> {
  const { after } = request;
  const entry = { id: 'c.entry_id', name: 'c.name', claimsChangedAt: 'e.claims_changed_at' };
  const byPartition = !sql.view.seesAll && !scansHidden(sql.view);
  return sql.query<SearchRow>(
    `
with ${CURRENCY},
${rankedBy('$rankedSources::int[]')},
${byPartition ? TEXTS_OF_PARTITIONS : TEXTS_OF_ALL},
nearest as materialized (
  select entry_id, name, number from (
    select t.entry_id, t.name, row_number() over () as number from texts t
    where t.content like $searchPattern and ${nameFrom(after, 't.name')}
    limit $maxCandidates::int + 1
  ) candidates
  order by case when number <= $maxCandidates then name else '' end limit $maxSorted::int + 1
),
total as materialized (
  select not exists (select 1 from nearest where number > $maxCandidates) as complete
),
cut as materialized (
  select count(*) > $maxSorted as "isCut", max(name) as before from nearest
)
select (select "isCurrent" from currency), total.complete, cut."isCut",
    ${FOUND_COLUMNS}
from total cross join cut left join (
  select c.name,
    ${VERSION_COLUMNS}
  from (
    select entry_id, name from nearest
    where (select complete from total) and (not (select "isCut" from cut) or name < (select before from cut))
    group by name, entry_id order by name offset 0
  ) c
  cross join lateral (
    select e.source_id, e.claim_set_id, e.claims_changed_at from entry e
    where e.id = c.entry_id and e.type = $type offset 0
  ) e
  cross join lateral (
    select r.rank from ranked r where r.source_id = e.source_id and ${isVisible('e')} offset 0
  ) own
  cross join lateral (
    select 1 where not exists (
      select 1 from ranked r cross join lateral (
        select 1 from entry h
        where h.source_id = r.source_id and h.type = $type and h.name = c.name
          and ${isVisible('h')} offset 0
      ) h
      where r.rank < own.rank
    ) offset 0
  ) first
  cross join lateral (
    ${passingVersions(request, entry, '$rows')}
  ) v
  order by c.name, v.version_key desc limit $rows
) found on true
window page as ${PAGE_WINDOW}
order by found.name, found.key desc`,
    { ...conditionValues(type, request), ...(byPartition ? partitionValues(sql.view) : {}), ...sizes },
  );
}

/** Whether a scan for this view also finds hidden texts and skips them. */
export function scansHidden(view: View): boolean {
  return !view.seesAll && countPartitions(view) > MAX_PARTITION_LOOKUPS;
}
