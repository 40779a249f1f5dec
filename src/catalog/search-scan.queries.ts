import type { EntryType } from '../documents/entry-types.js';
import { countPartitions, type View } from '../visibility/view.js';
import { CURRENCY } from '../visibility/views.queries.js';
import { conditionValues, isVisible, nameFrom, passingVersions, rankedBy } from './list-conditions.js';
import type { ListRequest } from './list-request.js';
import { FOUND_COLUMNS, type MaybeVersion, PAGE_WINDOW, VERSION_COLUMNS } from './page-body.js';
import { type CurrencyRow, partitionValues, type ViewSql } from './view-sql.queries.js';

// Written as those of page.queries.ts.

/** Looks into the index that take less time than to pass over what is hidden of what is common. */
const MAX_PARTITION_LOOKS = 1_000;

/** A page by way of the index of search texts. */
export interface SearchStep {
  readonly type: EntryType;
  readonly request: ListRequest;
  /** Grams that every text has which holds the one that is searched for: see `gramsToFind`. */
  readonly grams: string;
  /** Texts to find at most. */
  readonly maxCandidates: number;
  /** Of these, as many are looked at in the order of their names, at most. */
  readonly maxSorted: number;
  /** Versions to return at most. */
  readonly rows: number;
}

/** A version that was found, or nulls, beside how far the scan came. */
export type SearchRow = MaybeVersion &
  CurrencyRow & {
    /** Whether there are no more candidates than were read. */
    readonly complete: boolean;
    /** Whether there are candidates after those that were looked at. */
    readonly isCut: boolean;
  };

/** SQL: the keys of these grams among those of the index that begin so. */
const keysOf = (prefix: string) =>
  `string_to_array(${prefix} || ' ' || replace($grams, chr(1), chr(1) || ${prefix} || ' '), chr(1))`;
const TEXT_KEYS = 'search_keys(t.partition_id, t.type, t.grams)';

/** SQL: the texts of all partitions that have the grams, if `condition`. */
const ofAll = (condition = 'true') => `select t.entry_id, t.name, t.content from (
    select t.entry_id, t.name, t.content from search_text t
    where ${TEXT_KEYS} @> ${keysOf('$type')} and ${condition} offset 0
  ) t`;

/**
 * SQL: the texts of the visible partitions that have the grams: what is hidden is not even looked at. The index is asked for each of
 * the partitions, and then the table is read once for all of them. Where they are all there are, one look finds the same.
 */
const OF_PARTITIONS = `partitions as materialized (
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
  ${ofAll('(select visible from whole)')}
)`;

const OF_ALL = `texts as (
  ${ofAll()}
)`;

/**
 * The versions whose text holds what is searched for, by way of the index of search texts. Those that come first by name
 * are looked at one by one until the page is full: whether they are visible, whether an earlier source hides them (contract §6), which of
 * their versions pass. To find the first of very many takes a fraction of what sorting all of them does, and to keep them only to count
 * them would take a quarter of the scan: they are numbered, and one too many comes before all names.
 */
export function scanSearchTexts(sql: ViewSql, { type, request, ...sizes }: SearchStep): Promise<SearchRow[]> {
  const { after } = request;
  const entry = { id: 'c.entry_id', name: 'c.name', claimsChangedAt: 'e.claims_changed_at' };
  const byPartition = !sql.view.seesAll && !passesOverHidden(sql.view);
  return sql.query<SearchRow>(
    `
with ${CURRENCY},
${rankedBy('$rankedSources::int[]')},
${byPartition ? OF_PARTITIONS : OF_ALL},
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

/** Whether a scan for this view finds what is hidden, too, and passes over it. */
export function passesOverHidden(view: View): boolean {
  return !view.seesAll && countPartitions(view) > MAX_PARTITION_LOOKS;
}
