import { orAlone, SHARE_TIMEOUT_MS } from '../database/shared-reads.js';
import type { EntryType } from '../documents/entry-types.js';
import { tracing } from '../telemetry/tracing.js';
import type { StorableText } from '../validation/storable-text.js';
import {
  CURRENCY,
  CURRENCY_ITEM,
  IS_ITEM_WORTH_READING,
  IS_WORTH_READING,
} from '../visibility/views.queries.js';
import { hasShownStatus, isVisible } from './list-request.js';
import {
  FOUND_COLUMNS,
  type MaybeVersion,
  PAGE_WINDOW,
  SHOWN_COLUMNS,
  type ShownVersion,
  VERSION_COLUMNS,
} from './page-body.js';
import type { CurrencyRow, ViewSql } from './view-sql.queries.js';

/** SQL: the condition that selects version `v` of a name. */
export const WHICH = {
  latest: 'v.is_latest',
  exact: 'v.version = $version',
} as const;

/** Maximum number of versions of a name per page: their rows are read even if their documents do not fit. */
export const MAX_VERSIONS = 2_000;

export interface NamedVersions {
  readonly type: EntryType;
  readonly name: StorableText;
  readonly includeDeleted: boolean;
  /** Sort key; only older versions are returned. */
  readonly after?: string | null;
}

/**
 * Reads a name's versions, newest first, from the first source with a visible entry; returns a row of nulls if there
 * are none.
 */
export function versionsOfName(
  sql: ViewSql,
  { type, name, includeDeleted, after = null }: NamedVersions,
): Promise<(MaybeVersion & CurrencyRow)[]> {
  return sql.query<MaybeVersion & CurrencyRow>(
    `
with ${CURRENCY}
select currency."isCurrent",
    ${FOUND_COLUMNS}
from currency left join (
  select $name::text as name,
    ${VERSION_COLUMNS}
  from (
  ${firstEntry('$name')}
  ) first_entry join entry_version v on v.entry_id = first_entry.id
  where ${hasShownStatus(includeDeleted)}
    and ($afterKey::text is null or v.version_key < $afterKey)
) found on true
window page as ${PAGE_WINDOW}
order by found.key desc limit ${MAX_VERSIONS + 1}`,
    { type, name, afterKey: after },
  );
}

export interface SingleVersions {
  readonly type: EntryType;
  readonly which: 'latest' | 'exact';
  readonly includeDeleted: boolean;
}

export interface VersionName {
  readonly name: StorableText;
  /** Required for `exact`. */
  readonly version?: StorableText;
}

/** A version, or nulls if none was found. */
type MaybeShown = ShownVersion | { readonly [column in keyof ShownVersion]: null };

/**
 * Reads one version of a name, from the first source with a visible entry; returns a row of nulls if there is none. Reads by
 * name are so frequent that every column and every step of the plan counts.
 */
export function singleVersion(
  sql: ViewSql,
  { type, which, includeDeleted }: SingleVersions,
  { name, version }: VersionName,
): Promise<(MaybeShown & CurrencyRow)[]> {
  const text = (SINGLE_VERSION[`${which} ${includeDeleted}`] ??= singleVersionText(which, includeDeleted));
  return sql.query<MaybeShown & CurrencyRow>(text, { type, name, version });
}

/** Texts by kind of version: putting one together for each request would take longer than binding it. */
const SINGLE_VERSION: Record<string, string> = {};

function singleVersionText(which: SingleVersions['which'], includeDeleted: boolean): string {
  return `
select currency."isCurrent", ${SHOWN_COLUMNS}
from ${CURRENCY_ITEM} left join entry_version v on v.entry_id = (
  ${firstEntry('$name', IS_ITEM_WORTH_READING)}
) and ${WHICH[which]} and ${hasShownStatus(includeDeleted)}`;
}

/** A version, or nulls if none was found; the document is also null if it does not fit. */
export type SingleVersionRow = MaybeVersion &
  CurrencyRow & {
    /** Index into the list of requested names. */
    readonly place: number | null;
  };

/**
 * Reads one version of each name, from the first source with a visible entry. Documents that do not fit on the page are
 * null.
 */
export function singleVersions(
  sql: ViewSql,
  { type, which, includeDeleted }: SingleVersions,
  asked: readonly VersionName[],
): Promise<SingleVersionRow[]> {
  return sql.query<SingleVersionRow>(
    `
with ${CURRENCY}
select currency."isCurrent", found.place,
    ${FOUND_COLUMNS}
from currency left join (
  select asked.place::int - 1 as place, asked.name,
    ${VERSION_COLUMNS}
  from unnest((select $names::text[]), (select $versions::text[])) with ordinality as asked(name, version, place)
  cross join lateral (
  ${firstEntry('asked.name')}
  ) e
  cross join lateral (
    select * from entry_version o
    where o.entry_id = e.id and ${which === 'exact' ? 'o.version = asked.version' : 'o.is_latest'} offset 0
  ) v
  where ${hasShownStatus(includeDeleted)}
) found on true
window page as (order by found.place rows unbounded preceding)`,
    { type, names: asked.map(({ name }) => name), versions: asked.map(({ version }) => version ?? null) },
  );
}

