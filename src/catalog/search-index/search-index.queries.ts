import type { EntityManager } from 'typeorm';
import { utcText } from '../../database/statements.js';
import { ENTRY_TYPE_NAMES, type EntryType } from '../../documents/entry-types.js';
import { MANAGED_KIND } from '../../source-kinds/kinds.js';
import { CURRENCY, DATABASE_EPOCH, IS_WORTH_READING } from '../../visibility/views.queries.js';
import { rankedBy } from '../list-request.js';
import { type CurrencyRow, partitionValues, type ViewSql } from '../view-sql.queries.js';
import type { IndexedSummary } from './entry-columns.js';
import type { EntryChange } from './entry-index.js';
import type { FoundPlace } from './index-search.js';

/** More changes are not read one by one: the index is read again. */
const MAX_CHANGES = 10_000;
/** Maximum size of the items on a page with more than one item (contract §3). */
const MAX_PAGE_BYTES = 1_024 * 1_024;

/** SQL: changes when the index must be read again, because numbers may be reused or tables were emptied. */
const INDEX_EPOCH = `concat_ws(' ', ${DATABASE_EPOCH}, pg_relation_filepath('entry_summary'),
    pg_relation_filepath('entry_summary_change'))`;

/** SQL: a transaction as `entry_summary_change` has it. */
const numberOf = (transaction: string) => `${transaction}::text::bigint`;

/** SQL: the transaction from which the changes are complete. A later one than any comes from another server's dump. */
const HORIZON = `(
  select coalesce(max(transaction), 0) from entry_summary_horizon
  where transaction < ${numberOf('pg_snapshot_xmax(pg_current_snapshot())')}
)`;

/** Maximum size of the other texts of an entry. */
const MAX_OTHER_BYTES = 4_096;

/** SQL: an `IndexedSummary` of `s` in the partition `p` as JSON. PostgreSQL compares only ASCII texts as JavaScript does. */
const SUMMARY = `json_build_array(p.source_id, p.id, s.type, s.name, s.status, s.title, s.description, s.tags,
    s.transports, s.is_installable, (extract(epoch from s.updated_at) * 1000)::float8, (
      select case when coalesce(sum(octet_length(t.content)), 0) <= ${MAX_OTHER_BYTES}
        then coalesce(json_agg(t.content), '[]') end
      from search_text t
      where t.entry_id = s.entry_id
        and t.content <> lower(concat_ws(chr(10), s.name, s.title, s.description) collate "C")
    ))`;

type SummaryValues = readonly [
  sourceId: number,
  partitionId: number,
  type: EntryType,
  name: string,
  status: IndexedSummary['status'],
  title: string | null,
  description: string | null,
  tags: readonly string[],
  transports: readonly string[],
  installable: boolean,
  updated: number,
  otherTexts: readonly string[] | null,
];

function summaryFrom(values: SummaryValues): IndexedSummary {
  const [sourceId, partitionId, type, name, status, title, description, tags, transports] = values;
  const [installable, updated, otherTexts] = [values[9], values[10], values[11]];
  return {
    sourceId,
    partitionId,
    type,
    name,
    status,
    title,
    description,
    tags,
    transports,
    installable,
    updated,
    otherTexts,
  };
}

/** What a snapshot of the database adds to an index. */
export interface IndexState {
  readonly epoch: string;
  readonly snapshot: string;
  /** Visible partitions with summaries that must be added or written before the search; null if there are none. */
  readonly outdated: readonly number[] | null;
  /** The visible partitions with the rank of their source. */
  readonly partitions: readonly (readonly [id: number, rank: number])[];
  /** Changes of the loaded sources; null if the index must be read again. */
  readonly changes: readonly EntryChange[] | null;
}

interface StateRow extends CurrencyRow {
  readonly epoch: string;
  readonly snapshot: string;
  readonly outdated: readonly number[] | null;
  readonly partitions: string;
  /** JSON. */
  readonly changes: string | null;
}

type ChangeValues = readonly [sourceId: number, type: EntryType, name: string, summary: SummaryValues | null];

