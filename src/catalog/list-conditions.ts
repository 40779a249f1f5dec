import type { NamedValues } from '../database/statements.js';
import type { EntryType } from '../documents/entry-types.js';
import { IS_WORTH_READING } from '../visibility/views.queries.js';
import type { ListFilter, ListRequest, Position } from './list-request.js';

/**
 * SQL: whether an entry is in the view. The planner takes what stands in COALESCE as it is: otherwise it would look every claim
 * set up in its statistics, which takes longer than the statement when there are thousands. A missing parameter shows nothing.
 */
export function isVisible(entry: string): string {
  return `(coalesce(${entry}.claim_set_id = any($claimSets::int[]), false) or $seesAll::boolean)`;
}

/**
 * SQL: the same, for statements that test many entries and are planned once: the planner knows neither value, and the claim sets are
 * hashed. Otherwise a plan for these values looks cheaper than one for any, and is made anew for each page.
 */
export function isVisibleAmongMany(entry: string): string {
  return `(coalesce(${entry}.claim_set_id in (select unnest((select $claimSets::int[]))), false) or (select $seesAll::boolean))`;
}

/** SQL: whether the version `v` is there for who does not ask for deleted ones. */
export const NOT_DELETED = `v.status <> 'deleted'`;

/** SQL: whether the version `v` passes the filter, as far as that does not depend on its entry. */
export function passes({ includeDeleted, version, status, search }: ListFilter): string {
  const conditions: string[] = [];
  if (!includeDeleted) conditions.push(NOT_DELETED);
  if (version === 'latest') conditions.push('v.is_latest');
  else if (version !== undefined) conditions.push('v.version = $version');
  if (status !== undefined) conditions.push('v.status = $status');
  if (search !== undefined) conditions.push('v.search like $searchPattern');
  return conditions.length > 0 ? conditions.join(' and ') : 'true';
}

/**
 * SQL: whether a version has changed since the time of the filter, or the claims of its entry have: those may have made it visible
 * (contract §6).
 */
export function changedSince(
  { updatedSince }: ListFilter,
  updatedAt: string,
  claimsChangedAt: string,
): string {
  return updatedSince === undefined
    ? 'true'
    : `(${updatedAt} >= $updatedSince::timestamptz or ${claimsChangedAt} >= $updatedSince::timestamptz)`;
}

/**
 * SQL: what the filter asks of the version `o` that an index of one entry's versions can answer. The exact version stands in
 * a subquery, which the planner cannot look into: the plan is the same whatever the statistics say of the value.
 */
function isVersionAsked({ version }: ListFilter): string {
  if (version === 'latest') return 'o.is_latest';
  return version === undefined ? 'true' : 'o.version = (select $version::text)';
}

/** SQL: whether the name has not been passed by a position yet; its own has not. */
export function nameFrom(position: Position | null, name: string): string {
  return position ? `${name} >= (select $afterName::text)` : 'true';
}

/** SQL: whether a version comes after a position, of the names that `nameFrom` keeps. */
export function versionAfter(position: Position | null, name: string, key: string): string {
  return position ? `(${name} > (select $afterName::text) or ${key} < (select $afterKey::text))` : 'true';
}

/**
 * SQL: of an entry, the versions that the filter and the position leave, newest first. `entry` names the columns that have its id,
 * its name and when its claims changed.
 */
export function passingVersions(
  { filter, after }: Pick<ListRequest, 'filter' | 'after'>,
  entry: { readonly id: string; readonly name: string; readonly claimsChangedAt: string },
  limit: string,
): string {
  return `select * from (
      select * from entry_version o where o.entry_id = ${entry.id} and ${isVersionAsked(filter)}
      order by o.version_key desc offset 0
    ) v
    where ${passes(filter)}
      and ${changedSince(filter, 'v.updated_at', entry.claimsChangedAt)}
      and ${versionAfter(after, entry.name, 'v.version_key')}
    order by v.version_key desc limit ${limit}`;
}

/** SQL: the sources in which anything is visible, with their ranks. Into a subquery the planner cannot look. */
export function rankedBy(sources: '$rankedSources::int[]' | '(select $rankedSources::int[])'): string {
  return `ranked as materialized (
  select source_id, rank::int from unnest(${sources}) with ordinality as r(source_id, rank)
  where ${IS_WORTH_READING}
)`;
}

/** Values for everything that the conditions here may name. */
export function conditionValues(type: EntryType, { filter, after }: Omit<ListRequest, 'limit'>): NamedValues {
  return {
    type,
    version: filter.version,
    status: filter.status,
    updatedSince: filter.updatedSince,
    searchPattern: filter.search === undefined ? undefined : likePattern(filter.search),
    afterName: after?.name,
    afterKey: after?.key,
  };
}

/** The LIKE pattern of a text that may stand anywhere. */
function likePattern(search: string): string {
  return `%${search.replaceAll(/[\\%_]/g, '\\$&')}%`;
}
