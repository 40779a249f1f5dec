import type { EntryType } from '../documents/entry-types.js';
import type { StorableText } from '../validation/storable-text.js';
import {
  FRESHNESS,
  FRESHNESS_ITEM,
  type CheckedRow,
  IS_ITEM_WORTH_READING,
  IS_WORTH_READING,
  type ViewSql,
} from '../visibility/freshness.queries.js';
import { hasShownStatus, isVisible } from './list-request.js';
import {
  FOUND_COLUMNS,
  type MaybeVersion,
  PAGE_WINDOW,
  SHOWN_COLUMNS,
  type ShownVersion,
  VERSION_COLUMNS,
} from './page-body.js';

/** SQL: the condition that selects version `v` of a name. */
export const WHICH = {
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

interface VersionName {
  readonly name: StorableText;
  /** Required for `exact`. */
  readonly version?: StorableText;
}

/** A version, or nulls if none was found. */
type MaybeShown = ShownVersion | { readonly [column in keyof ShownVersion]: null };

/**
 * Reads one version of a name, from the first source with a visible entry. Reads by name are so frequent that every column and
 * every step of the plan counts.
 *
 * @returns undefined if the view has no such version.
 */
export async function singleVersion(
  sql: ViewSql,
  { type, which, includeDeleted }: SingleVersion,
  { name, version }: VersionName,
): Promise<ShownVersion | undefined> {
  const text = (SINGLE_VERSION[`${which} ${includeDeleted}`] ??= singleVersionText(which, includeDeleted));
  const rows = await sql.query<MaybeShown & CheckedRow>(text, { type, name, version });
  return rows.find((row): row is ShownVersion & CheckedRow => row.document !== null);
}

/** Texts by kind of version: putting one together for each request would take longer than binding it. */
const SINGLE_VERSION: Record<string, string> = {};

function singleVersionText(which: SingleVersion['which'], includeDeleted: boolean): string {
  return `
select freshness."isCurrent", ${SHOWN_COLUMNS}
from ${FRESHNESS_ITEM} left join entry_version v on v.entry_id = (
  ${firstEntry('$name', IS_ITEM_WORTH_READING)}
) and ${WHICH[which]} and ${hasShownStatus(includeDeleted)}`;
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
