import type { EntryType } from '../../documents/entry-types.js';
import { countPartitions } from '../../views/view.js';
import type { ListRequest } from './list-request.js';
import { isFull } from './page-size.js';
import { walkByPartition, walkBySource } from './page.queries.js';
import { type FoundVersion, isVersion } from './version-row.js';
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
