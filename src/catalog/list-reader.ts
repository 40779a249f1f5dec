import type { EntryType } from '../documents/entry-types.js';
import { gramsToFind } from '../entries/search-texts.queries.js';
import { countPartitions, showsNothing } from '../visibility/view.js';
import { type IndexScan, indexScansFor, scanChanges, scanInOrder } from './index-scan.queries.js';
import type { ListRequest } from './list-request.js';
import { type FoundVersion, isFull, isVersion, RowsPerName } from './page-body.js';
import { nothingVisible, walkByPartition, walkBySource } from './page.queries.js';
import { isSearch } from './search-limits.js';
import { passesOverHidden, scanSearchTexts } from './search-scan.queries.js';
import type { ViewSql } from './view-sql.queries.js';

/**
 * A view of more partitions is read source by source in name order, each entry's claim set tested against all that are
 * visible: beginning a scan per partition would cost more than passing over the entries that are not in the view.
 */
const MAX_PARTITION_SCANS = 40;
/** A view that holds less than this share of what is passed over is read by partition after all. */
const MIN_VISIBLE_SHARE = 1 / 8;
/** Entries to read of each partition, however many partitions there are, if a quarter of the names are as many. */
const MIN_ENTRIES_PER_PARTITION = 64;

/**
 * Reads the names of a view in order, the merge of its partitions or of its sources, step by step, and keeps the versions that
 * pass the filter. What it reads depends on how many of the names have such versions, and not on how many names there are.
 */
export class NameWalk {
  /** In the order of the list, up to `limit + 1`. */
  readonly found: FoundVersion[] = [];
  /** What is left: its position moves on with every step. */
  private rest: ListRequest;
  private isAtEnd = false;

  constructor(
    private readonly sql: ViewSql,
    private readonly type: EntryType,
    request: ListRequest,
    private bySource = sql.view.seesAll || countPartitions(sql.view) > MAX_PARTITION_SCANS,
  ) {
    this.rest = request;
  }

  /** Whether `found` is the whole answer. */
  get isDone(): boolean {
    return this.isAtEnd || isFull(this.found, this.rest.limit);
  }

  /** Goes on over so many names, at least two, or until the page is full. */
  async advance(names: number): Promise<void> {
    const walk = this.bySource ? walkBySource : walkByPartition;
    const rows = await walk(this.sql, {
      type: this.type,
      request: this.rest,
      names,
      depth: this.depth(names),
      rows: this.rest.limit + 1 - this.found.length,
    });
    const [first] = rows;
    this.found.push(...rows.filter(isVersion));
    this.isAtEnd = !first || first.reached === null;
    // No key is less than the empty one, so the name that was reached is not read again.
    if (first?.reached) this.rest = { ...this.rest, after: { name: first.reached, key: '' } };
    if (!this.sql.view.seesAll && (first?.visibleShare ?? 1) < MIN_VISIBLE_SHARE) this.bySource = false;
  }

  // Partitions are read twice as far as they would have to be if they were all alike, and far enough that a page which
  // lies in one of them is found soon. Two at least: the first may be the one that was reached before.
  private depth(names: number): number {
    if (this.bySource) return names;
    const evenly = Math.ceil((2 * names) / countPartitions(this.sql.view));
    const atLeast = Math.min(Math.ceil(names / 4), MIN_ENTRIES_PER_PARTITION);
    return Math.max(2, Math.min(names, Math.max(evenly, atLeast)));
  }
}

/** Names a plain list goes over for each that its rows will be of: some have only versions that were deleted. */
const NAMES_PER_SHOWN = 1.25;
/** More of them where names have several rows: the position is within a name, and some have fewer than others. */
const SPARE_NAMES = 2;
/** The same for a list whose filter few names may pass. */
const NAMES_PER_FILTERED_ROW = 4;
/** Candidates read in an index at first. */
const FIRST_CANDIDATES = 512;
/** Texts found by their index at first. Of more of them the names that the walk goes over next will have enough, mostly. */
const FIRST_TEXTS = 65_536;
/** Of those, as many for each row are looked at in the order of their names, if that fills the page. */
const SORTED_PER_ROW = 8;
/** More than there can be. */
const ALL_TEXTS = 2 ** 31 - 2;
/** How much more is read, in either way, each time neither led to the end. */
const GROWTH = 8;
const SCANS = { 'in-order': scanInOrder, changes: scanChanges } as const;

