import type { EntryType } from '../../../documents/entry-types.js';
import { CURRENCY } from '../../../views/views.queries.js';
import { isVisible, NOT_DELETED, rankedBy } from '../list-conditions.js';
import { FOUND_COLUMNS, ONLY_FOUND_COLUMNS, PAGE_WINDOW } from '../page-size.js';
import type { CurrencyRow } from '../snapshot-check.js';
import { type MaybeVersion, VERSION_COLUMNS } from '../version-row.js';
import type { ViewSql } from '../view-sql.queries.js';

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
