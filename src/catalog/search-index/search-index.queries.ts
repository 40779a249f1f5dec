import type { DataSource, EntityManager } from 'typeorm';
import { ON_PRIMARY, utcText } from '../../database/sql-expressions.js';
import { type OrderedRows, readFirst, readInParts } from '../../database/bulk.js';
import type { VersionName } from '../../documents/entry-types.js';
import { MAX_PAGE_BYTES } from '../../http/lists.js';
import { type Summary, summaryOf } from '../../entry-store/entry-summary.js';
import { batches } from '../../limits/batches.js';
import { pauseIfDue } from '../../limits/time-slice.js';
import { MANAGED_KIND } from '../../source-kinds/kinds.js';
import {
  FRESHNESS,
  type CheckedRow,
  DATABASE_EPOCH,
  type ViewSql,
} from '../../visibility/freshness.queries.js';
import { isVisible } from '../../visibility/visible-entries.queries.js';
import type { FoundPlace } from './entry-scan.js';
import type { EntryKey, LatestRow } from './indexed-entry.js';

/** If an entry's versions have longer texts, lists search them in the database. */
const MAX_TEXT_BYTES = 8_192;
const ROWS_PER_FETCH = 500;
/** Maximum number of documents summarized in one batch. */
const DOCUMENTS_PER_BATCH = 250;

/** The revision up to which an index has read a source; -1 before the first read. */
export interface IndexedRevision {
  readonly id: number;
  readonly revision: number;
  /** Time on the database's clock. */
  readonly readAt: string;
}

/** The state of a source in a snapshot. */
export interface ReadRevision extends IndexedRevision {
  /** Whether `removed_entry` still contains every removal since the index was read. */
  readonly isContinued: boolean;
}

/**
 * Returns the epoch of the database.
 *
 * @throws QueryFailedError on a standby, which may lack sources that exist.
 */
export async function readEpoch(manager: EntityManager): Promise<string> {
  const [row] = await manager.query<{ epoch: string }[]>(
    `select ${DATABASE_EPOCH} as epoch where ${ON_PRIMARY}`,
  );
  return row?.epoch ?? '';
}

/** Returns the current state of these sources, except those that no longer exist. */
export async function readRevisions(
  manager: EntityManager,
  indexed: readonly IndexedRevision[],
): Promise<ReadRevision[]> {
  return manager.query(
    `select s.id, s.revision::float8 as revision, now()::text as "readAt",
       now() - i.read_at < interval '1 hour' as "isContinued"
     from unnest($1::int[], $2::timestamptz[]) as i(id, read_at) join source s on s.id = i.id`,
    [indexed.map(({ id }) => id), indexed.map(({ readAt }) => readAt)],
  );
}

/** Files state no publication date, so the stored one is the time of a sync. */
function isPublicationKnown(kind: string, changedAt: string): string {
  return `(${kind} = '${MANAGED_KIND}' or (${kind} = 'api' and v.published_at <> ${changedAt}))`;
}

interface ChangedRow extends Omit<LatestRow, 'summary'> {
  /** Whether the entry exists. */
  readonly exists: boolean;
  readonly summary: Summary | null;
  readonly versionId: string;
}

/**
 * Reads the entries that changed or were removed since an index was read, ordered by name, type and source. Requires a
 * transaction with a single snapshot.
 *
 * @param add is called for each batch.
 * @returns ids of versions without a summary, whose entries are left out.
 */
