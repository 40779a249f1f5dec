import { setImmediate } from 'node:timers/promises';
import { tracing } from '../../../telemetry/tracing.js';
import {
  type SingleVersionRow,
  type SingleVersions,
  type VersionName,
  versionsOfName,
  singleVersions,
} from './version.queries.js';
import { type FoundVersion, isVersion } from '../version-row.js';
import type { ViewSql } from '../view-sql.queries.js';

/** Names that one statement reads at most. */
const MAX_NAMES = 16;

/** Reads that one statement does. */
interface Batch {
  readonly names: VersionName[];
  /** Resolves when no more names are added. */
  readonly closed: Promise<void>;
  rows?: Promise<SingleVersionRow[]>;
}

/**
 * Reads single versions: those of one view that are asked for in the same turn of the event loop, by one statement. Each takes a
 * quarter of what a statement of its own does. Whoever asks while nobody else does waits for no others.
 */
export class VersionLoader {
  /** Batches that can still be joined, by what is the same for all their names. */
  private readonly open = new Map<string, Batch>();
  private underWay = 0;

  /** @returns undefined for none in the view. */
  async load(sql: ViewSql, which: SingleVersions, name: VersionName): Promise<FoundVersion | undefined> {
    // The trace of a request has its statement in it.
    const isAlone = this.underWay === 0 || tracing.traceId() !== undefined;
    this.underWay += 1;
    try {
      return await (isAlone ? this.loadAlone(sql, which, name) : this.loadWithOthers(sql, which, name));
    } finally {
      this.underWay -= 1;
    }
  }

  private async loadWithOthers(
    sql: ViewSql,
    which: SingleVersions,
    name: VersionName,
  ): Promise<FoundVersion | undefined> {
    const key = `${sql.state} ${which.type} ${which.which} ${which.includeDeleted}`;
    const batch = this.open.get(key) ?? this.begin(key);
    const place = batch.names.push(name) - 1;
    if (batch.names.length === MAX_NAMES) this.open.delete(key);
    await batch.closed;
    if (batch.names.length === 1) return this.loadAlone(sql, which, name);
    batch.rows ??= singleVersions(sql, which, batch.names);
    const rows = sql.observe(await batch.rows);
    const row = rows.find((each) => each.place === place);
    if (!row || !isVersion(row)) return undefined;
    // There was no room for it beside the others.
    return row.document === null ? this.loadAlone(sql, which, name) : row;
  }

  private async loadAlone(
    sql: ViewSql,
    { which, ...asked }: SingleVersions,
    name: VersionName,
  ): Promise<FoundVersion | undefined> {
    return (await versionsOfName(sql, { ...asked, which, ...name })).find(isVersion);
  }

  private begin(key: string): Batch {
    const close = () => {
      if (this.open.get(key) === batch) this.open.delete(key);
    };
    const batch: Batch = { names: [], closed: setImmediate().then(close) };
    this.open.set(key, batch);
    return batch;
  }
}
