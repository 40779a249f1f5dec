import type { EntryType } from '../documents/entry-types.js';
import type { ViewSql } from '../visibility/freshness.queries.js';
import { countPartitions, isEmptyView, type ViewOfPartitions } from '../visibility/view.js';
import { type IndexScan, indexScansFor } from './index-scan.queries.js';
import { isSearch, type ListRequest } from './list-request.js';
import { type FoundVersion, isFull, isVersion, RowsPerName } from './page-body.js';
import { nothingVisible, versionsOfListed, walkByPartition, walkBySource } from './page.queries.js';
import type { ListedNames, ListPart } from './search-index/entry-scan.js';

/**
 * A view with more partitions is read source by source, and the claim set of each entry is tested: starting a scan for
 * each partition would cost more than skipping hidden entries.
 */
const MAX_PARTITION_SCANS = 40;
/** If the share of visible entries is below this value, any view is read by partition. */
const MIN_VISIBLE_SHARE = 1 / 8;
/** Minimum number of entries to read from each partition, or a quarter of the number of names if this is less. */
const MIN_ENTRIES_PER_PARTITION = 64;

/**
 * Walks a view's names in order by merging its partitions or sources, and collects the versions that pass the filter.
 * The cost depends on the share of names that pass, not on the number of names.
 */
export class NameWalk {
  /** Versions in list order, up to `limit + 1`. */
  readonly found: FoundVersion[] = [];
  /** The request for the rest of the page, from the current position. */
  private rest: ListRequest;
  private isAtEnd = false;
  /** The view, if its partitions are merged; null if its sources are. */
  private partitioned: ViewOfPartitions | null;

  constructor(
    private readonly sql: ViewSql,
    private readonly type: EntryType,
    request: ListRequest,
    bySource?: boolean,
  ) {
    const { view } = sql;
    this.partitioned =
      view.seesAll || (bySource ?? countPartitions(view) > MAX_PARTITION_SCANS) ? null : view;
    this.rest = request;
  }

  /** Whether `found` is complete. */
  get isDone(): boolean {
    return this.isAtEnd || isFull(this.found, this.rest.limit);
  }

  /** Walks over the next names (at least two), and stops early if the page is full. */
  async advance(names: number): Promise<void> {
    const { sql, type, rest: request, partitioned } = this;
    const step = { type, request, names, rows: request.limit + 1 - this.found.length };
    const rows = await (partitioned
      ? walkByPartition(sql, partitioned, { ...step, depth: depthFor(names, partitioned) })
      : walkBySource(sql, { ...step, depth: names }));
    const [first] = rows;
    this.found.push(...rows.filter(isVersion));
    this.isAtEnd = !first || first.reached === null;
    // No key sorts below the empty string, so the reached name is not read again.
    if (first?.reached) this.rest = { ...this.rest, after: { name: first.reached, key: '' } };
    if (!sql.view.seesAll && (first?.visibleShare ?? 1) < MIN_VISIBLE_SHARE) this.partitioned = sql.view;
  }
}

// Reads twice as many entries per partition as an even distribution would require, and enough to fill a page quickly from
// a single partition. Reads at least two entries, because the first may have the name reached by the previous step.
function depthFor(names: number, view: ViewOfPartitions): number {
  const evenly = Math.ceil((2 * names) / countPartitions(view));
  const atLeast = Math.min(Math.ceil(names / 4), MIN_ENTRIES_PER_PARTITION);
  return Math.max(2, Math.min(names, Math.max(evenly, atLeast)));
}

/** Names to read for each name shown in an unfiltered list, because some names have only deleted versions. */
const NAMES_PER_SHOWN = 1.25;
/** Extra names to read if names have several rows: a page may start within a name, and the rows per name vary. */
const SPARE_NAMES = 2;
/** Names to read for each row on a page of a filtered list. */
const NAMES_PER_FILTERED_ROW = 4;
/** Maximum number of index candidates in the first attempt. */
const FIRST_CANDIDATES = 512;
/** Factor by which both limits grow after an attempt in which neither method completed. */
const GROWTH = 8;

