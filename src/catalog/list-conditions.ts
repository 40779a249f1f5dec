import { isOneOf } from '../database/columns.js';
import type { NamedValues } from '../database/statements.js';
import type { EntryType } from '../documents/entry-types.js';
import { SHOWN_STATUSES, SHOWN_STATUSES_WITH_DELETED } from '../documents/statuses.js';
import { IS_WORTH_READING } from '../visibility/views.queries.js';
import type { ListFilter, ListRequest, Position } from './list-request.js';

/**
 * SQL: whether an entry is in the view. COALESCE keeps the planner from looking up every claim set in its statistics, which for thousands
 * takes longer than the statement. A null parameter matches nothing.
 */
export function isVisible(entry: string): string {
  return `(coalesce(${entry}.claim_set_id = any($claimSets::int[]), false) or $seesAll::boolean)`;
}

/**
 * SQL: the same for statements that test many entries. Subqueries hide the values from the planner: it hashes the claim sets and keeps
 * the generic plan instead of planning each page.
 */
export function isVisibleAmongMany(entry: string): string {
  return `(coalesce(${entry}.claim_set_id in (select unnest((select $claimSets::int[]))), false) or (select $seesAll::boolean))`;
}

/** SQL: whether consumers see the version `v` (contract §6). */
export function hasShownStatus(includeDeleted = false): string {
  return isOneOf('v.status', includeDeleted ? SHOWN_STATUSES_WITH_DELETED : SHOWN_STATUSES);
}

/** SQL: whether the version `v` passes the part of the filter that does not depend on its entry. */
export function passes({ includeDeleted, version, status, search }: ListFilter): string {
  const conditions = [hasShownStatus(includeDeleted)];
  if (version === 'latest') conditions.push('v.is_latest');
  else if (version !== undefined) conditions.push('v.version = $version');
  if (status !== undefined) conditions.push('v.status = $status');
  if (search !== undefined) conditions.push('v.search like $searchPattern');
  return conditions.join(' and ');
}

/**
 * SQL: whether the version, or the claims of its entry, changed since the time of the filter: new claims may have made it visible
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
 * SQL: the part of the filter on the version `o` that the index of an entry's versions can answer. The subquery hides the exact
 * version from the planner, so the plan does not depend on its statistics.
 */
function matchesVersion({ version }: ListFilter): string {
  if (version === 'latest') return 'o.is_latest';
  return version === undefined ? 'true' : 'o.version = (select $version::text)';
}

/** SQL: whether the name is at or after the position. */
export function nameFrom(position: Position | null, name: string): string {
  return position ? `${name} >= (select $afterName::text)` : 'true';
}

/** SQL: whether a version is after the position, given `nameFrom`. */
export function versionAfter(position: Position | null, name: string, key: string): string {
  return position ? `(${name} > (select $afterName::text) or ${key} < (select $afterKey::text))` : 'true';
}

/** SQL: the versions of an entry that pass the filter and the position, newest first. `entry` names its columns. */
export function passingVersions(
  { filter, after }: Pick<ListRequest, 'filter' | 'after'>,
  entry: { readonly id: string; readonly name: string; readonly claimsChangedAt: string },
  limit: string,
): string {
  return `select * from (
      select * from entry_version o where o.entry_id = ${entry.id} and ${matchesVersion(filter)}
      order by o.version_key desc offset 0
    ) v
    where ${passes(filter)}
      and ${changedSince(filter, 'v.updated_at', entry.claimsChangedAt)}
      and ${versionAfter(after, entry.name, 'v.version_key')}
    order by v.version_key desc limit ${limit}`;
}

/** SQL: the sources with visible partitions, ranked. A subquery hides the value from the planner. */
export function rankedBy(sources: '$rankedSources::int[]' | '(select $rankedSources::int[])'): string {
  return `ranked as materialized (
  select source_id, rank::int from unnest(${sources}) with ordinality as r(source_id, rank)
  where ${IS_WORTH_READING}
)`;
}

/** Values of all parameters that these conditions use. */
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

/** LIKE pattern for a substring. */
function likePattern(search: string): string {
  return `%${search.replaceAll(/[\\%_]/g, '\\$&')}%`;
}
