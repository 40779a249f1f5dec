import { Injectable } from '@nestjs/common';
import DataLoader from 'dataloader';
import { PreparedStatements } from '../database/statements.js';
import type { EntryType } from '../documents/entry-types.js';
import type { Semaphore } from '../limits/semaphore.js';
import type { StorableText } from '../validation/storable-text.js';
import {
  type CheckedRow,
  FRESHNESS,
  FRESHNESS_ITEM,
  IS_ITEM_WORTH_READING,
  IS_WORTH_READING,
  SnapshotCheck,
  ViewSql,
} from '../visibility/freshness.queries.js';
import { viewOfSources, type VisibleSource } from '../visibility/view.js';
import { isVisible } from '../visibility/visible-entries.queries.js';
import { hasShownStatus } from './list-request.js';
import {
  FOUND_COLUMNS,
  type MaybeVersion,
  PAGE_WINDOW,
  SHOWN_COLUMNS,
  type ShownVersion,
  VERSION_COLUMNS,
} from './page-body.js';

/** SQL: the condition that selects version `v` of a name. */
const WHICH = {
  latest: 'v.is_latest',
  exact: 'v.version = $version',
} as const;

/** Maximum number of versions of a name per page: their rows are read even if their documents do not fit. */
export const MAX_LISTED_VERSIONS = 2_000;

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
): Promise<(MaybeVersion & CheckedRow)[]> {
  return sql.query<MaybeVersion & CheckedRow>(
    `
with ${FRESHNESS}
select freshness."isCurrent",
    ${FOUND_COLUMNS}
from freshness left join (
  select $name::text as name,
    ${VERSION_COLUMNS}
  from (
  ${firstEntry('$name')}
  ) first_entry join entry_version v on v.entry_id = first_entry.id
  where ${hasShownStatus(includeDeleted)}
    and ($afterKey::text is null or v.version_key < $afterKey)
) found on true
window page as ${PAGE_WINDOW}
order by found.key desc limit ${MAX_LISTED_VERSIONS + 1}`,
    { type, name, afterKey: after },
  );
}

export interface SingleVersion {
  readonly type: EntryType;
  readonly which: 'latest' | 'exact';
  readonly includeDeleted: boolean;
}

/** One version to read from one view. */
export interface VersionRead {
  readonly sql: ViewSql;
  readonly kind: SingleVersion;
  readonly name: StorableText;
  /** Required for `exact`. */
  readonly version?: StorableText;
}

/** A version, or nulls if none was found. */
type MaybeShown = ShownVersion | { readonly [column in keyof ShownVersion]: null };

/** Maximum number of versions per statement. */
const MAX_VERSIONS_PER_STATEMENT = 16;

/**
 * Reads single versions, each from the first source with a visible entry. Reads of one view that arrive together share a
 * statement (decision 004). These reads are so frequent that every column and every step of the plan counts.
 */
export class VersionLoader {
  private readonly loader: DataLoader<VersionRead, Promise<ShownVersion | undefined>, symbol>;

  /** @param statements limits how many statements run concurrently. */
  constructor(statements: Semaphore) {
    this.loader = new DataLoader((reads) => readTogether(reads, statements), {
      cache: false,
      maxBatchSize: MAX_VERSIONS_PER_STATEMENT,
      // Runs once every request that has arrived has been read.
      batchScheduleFn: setImmediate,
    });
  }

  /** @returns undefined if the view has no such version. */
  async load(read: VersionRead): Promise<ShownVersion | undefined> {
    return await this.loader.load(read);
  }
}

// Each read settles with its own statement: another view's may fail, or wait for its turn.
async function readTogether(
  reads: readonly VersionRead[],
  statements: Semaphore,
): Promise<Promise<ShownVersion | undefined>[]> {
  const groups = new Map<string, VersionRead[]>();
  for (const read of reads) {
    const key = `${read.sql.state} ${JSON.stringify(read.kind)}`;
    const group = groups.get(key);
    if (group) group.push(read);
    else groups.set(key, [read]);
  }
  const found = new Map<VersionRead, Promise<ShownVersion | undefined>>();
  for (const group of groups.values()) {
    // Each statement waits its turn, like the caller of any other read.
    const versions = statements.run(`version ${group[0]?.name}`, undefined, () => singleVersions(group));
    for (const [index, read] of group.entries())
      found.set(
        read,
        versions.then((all) => all[index]),
      );
  }
  return reads.map(async (read) => await found.get(read));
}

async function singleVersions(reads: readonly VersionRead[]): Promise<(ShownVersion | undefined)[]> {
  const [first] = reads;
  if (!first) return [];
  if (reads.length === 1) return [await singleVersion(first)];
  const { sql, kind } = first;
  const rows = await sql.query<MaybeShown & CheckedRow & { readonly place: number }>(
    statementOf(kind, 'each'),
    {
      type: kind.type,
      names: reads.map(({ name }) => name),
      versions: reads.map(({ version }) => version ?? null),
    },
  );
  for (const read of reads.slice(1)) read.sql.check.observe(rows);
  const byPlace = new Map(rows.map((row) => [row.place, row]));
  return reads
    .map((_, index) => byPlace.get(index + 1))
    .map((row) => (row && isShown(row) ? row : undefined));
}