/**
 * Returns up to `limit + 1` versions in page order (name bytewise, newest first); an extra version means that there is
 * a next page.
 *
 * Walking the names is fast if matches are frequent; reading an index is fast if they are rare. The two methods
 * alternate with growing limits, so a page takes only slightly longer than with the better method. Ordered indexes are
 * tried first, because a failed attempt is cheap.
 *
 * @param rowsPerName statistics from earlier pages, for lists without a filter.
 */
export async function readList(
  sql: ViewSql,
  type: EntryType,
  request: ListRequest,
  rowsPerName = new RowsPerName(),
): Promise<FoundVersion[]> {
  if (isEmptyView(sql.view)) return nothingVisible(sql);
  const rows = request.limit + 1;
  const isPlain = !isSearch(request.filter);
  const names = isPlain ? namesFor(rows, type, request, rowsPerName) : rows * NAMES_PER_FILTERED_ROW;
  const scans = isPlain ? [] : indexScansFor(request.filter);
  const walk = new NameWalk(sql, type, request);
  for (let effort = 1; ; effort *= GROWTH) {
    for (const scan of scans) {
      const found = await readByIndex(sql, scan, type, request, FIRST_CANDIDATES * effort);
      if (found) return found;
    }
    await walk.advance(names * effort);
    if (walk.isDone) {
      if (isPlain) rowsPerName.observe(type, request.filter, walk.found);
      return walk.found;
    }
  }
}

/** Names to read for this many rows. */
function namesFor(rows: number, type: EntryType, { filter }: ListRequest, rowsPerName: RowsPerName): number {
  return Math.ceil(Math.min(rows, rows / rowsPerName.expected(type, filter) + SPARE_NAMES) * NAMES_PER_SHOWN);
}

/** Maximum number of names to read in one statement. */
const MAX_NAMES = 1_000;

/**
 * Reads a page of a search whose names the index in memory finds.
 *
 * @param find returns undefined if the index can't serve the list.
 * @returns like `readList`; undefined if other filters may exclude most of the names, or `find` returns undefined.
 */
export async function readByNames(
  sql: ViewSql,
  type: EntryType,
  request: ListRequest,
  find: (part: ListPart) => Promise<ListedNames | undefined>,
  rowsPerName = new RowsPerName(),
): Promise<FoundVersion[] | undefined> {
  const { search, ...others } = request.filter;
  if (!search || isSearch(others) || isEmptyView(sql.view)) return undefined;
  const found: FoundVersion[] = [];
  let { name, isAfter } = { name: request.after?.name ?? null, isAfter: false };
  let limit = namesFor(request.limit + 1, type, request, rowsPerName);
  for (;;) {
    const next = await find({ type, search, name, isAfter, limit });
    if (!next) return undefined;
    const { names, isLast } = next;
    const rows = request.limit + 1 - found.length;
    // The index may be newer than the view, and then lack names that the view has.
    const read =
      names.length > 0 ? versionsOfListed(sql, { type, request, rows }, names) : nothingVisible(sql);
    found.push(...(await read).filter(isVersion));
    if (isLast || isFull(found, request.limit)) return found;
    name = names.at(-1) ?? name;
    isAfter = true;
    limit = Math.min(MAX_NAMES, limit * GROWTH);
  }
}

/**
 * Reads a page through an index that serves the filter.
 *
 * @param maxCandidates maximum number of index rows.
 * @returns up to `limit + 1` versions; undefined if the index has more candidates.
 */
export async function readByIndex(
  sql: ViewSql,
  scan: IndexScan,
  type: EntryType,
  request: ListRequest,
  maxCandidates: number,
): Promise<FoundVersion[] | undefined> {
  const rows = await scan(sql, { type, request, maxCandidates, rows: request.limit + 1 });
  return rows[0]?.complete ? rows.filter(isVersion) : undefined;
}
