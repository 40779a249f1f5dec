import { utcText } from '../database/statements.js';
import { ENTRY_TYPE_NAMES, type EntryType } from '../documents/entry-types.js';
import { withWordStarts } from '../entries/entry-summary.js';
import { CURRENCY, IS_WORTH_READING } from '../visibility/views.queries.js';
import type { EntrySearch } from './entry-search.js';
import { hasShownStatus, likePattern, likeText, rankedBy } from './list-request.js';
import { type CurrencyRow, partitionValues, type ViewSql } from './view-sql.queries.js';

/** Maximum size of the items on a page with more than one item (contract §3). */
const MAX_PAGE_BYTES = 1_024 * 1_024;
/** Maximum size of the facets as JSON: publishers choose the tags. */
const MAX_FACET_BYTES = 8 * 1_024 * 1_024;
/** Number of values in a facet (contract §6.3). */
const FACET_VALUES = 20;

/** An item of the page; all columns from `name` on are null if there is none. */
export interface SearchResultRow extends CurrencyRow {
  /** Visible partitions with summaries that must be written before the search; null if there are none. */
  readonly outdated: readonly number[] | null;
  /** JSON, only in the first row; null if it is too long. */
  readonly facets: string | null;
  readonly hasMore: boolean;
  readonly rank: number;
  /** Milliseconds since 1970. */
  readonly updated: number;
  readonly name: string | null;
  readonly type: EntryType;
  readonly title: string | null;
  readonly description: string | null;
  readonly version: string;
  readonly status: string;
  readonly tags: readonly string[];
  readonly transports: readonly string[];
  readonly installable: boolean;
  readonly updatedAt: string;
}

const TYPE_PLACE = `array_position('{${ENTRY_TYPE_NAMES.join()}}'::text[], type)`;
const ORDERS = {
  relevance: `rank, name, ${TYPE_PLACE}`,
  updated: `updated desc, name, ${TYPE_PLACE}`,
  name: `name, ${TYPE_PLACE}`,
} as const;
const AFTER = `(name, ${TYPE_PLACE}) > ($afterName::text collate "C", array_position('{${ENTRY_TYPE_NAMES.join()}}'::text[], $afterType::text))`;
const AFTERS = {
  relevance: `(rank > $afterRank::int or rank = $afterRank and ${AFTER})`,
  updated: `(updated < $afterUpdated::float8 or updated = $afterUpdated and ${AFTER})`,
  name: AFTER,
} as const;

/** SQL: the visible partitions, with the rank of their source. */
function partitionsOf({ view }: ViewSql, hasType: boolean): string {
  const ofType = hasType ? 'p.type = $type' : 'true';
  return view.seesAll
    ? `${rankedBy('$rankedSources::int[]')},
partitions as materialized (
  select p.id, r.rank from ranked r join search_partition p on p.source_id = r.source_id where ${ofType}
)`
    : `partitions as materialized (
  select p.id, v.rank
  from unnest($partitionSources::int[], $partitionClaimSets::int[], $partitionRanks::int[])
    as v(source_id, claim_set_id, rank)
  join search_partition p on p.source_id = v.source_id and p.claim_set_id = v.claim_set_id
  where ${ofType} and ${IS_WORTH_READING}
)`;
}

/** SQL: the visible entries that another one shadows (contract §6). */
const SHADOWED = `shadowed as materialized (
  select entry_id from (
    select s.entry_id, p.rank, min(p.rank) over (partition by s.name, s.type) as first
    from (
      select distinct o.name, o.type from partitions p join entry_summary o on o.partition_id = p.id
      where o.may_share_name and (select partitions from outdated) is null
    ) shared
    join entry_summary s on s.name = shared.name and s.type = shared.type
    join partitions p on p.id = s.partition_id
  ) s where rank > first
)`;

function conditionsOf({ filter }: EntrySearch): string {
  const conditions = [
    '(select partitions from outdated) is null',
    hasShownStatus(),
    'v.entry_id not in (select entry_id from shadowed)',
  ];
  if (filter.q !== undefined) conditions.push('v.texts like all($patterns::text[])');
  if (filter.tag !== undefined) conditions.push('v.tags @> array[$tag::text]');
  if (filter.transport !== undefined) conditions.push('v.transports @> array[$transport::text]');
  if (filter.publisher !== undefined) conditions.push(`v.name like $publisherPattern`);
  if (filter.installable !== undefined) conditions.push('v.is_installable = $installable::boolean');
  return conditions.join(' and ');
}