export async function readChanged(
  manager: EntityManager,
  indexed: readonly IndexedRevision[],
  add: (rows: readonly (LatestRow | EntryKey)[]) => Promise<void>,
): Promise<string[]> {
  const without: string[] = [];
  for await (const rows of readInParts<ChangedRow>(
    manager,
    `with indexed as (select * from unnest($1::int[], $2::bigint[]) as i(id, revision))
     select true as exists, e.source_id as "sourceId", e.type, e.name, e.claim_set_id as "claimSetId", v.status, v.summary,
       v.id as "versionId", (extract(epoch from coalesce(v.document_changed_at, v.updated_at)) * 1000)::float8 as "changedAt",
       case when ${isPublicationKnown('s.kind', 'coalesce(v.document_changed_at, v.updated_at)')}
         then (extract(epoch from v.published_at) * 1000)::float8 end as "publishedAt", (
         select case when sum(octet_length(t.search)) <= ${MAX_TEXT_BYTES} then array_agg(t.search) end
         from (select distinct search from entry_version where entry_id = e.id) t
       ) as texts, t.member_tokens as members
     from indexed i
     join entry e on e.source_id = i.id and e.revision > i.revision
     join entry_version v on v.entry_id = e.id and v.is_latest
     join source s on s.id = e.source_id
     left join version_content c on c.version_id = v.id
     left join content_tree t on t.digest = c.tree
     union all
     select false, r.source_id, r.type, r.name, null, null, null, null, null, null, null, null
     from indexed i
     join removed_entry r on r.source_id = i.id and r.revision > i.revision
     where i.revision >= 0 and not exists (
       select from entry e where e.source_id = r.source_id and e.type = r.type and e.name = r.name
     )
     order by name, type, "sourceId"`,
    [indexed.map(({ id }) => id), indexed.map(({ revision }) => revision)],
    ROWS_PER_FETCH,
  )) {
    const changes: (LatestRow | EntryKey)[] = [];
    for (const { exists, summary, versionId, ...row } of rows)
      if (!exists) changes.push({ sourceId: row.sourceId, type: row.type, name: row.name });
      else if (summary) changes.push({ ...row, summary });
      else without.push(versionId);
    await add(changes);
  }
  return without;
}

const WITHOUT_SUMMARY: OrderedRows = {
  columns: 'v.id, e.type, e.name, v.version, v.document, v.digest',
  bytes: 'octet_length(v.document)',
  from: 'entry_version v join entry e on e.id = v.entry_id where v.id = any($1::bigint[]) and v.summary is null',
  order: 'v.id',
};

type UnsummarizedVersion = VersionName & { id: string; document: string; digest: Buffer };

/** Adds the missing summaries of versions that were stored by a review, or before they were the latest. */
export async function addSummaries(dataSource: DataSource, versionIds: readonly string[]): Promise<void> {
  for await (const batch of batches(versionIds, DOCUMENTS_PER_BATCH))
    for (;;) {
      const versions = await readFirst<UnsummarizedVersion>(dataSource.manager, WITHOUT_SUMMARY, [batch]);
      if (versions.length === 0) break;
      const summaries: string[] = [];
      for (const version of versions) {
        await pauseIfDue();
        summaries.push(JSON.stringify(summaryOf(version)));
      }
      await dataSource.query(
        `update entry_version v set summary = n.summary
         from unnest($1::bigint[], $2::bytea[], $3::json[]) as n(id, digest, summary)
         where v.id = n.id and v.digest = n.digest`,
        [versions.map(({ id }) => id), versions.map(({ digest }) => digest), summaries],
      );
    }
}

/** An item of a page; if there is none, all columns but the first are null. */
export interface ShownRow extends CheckedRow {
  /** Starts at 1. */
  readonly place: number | null;
  readonly version: string;
  readonly status: string;
  readonly summary: Summary;
  readonly changedAt: string;
  /** Null if unknown or not requested. */
  readonly publishedAt: string | null;
}

/** Reads the items of a page: up to 1 MiB in total, but at least the first. */
export function readShown(sql: ViewSql, places: readonly FoundPlace[]): Promise<ShownRow[]> {
  return sql.query<ShownRow>(
    `
with ${FRESHNESS},
found as materialized (
  select f.place, v.id, v.source_kind, sum(octet_length(v.summary::text)) over (order by f.place) as total
  from unnest($names::text[], $types::text[], $sources::int[]) with ordinality as f(name, type, source_id, place)
  cross join lateral (
    select v.id, v.summary, s.kind as source_kind from entry e
    join entry_version v on v.entry_id = e.id and v.is_latest
    join source s on s.id = e.source_id
    where e.source_id = f.source_id and e.type = f.type and e.name = f.name and ${isVisible('e')} offset 0
  ) v
)
select freshness."isCurrent", f.place::int as place, v.version, v.status, v.summary,
  ${utcText('stored.changed_at')} as "changedAt",
  case when ${isPublicationKnown('f.source_kind', 'stored.changed_at')} then ${utcText('v.published_at')} end as "publishedAt"
from freshness left join found f on f.place = 1 or f.total <= ${MAX_PAGE_BYTES}
left join entry_version v on v.id = f.id
left join lateral (select coalesce(v.document_changed_at, v.updated_at) as changed_at) stored on true
order by f.place`,
    {
      names: places.map(({ name }) => name),
      types: places.map(({ type }) => type),
      sources: places.map(({ sourceId }) => sourceId),
    },
  );
}