const RANKED_SOURCES = '(select $rankedSources::int[])::int[]';

/** SQL: the first visible entry with this name, in source order; it shadows all others (contract §6). */
export function firstEntry(name: string, isWorthReading = IS_WORTH_READING): string {
  return `select e.id from entry e
  where e.source_id = any(${RANKED_SOURCES}) and e.type = $type and e.name = ${name}
    and ${isVisible('e')} and ${isWorthReading}
  order by array_position(${RANKED_SOURCES}, e.source_id) limit 1`;
}

/**
 * Returns the error for a missing version. An entry with only deleted versions also counts as missing (contract §6).
 */
export function missingVersion(
  which: 'latest' | 'exact',
  hasLatest: boolean,
): 'entry_not_found' | 'version_not_found' {
  return which === 'exact' && hasLatest ? 'version_not_found' : 'entry_not_found';
}

/** Maximum number of names per statement. */
const MAX_NAMES = 16;
/** Statements of one view that run at once; requests that arrive meanwhile share the next one. */
const MAX_RUNNING = 2;

/** Names that share a statement. More can be added until it begins. */
interface Batch {
  readonly names: VersionName[];
  readonly begins: Promise<void>;
  readonly begin: () => void;
  rows?: Promise<SingleVersionRow[]>;
}

/** The reads of one kind of version in one view. */
class Group {
  private running = 0;
  private readonly waiting = new Set<Batch>();

  get isIdle(): boolean {
    return this.running === 0 && this.waiting.size === 0;
  }

  /** Runs the statement of a lone request. Returns undefined if others run, so that it should join a batch. */
  tryRun<Row>(read: () => Promise<Row>): Promise<Row> | undefined {
    return this.running < MAX_RUNNING ? this.run(read) : undefined;
  }

  /** The batch that a further request joins. */
  batch(): Batch {
    const last = [...this.waiting].at(-1);
    if (last && last.names.length < MAX_NAMES) return last;
    let resolve: () => void;
    const begins = new Promise<void>((resolved) => (resolve = resolved));
    const batch: Batch = {
      names: [],
      begins,
      begin: () => {
        clearTimeout(timeout);
        this.waiting.delete(batch);
        resolve();
      },
    };
    // The connections of running statements may be hanging.
    const timeout = setTimeout(() => {
      this.running = 0;
      batch.begin();
    }, SHARE_TIMEOUT_MS);
    this.waiting.add(batch);
    return batch;
  }

  async run<Row>(read: () => Promise<Row>): Promise<Row> {
    this.running += 1;
    try {
      return await read();
    } finally {
      this.running = Math.max(0, this.running - 1);
      const [next] = this.waiting;
      next?.begin();
    }
  }
}

/**
 * Reads single versions. Requests for the same view share statements, which costs a quarter as much as separate ones. A lone
 * request does not wait for others.
 */
export class VersionLoader {
  /** By view and kind of version. */
  private readonly groups = new Map<string, Group>();

  /** @returns undefined if the view has no such version. */
  async load(sql: ViewSql, which: SingleVersions, name: VersionName): Promise<ShownVersion | undefined> {
    // A traced request runs its own statement, so that the statement appears in its trace.
    if (tracing.traceId() !== undefined) return loadAlone(sql, which, name);
    const key = `${sql.state} ${which.type} ${which.which} ${which.includeDeleted}`;
    let group = this.groups.get(key);
    if (!group) this.groups.set(key, (group = new Group()));
    try {
      return await (group.tryRun(() => loadAlone(sql, which, name)) ??
        loadWithOthers(group, sql, which, name));
    } finally {
      if (group.isIdle && this.groups.get(key) === group) this.groups.delete(key);
    }
  }
}

async function loadWithOthers(
  group: Group,
  sql: ViewSql,
  which: SingleVersions,
  name: VersionName,
): Promise<ShownVersion | undefined> {
  const batch = group.batch();
  const place = batch.names.push(name) - 1;
  await batch.begins;
  if (batch.names.length === 1) return group.run(() => loadAlone(sql, which, name));
  batch.rows ??= group.run(() => singleVersions(sql, which, batch.names));
  const found = batch.rows.then(async (rows): Promise<ShownVersion | undefined> => {
    const row = sql.observe(rows).find((each) => each.place === place);
    if (!row || row.name === null) return undefined;
    // The document did not fit next to the others.
    return hasDocument(row) ? row : loadAlone(sql, which, name);
  });
  return orAlone(found, () => loadAlone(sql, which, name));
}

function hasDocument<Row extends MaybeVersion | MaybeShown>(row: Row): row is Row & ShownVersion {
  return row.document !== null;
}

async function loadAlone(
  sql: ViewSql,
  which: SingleVersions,
  name: VersionName,
): Promise<ShownVersion | undefined> {
  return (await singleVersion(sql, which, name)).find(hasDocument);
}