/** SQL: the place of an entry `v` by relevance (contract §6.3); its texts begin with the name. */
const RANK = `case
    when v.texts like $namePattern then 0
    when $segmentPattern::text is not null and left(v.texts, strpos(v.texts, chr(10))) like $segmentPattern then 1
    when v.word_starts like all($startPatterns::text[]) then 2
    else 3 end`;

/** SQL: how often each value is in the result, as JSON. */
const facet = (name: string, values: string) => `'"${name}":' || (
    select coalesce(json_object_agg(value, n)::text, '{}') from (
      select value, count(*) as n from ${values} group by value
      order by n desc, value collate "C" limit ${FACET_VALUES}
    ) counted
  )`;

/**
 * Searches the summaries of a view (contract §6.3). Reads every summary of the visible partitions: the facets count the
 * whole result.
 *
 * @param words of the query, in lower case.
 */
export function searchSummaries(
  sql: ViewSql,
  request: EntrySearch,
  words: readonly string[],
): Promise<SearchResultRow[]> {
  const { filter, sort, limit, after } = request;
  const [word = ''] = words;
  const isName = words.length === 1;
  return sql.query<SearchResultRow>(
    `
with ${CURRENCY},
${partitionsOf(sql, filter.type !== undefined)},
outdated as materialized (
  select case when exists (select 1 from entry_summary_fill) then array(select id from partitions) else (
    select array_agg(distinct o.partition_id) from entry_summary o
    where o.is_outdated and o.partition_id in (select id from partitions)
  ) end as partitions
),
${SHADOWED},
found as materialized (
  select v.entry_id, v.type, v.name, v.tags, v.transports, v.bytes, ${filter.q === undefined ? '3' : RANK} as rank,
    (extract(epoch from v.updated_at) * 1000)::float8 as updated
  from entry_summary v
  where v.partition_id in (select id from partitions) and ${conditionsOf(request)}
),
facets as materialized (
  select '{' || ${facet('type', '(select type as value from found) found')}
    || ',' || ${facet('tag', 'found cross join unnest(found.tags) value')}
    || ',' || ${facet('transport', 'found cross join unnest(found.transports) value')} || '}' as text
),
page as materialized (
  select *, sum(bytes) over shown as total, row_number() over shown as place from (
    select * from found where ${after ? AFTERS[sort] : 'true'} order by ${ORDERS[sort]} limit $limit::int + 1
  ) found
  window shown as (order by ${ORDERS[sort]})
),
shown as materialized (
  select * from page where place = 1 or (place <= $limit and total <= ${MAX_PAGE_BYTES})
)
select currency."isCurrent", (select partitions from outdated) as outdated,
  case when coalesce(shown.place, 1) = 1 and octet_length(facets.text) <= ${MAX_FACET_BYTES} then facets.text end as facets,
  (select count(*) from page) > (select count(*) from shown) as "hasMore",
  shown.rank, shown.updated, shown.name, shown.type, v.title, v.description, v.version, v.status, v.tags, v.transports,
  v.is_installable as installable, ${utcText('v.updated_at')} as "updatedAt"
from currency cross join facets left join shown on true left join entry_summary v on v.entry_id = shown.entry_id
order by shown.place`,
    {
      ...(sql.view.seesAll ? {} : partitionValues(sql.view)),
      limit,
      type: filter.type,
      tag: filter.tag,
      transport: filter.transport,
      installable: filter.installable,
      publisherPattern: filter.publisher === undefined ? undefined : `${likeText(filter.publisher)}/%`,
      patterns: words.map(likePattern),
      startPatterns: words.map((one) => likePattern(withWordStarts(one))),
      namePattern: isName ? `${likeText(word)}\n%` : null,
      segmentPattern: isName && !word.includes('/') ? `%/${likeText(word)}\n` : null,
      afterName: after?.name,
      afterType: after?.type,
      afterRank: after?.rank,
      afterUpdated: after?.updated,
    },
  );
}