/**
 * Up to `limit + 1` versions in page order (name bytewise, newest first): the one beyond the limit means that there is a next page.
 *
 * What passes a filter is found by walking the names, fast when it is frequent, or by its index, fast when it is rare. Which
 * of the two it is need not be known: each is tried in turns with a bound that grows, so the answer takes little longer than
 * by the better one. Indexes that are read in order come before the walk, since they cost little when they do not lead to the end. The one
 * of search texts finds all there is to find at once, so the second time it is read to the end.
 *
 * @param rowsPerName of the pages before, for lists without such a filter.
 */
export async function readList(
  sql: ViewSql,
  type: EntryType,
  request: ListRequest,
  rowsPerName = new RowsPerName(),
): Promise<FoundVersion[]> {
  if (showsNothing(sql.view)) return nothingVisible(sql);
  const { search } = request.filter;
  const grams = search === undefined ? null : gramsToFind(search);
  const rows = request.limit + 1;
  const isPlain = !isSearch(request.filter);
  const names = isPlain
    ? Math.ceil(
        Math.min(rows, rows / rowsPerName.expected(type, request.filter) + SPARE_NAMES) * NAMES_PER_SHOWN,
      )
    : rows * NAMES_PER_FILTERED_ROW;
  const walk = new NameWalk(sql, type, request);
  for (let effort = 1; ; effort *= GROWTH) {
    for (const scan of indexScansFor(request.filter)) {
      const found = await readByIndex(sql, scan, type, request, FIRST_CANDIDATES * effort);
      if (found) return found;
    }
    await walk.advance(names * effort);
    if (walk.isDone) {
      if (isPlain) rowsPerName.observe(type, request.filter, walk.found);
      return walk.found;
    }
    if (grams !== null) {
      const found = await readByText(sql, grams, type, request, effort === 1 ? FIRST_TEXTS : ALL_TEXTS);
      if (found) return found;
    }
  }
}

/**
 * The page of the versions that the index of search texts finds.
 *
 * @param grams see `gramsToFind`.
 * @param maxCandidates texts that are found.
 * @param sortedPerRow of these, as many for each row are looked at before all are.
 * @returns up to `limit + 1` versions; undefined when there are more candidates.
 */
export async function readByText(
  sql: ViewSql,
  grams: string,
  type: EntryType,
  request: ListRequest,
  maxCandidates: number,
  sortedPerRow = SORTED_PER_ROW,
): Promise<FoundVersion[] | undefined> {
  const rows = request.limit + 1;
  const step = { type, request, grams, maxCandidates, rows };
  const mayShowFew = isSearch({ ...request.filter, search: undefined }) || passesOverHidden(sql.view);
  const maxSorted = mayShowFew ? ALL_TEXTS : rows * sortedPerRow;
  const read = await scanSearchTexts(sql, { ...step, maxSorted });
  if (!read[0]?.complete) return undefined;
  const found = read.filter(isVersion);
  if (!read[0].isCut || isFull(found, request.limit)) return found;
  return (await scanSearchTexts(sql, { ...step, maxSorted: ALL_TEXTS })).filter(isVersion);
}

/**
 * The page of the versions that one index finds, filtered by the view and sorted.
 *
 * @param maxCandidates rows that are read in the index.
 * @returns up to `limit + 1` versions; undefined when the index has more candidates.
 */
export async function readByIndex(
  sql: ViewSql,
  scan: IndexScan,
  type: EntryType,
  request: ListRequest,
  maxCandidates: number,
): Promise<FoundVersion[] | undefined> {
  const rows = await SCANS[scan.reads](sql, scan, { type, request, maxCandidates, rows: request.limit + 1 });
  return rows[0]?.complete ? rows.filter(isVersion) : undefined;
}