/** SQL: the visible partitions, with the rank of their source. */
function partitionsOf({ view }: ViewSql): string {
  return view.seesAll
    ? `${rankedBy('$rankedSources::int[]')},
partitions as materialized (
  select p.id, r.rank from ranked r join search_partition p on p.source_id = r.source_id
)`
    : `partitions as materialized (
  select p.id, v.rank
  from unnest($partitionSources::int[], $partitionClaimSets::int[], $partitionRanks::int[])
    as v(source_id, claim_set_id, rank)
  join search_partition p on p.source_id = v.source_id and p.claim_set_id = v.claim_set_id
  where ${IS_WORTH_READING}
)`;
}

/**
 * Reads the state of a view and what changed since a snapshot, all in one snapshot. Steps
 * through the index of outdated summaries: with the statistics of the moment after a sync, PostgreSQL would read all of them.
 *
 * @param snapshot of the index: what its transactions wrote is in the index.
 * @param loaded the sources in the index.
 */
export async function readIndexState(
  sql: ViewSql,
  snapshot: string,
  loaded: readonly number[],
): Promise<IndexState> {
  const [row] = await sql.query<StateRow>(
    `
with recursive ${CURRENCY},
${partitionsOf(sql)},
outdated_partition(id) as (
  select min(partition_id) from entry_summary where is_outdated
  union all
  select (select min(s.partition_id) from entry_summary s where s.is_outdated and s.partition_id > o.id)
  from outdated_partition o where o.id is not null
),
outdated as materialized (
  select case when exists (select 1 from entry_summary_fill) then array(select id from partitions) else (
    select array_agg(o.id) from outdated_partition o where o.id in (select id from partitions)
  ) end as partitions
),
changed as materialized (
  select c.entry_id, c.partition_id, c.type, c.name from entry_summary_change c
  where c.transaction >= ${numberOf('pg_snapshot_xmin($snapshot::text::pg_snapshot)')}
    and c.transaction < ${numberOf('pg_snapshot_xmax(pg_current_snapshot())')}
    and not pg_visible_in_snapshot(c.transaction::text::xid8, $snapshot::text::pg_snapshot)
  limit ${MAX_CHANGES + 1}
)
select currency."isCurrent", ${INDEX_EPOCH} as epoch, pg_current_snapshot()::text as snapshot,
  (select partitions from outdated) as outdated,
  (select coalesce(json_agg(json_build_array(id, rank)), '[]')::text from partitions) as partitions,
  case when (select count(*) from changed) <= ${MAX_CHANGES}
    and ${numberOf('pg_snapshot_xmin($snapshot::text::pg_snapshot)')} >= ${HORIZON} then (
    select coalesce(json_agg(json_build_array(c.source_id, c.type, c.name, case when p.id is not null then ${SUMMARY} end)), '[]')::text
    from (
      select distinct on (c.entry_id) w.source_id, c.entry_id, c.type, c.name
      from changed c join search_partition w on w.id = c.partition_id and w.source_id = any($loaded::int[])
      order by c.entry_id
    ) c
    left join entry_summary s on s.entry_id = c.entry_id and not s.is_outdated
    left join search_partition p on p.id = s.partition_id
  ) end as changes
from currency`,
    { ...(sql.view.seesAll ? {} : partitionValues(sql.view)), snapshot, loaded },
  );
  if (!row) throw new Error('A statement without rows');
  const changes = row.changes === null ? null : (JSON.parse(row.changes) as ChangeValues[]);
  return {
    epoch: row.epoch,
    snapshot: row.snapshot,
    outdated: row.outdated,
    partitions: JSON.parse(row.partitions) as (readonly [number, number])[],
    changes:
      changes?.map(([sourceId, type, name, summary]) => ({
        sourceId,
        type,
        name,
        summary: summary && summaryFrom(summary),
      })) ?? null,
  };
}

const ROWS_PER_FETCH = 500;

/** Counts the summaries of some sources. */
export async function countSummaries(manager: EntityManager, sourceIds: readonly number[]): Promise<number> {
  const [row] = await manager.query<{ count: number }[]>(
    `select count(*)::int as count from entry_summary
     where partition_id in (select id from search_partition where source_id = any($1::int[]))`,
    [sourceIds],
  );
  return row?.count ?? 0;
}

/**
 * Reads all summaries of some sources by name and type, as an index orders them. Requires a transaction with one
 * snapshot.
 *
 * @param add is called for each batch, until it returns false.
 * @returns whether all were read.
 */
