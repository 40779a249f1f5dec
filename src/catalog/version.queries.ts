import { setImmediate } from 'node:timers/promises';
import type { EntryType } from '../documents/entry-types.js';
import { tracing } from '../telemetry/tracing.js';
import { CURRENCY } from '../visibility/views.queries.js';
import { isVisible, NOT_DELETED, rankedBy } from './list-conditions.js';
import {
  FOUND_COLUMNS,
  type FoundVersion,
  isVersion,
  type MaybeVersion,
  ONLY_FOUND_COLUMNS,
  PAGE_WINDOW,
  VERSION_COLUMNS,
} from './page-body.js';
import type { CurrencyRow, ViewSql } from './view-sql.queries.js';

// Written as those of page.queries.ts.

/** SQL: which versions `v` of a name are meant. */
const WHICH = {
  all: 'true',
  latest: 'v.is_latest',
  exact: 'v.version = $version',
} as const;

/** SQL: of the versions of one name, those that have room on a page; of a single one there is nothing to measure or to sort. */
const ALL_FOUND = {
  columns: FOUND_COLUMNS,
  order: `window page as ${PAGE_WINDOW}
order by found.key desc`,
};
const ONLY_FOUND = { columns: ONLY_FOUND_COLUMNS, order: 'limit 1' };

/** Versions of one name. */
export interface NamedVersions {
  readonly type: EntryType;
  readonly name: string;
  readonly which: keyof typeof WHICH;
  /** The one that is meant by `exact`. */
  readonly version?: string;
  readonly includeDeleted: boolean;
  /** Only versions older than the one with this key. */
  readonly after?: string | null;
}

/** Versions of one name, newest first, from the first source whose entry is in the view; a single row of nulls for none. */
export function versionsOfName(
  sql: ViewSql,
  { type, name, which, version, includeDeleted, after = null }: NamedVersions,
): Promise<(MaybeVersion & CurrencyRow)[]> {
  const { columns, order } = which === 'all' ? ALL_FOUND : ONLY_FOUND;
  return sql.query<MaybeVersion & CurrencyRow>(
    `
with ${CURRENCY},
${rankedBy('(select $rankedSources::int[])')},
first_entry as materialized (
  ${firstEntry('$name')}
)
select currency."isCurrent",
    ${columns}
from currency left join (
  select f.name,
    ${VERSION_COLUMNS}
  from first_entry f join entry_version v on v.entry_id = f.id
  where ${WHICH[which]} and ${includeDeleted ? 'true' : NOT_DELETED}
    and ($afterKey::text is null or v.version_key < $afterKey)
) found on true
${order}`,
    { type, name, version, afterKey: after },
  );
}

/** One version of each of several names. */
export interface SingleVersions {
  readonly type: EntryType;
  readonly which: 'latest' | 'exact';
  readonly includeDeleted: boolean;
}

export interface VersionName {
  readonly name: string;
  /** The one that is meant by `exact`. */
  readonly version: string;
}

/** A version that was found, or nulls when none was. */
export type SingleVersionRow = MaybeVersion &
  CurrencyRow & {
    /** Which of the names it is for, from 0 on. */
    readonly place: number | null;
  };

/**
 * The version that is asked for of each of these names, from the first source whose entry is in the view. The documents have room
 * together as on a page.
 */
export function singleVersions(
  sql: ViewSql,
  { type, which, includeDeleted }: SingleVersions,
  asked: readonly VersionName[],
): Promise<SingleVersionRow[]> {
  return sql.query<SingleVersionRow>(
    `
with ${CURRENCY},
${rankedBy('(select $rankedSources::int[])')}
select currency."isCurrent", found.place,
    ${FOUND_COLUMNS}
from currency left join (
  select asked.place::int - 1 as place, e.name,
    ${VERSION_COLUMNS}
  from unnest((select $names::text[]), (select $versions::text[])) with ordinality as asked(name, version, place)
  cross join lateral (
  ${firstEntry('asked.name')}
  ) e
  cross join lateral (
    select * from entry_version o
    where o.entry_id = e.id and ${which === 'exact' ? 'o.version = asked.version' : 'o.is_latest'} offset 0
  ) v
  where ${includeDeleted ? 'true' : NOT_DELETED}
) found on true
window page as (order by found.place rows unbounded preceding)`,
    { type, names: asked.map(({ name }) => name), versions: asked.map(({ version }) => version) },
  );
}

/** SQL: of the entries of one name that are in the view, that of the first source. */
function firstEntry(name: string): string {
  return `select e.id, e.name
  from ranked r cross join lateral (
    select e.id, e.name from entry e
    where e.source_id = r.source_id and e.type = $type and e.name = ${name}
      and ${isVisible('e')} offset 0
  ) e
  order by r.rank limit 1`;
}

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