async function singleVersion({ sql, kind, name, version }: VersionRead): Promise<ShownVersion | undefined> {
  const rows = await sql.query<MaybeShown & CheckedRow>(statementOf(kind, 'one'), {
    type: kind.type,
    name,
    version,
  });
  return rows.find((row) => isShown(row));
}

function isShown<Row extends MaybeShown>(row: Row): row is Row & ShownVersion {
  return row.document !== null;
}

/** SQL texts by kind of version: building one for each request would take longer than binding its values. */
const STATEMENTS: Record<string, string> = {};

function statementOf({ which, includeDeleted }: SingleVersion, reads: 'one' | 'each'): string {
  return (STATEMENTS[`${reads} ${which} ${includeDeleted}`] ??=
    reads === 'one'
      ? `
select freshness."isCurrent", ${SHOWN_COLUMNS}
from ${FRESHNESS_ITEM} left join entry_version v on v.entry_id = (
  ${firstEntry('$name', IS_ITEM_WORTH_READING)}
) and ${WHICH[which]} and ${hasShownStatus(includeDeleted)}`
      : `
select freshness."isCurrent", wanted.place::int, ${SHOWN_COLUMNS}
from ${FRESHNESS_ITEM}
cross join unnest((select $names::text[]), (select $versions::text[])) with ordinality wanted(name, version, place)
left join entry_version v on v.entry_id = (
  ${firstEntry('wanted.name', IS_ITEM_WORTH_READING)}
) and ${which === 'latest' ? WHICH.latest : 'v.version = wanted.version'} and ${hasShownStatus(includeDeleted)}`);
}

const RANKED_SOURCES = '(select $rankedSources::int[])::int[]';

/** SQL: the first visible entry with this name, in source order; it shadows all others (reference/catalog). */
export function firstEntry(name: string, isWorthReading = IS_WORTH_READING): string {
  return `select e.id from entry e
  where e.source_id = any(${RANKED_SOURCES}) and e.type = $type and e.name = ${name}
    and ${isVisible('e')} and ${isWorthReading}
  order by array_position(${RANKED_SOURCES}, e.source_id) limit 1`;
}

/**
 * Returns the error for a missing version. An entry with only deleted versions also counts as missing (reference/catalog).
 */
export function missingVersion(
  which: 'latest' | 'exact',
  hasLatest: boolean,
): 'entry_not_found' | 'version_not_found' {
  return which === 'exact' && hasLatest ? 'version_not_found' : 'entry_not_found';
}

/** One version of a name; the latest if `version` is undefined. */
export interface TracedName {
  readonly type: EntryType;
  readonly name: string;
  readonly version?: string;
}

/** The outcome of reading one version. */
export interface NameTrace {
  /** The source whose entry shadows all others; undefined if no entry is visible. */
  readonly sourceId?: number;
  /** The status of the version; undefined if the entry has no such version. */
  readonly status?: string;
  /** Error code of a 404 response; undefined if the version is shown. */
  readonly code?: 'entry_not_found' | 'version_not_found';
}

interface TraceRow extends CheckedRow {
  readonly sourceId: number | null;
  readonly status: string | null;
  readonly isShown: boolean | null;
  readonly hasLatest: boolean;
}

/**
 * Traces the read of one version (reference/explain). The SQL of `VersionLoader` decides visibility, shadowing and status,
 * so an explanation cannot differ from the response.
 */
@Injectable()
export class NameTraces {
  constructor(private readonly prepared: PreparedStatements) {}

  /** @param visible visible claim sets by source, in registry order. */
  async trace(
    visible: readonly VisibleSource[],
    { type, name, version = 'latest' }: TracedName,
  ): Promise<NameTrace> {
    const which = version === 'latest' ? 'latest' : 'exact';
    const sql = new ViewSql(this.prepared, new SnapshotCheck(viewOfSources(visible)));
    const [row] = await sql.query<TraceRow>(
      `
with ${FRESHNESS}
select freshness."isCurrent", e.source_id as "sourceId",
  asked.status, asked."isShown",
  exists (select from entry_version v where v.entry_id = e.id and ${WHICH.latest} and ${hasShownStatus()}) as "hasLatest"
from freshness left join ((${firstEntry('$name')}) first_entry join entry e on e.id = first_entry.id) on true
left join lateral (
  select v.status, ${hasShownStatus()} as "isShown" from entry_version v where v.entry_id = e.id and ${WHICH[which]}
) asked on true`,
      { type, name, version },
    );
    if (!row || row.sourceId === null) return { code: 'entry_not_found' };
    const { sourceId, status, isShown, hasLatest } = row;
    return {
      sourceId,
      ...(status === null ? {} : { status }),
      ...(isShown ? {} : { code: missingVersion(which, hasLatest) }),
    };
  }
}