export async function readSummaries(
  manager: EntityManager,
  sourceIds: readonly number[],
  add: (summaries: readonly IndexedSummary[]) => Promise<boolean>,
): Promise<boolean> {
  // By default PostgreSQL optimizes a cursor for its first rows; this one is read to the end.
  await manager.query(`set local cursor_tuple_fraction = 1`);
  await manager.query(
    `declare indexed_summary no scroll cursor for
     select ${SUMMARY}::text as summary from (
       select s.*, p.source_id from entry_summary s join search_partition p on p.id = s.partition_id
       where p.source_id = any($1::int[]) and not s.is_outdated
       order by s.name, array_position($2::text[], s.type) offset 0
     ) s cross join lateral (select s.source_id, s.partition_id as id) p`,
    [sourceIds, ENTRY_TYPE_NAMES],
  );
  for (;;) {
    const rows = await manager.query<{ summary: string }[]>(`fetch ${ROWS_PER_FETCH} from indexed_summary`);
    const summaries = rows.map(({ summary }) => summaryFrom(JSON.parse(summary) as SummaryValues));
    if (!(await add(summaries))) return false;
    if (rows.length < ROWS_PER_FETCH) return true;
  }
}

/** Returns the epoch and the snapshot of a transaction. */
export async function snapshotOf(manager: EntityManager): Promise<Pick<IndexState, 'epoch' | 'snapshot'>> {
  const [row] = await manager.query<Pick<IndexState, 'epoch' | 'snapshot'>[]>(
    `select ${INDEX_EPOCH} as epoch, pg_current_snapshot()::text as snapshot`,
  );
  if (!row) throw new Error('A statement without rows');
  return row;
}

/** An item of a page; all columns but the first are null if there is none. */
export interface SummaryRow extends CurrencyRow {
  /** From 1. */
  readonly place: number | null;
  readonly title: string | null;
  readonly description: string | null;
  readonly version: string;
  readonly status: string;
  readonly tags: readonly string[];
  readonly transports: readonly string[];
  readonly installable: boolean;
  readonly updatedAt: string;
  /** Null if unknown, or not asked for. */
  readonly statedAt: string | null;
  readonly publishedAt: string | null;
}

/**
 * SQL: the dates of a found entry's latest version that are more than the time of a sync. Upstream registries may state
 * no publication date; the version then has the time at which it was stored.
 */
const KNOWN_DATES = `lateral (
  select case when s.updated_at <> stored.changed_at then ${utcText('s.updated_at')} end as stated_at,
    case when o.kind = '${MANAGED_KIND}' or (o.kind = 'api' and v.published_at <> stored.changed_at)
      then ${utcText('v.published_at')} end as published_at
  from entry_version v
  cross join lateral (select coalesce(v.document_changed_at, v.updated_at) as changed_at) stored
  join entry e on e.id = v.entry_id
  join source o on o.id = e.source_id
  where v.entry_id = s.entry_id and v.is_latest and not s.is_outdated
) dates on true`;
const NO_DATES = `lateral (select null as stated_at, null as published_at) dates on true`;

/** Reads what a page shows of entries, up to 1 MiB of items or the first. */
export function readShown(
  sql: ViewSql,
  places: readonly FoundPlace[],
  withDates: boolean,
): Promise<SummaryRow[]> {
  return sql.query<SummaryRow>(
    `
with ${CURRENCY},
found as materialized (
  select s.entry_id, f.place, sum(s.bytes) over (order by f.place) as total
  from unnest($names::text[], $types::text[], $partitions::int[]) with ordinality as f(name, type, partition_id, place)
  join entry_summary s on s.name = f.name and s.type = f.type and s.partition_id = f.partition_id
)
select currency."isCurrent", f.place::int as place, s.title, s.description, s.version, s.status, s.tags, s.transports,
  s.is_installable as installable, ${utcText('s.updated_at')} as "updatedAt",
  dates.stated_at as "statedAt", dates.published_at as "publishedAt"
from currency left join found f on f.place = 1 or f.total <= ${MAX_PAGE_BYTES}
left join entry_summary s on s.entry_id = f.entry_id
left join ${withDates ? KNOWN_DATES : NO_DATES}
order by f.place`,
    {
      names: places.map(({ name }) => name),
      types: places.map(({ type }) => type),
      partitions: places.map(({ partitionId }) => partitionId),
    },
  );
}
