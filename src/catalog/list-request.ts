import { Type } from 'class-transformer';
import { IsBoolean, IsDefined, IsInt, IsOptional, Max, Min, ValidateNested } from 'class-validator';
import { isOneOf } from '../database/sql-expressions.js';
import type { NamedValues } from '../database/statements.js';
import { type BareType, ENTRY_TYPES, type EntryType } from '../documents/entry-types.js';
import { SHOWN_STATUSES, SHOWN_STATUSES_WITH_DELETED } from '../documents/statuses.js';
import { ApiError } from '../http/errors.js';
import { decodeCursor, encodeCursor } from '../http/lists.js';
import { hasShape } from '../validation/class-validation.js';
import { decoratorFor, IsStorable } from '../validation/decorators.js';
import { MAX_PAGE, parseTimestamp } from '../validation/value-checks.js';
import type {
  BareListQuery,
  PageQuery,
  ServerListQuery,
  VersionQuery,
  VersionsQuery,
} from './list-query.dto.js';

/** Requires the canonical form, because PostgreSQL does not accept everything that RFC 3339 allows. */
const IsMoment = decoratorFor(
  'isMoment',
  (value) => typeof value === 'string' && parseTimestamp(value)?.toISOString() === value,
  'must be a UTC timestamp',
);

/** Filter of a list. The cursor contains it, so a request for the next page needs no other parameter. */
export class ListFilter {
  /** Lower-cased; matches a substring of name, title or description. */
  @IsOptional() @IsStorable() readonly search?: string;
  /** RFC 3339 in UTC. */
  @IsOptional() @IsMoment() readonly updatedSince?: string;
  /** `latest` or one exact version. */
  @IsOptional() @IsStorable() readonly version?: string;
  @IsOptional() @IsBoolean() readonly includeDeleted?: boolean;
  @IsOptional() @IsStorable() readonly status?: string;
}

/** The last version of the previous page: its name, and its sort key within the name. */
export class Position {
  @IsStorable() readonly name: string;
  @IsStorable() readonly key: string;
}

class ListCursor {
  @IsDefined() @ValidateNested() @Type(() => ListFilter) readonly filter: ListFilter;
  @IsInt() @Min(1) @Max(MAX_PAGE) readonly limit: number;
  @IsDefined() @ValidateNested() @Type(() => Position) readonly after: Position;
}

/** A request for a page of a list: up to `limit` versions after the position that pass `filter`. */
export interface ListRequest {
  readonly filter: ListFilter;
  readonly limit: number;
  readonly after: Position | null;
  /** Longer documents are replaced by the empty string. Lists with a search, a time or a status ignore this. */
  readonly maxDocumentBytes?: number;
}

/**
 * A request for a page of a name's versions, newest first. `after` is the sort key of the previous page's last version;
 * null for the first page.
 */
export interface VersionsRequest {
  readonly includeDeleted: boolean;
  readonly after: string | null;
}

class VersionsCursor {
  @IsStorable() readonly name: string;
  @IsBoolean() readonly includeDeleted: boolean;
  @IsStorable() readonly after: string;
}

const VERSIONS = 'versions';

/** @throws ApiError 400 `invalid_cursor`, even for a cursor that belongs to another name. */
export function versionsRequest(name: string, query: VersionsQuery): VersionsRequest {
  if (!query.cursor) return { includeDeleted: includesDeleted(query), after: null };
  const state = decodeCursor(VERSIONS, query.cursor, hasShape(VersionsCursor));
  if (state.name !== name) throw new ApiError('invalid_cursor');
  return { includeDeleted: state.includeDeleted, after: state.after };
}

/** reference/catalog: deleted versions are shown only on request. */
export function includesDeleted(query: VersionQuery): boolean {
  return query.include_deleted === 'true';
}

/** Returns the cursor for the page after this version. */
export function nextVersionsCursor(name: string, request: VersionsRequest, { key }: Position): string {
  return encodeCursor(VERSIONS, { name, includeDeleted: request.includeDeleted, after: key });
}

export function serverListRequest(query: ServerListQuery): ListRequest {
  const since = query.updated_since ? parseTimestamp(query.updated_since) : null;
  return listRequest('server', query, {
    ...searchOf(query),
    ...(since ? { updatedSince: since.toISOString() } : {}),
    ...(query.version ? { version: query.version } : {}),
    ...(includesDeleted(query) || since ? { includeDeleted: true } : {}),
  });
}

export function bareListRequest(type: BareType, query: BareListQuery): ListRequest {
  return listRequest(type, query, {
    ...searchOf(query),
    version: 'latest',
    ...(query.status ? { status: query.status } : {}),
  });
}

/** Returns the cursor for the page after this position, with the same query. */
export function nextListCursor(type: EntryType, request: ListRequest, last: Position): string {
  const after: Position = { name: last.name, key: last.key };
  return encodeCursor(ENTRY_TYPES[type].listKey, { filter: request.filter, limit: request.limit, after });
}

function searchOf(query: PageQuery): Pick<ListFilter, 'search'> {
  return query.search ? { search: query.search.toLowerCase() } : {};
}

// reference/catalog: the cursor contains the filters; filters sent along with a cursor are ignored.
function listRequest(type: EntryType, query: PageQuery, filter: ListFilter): ListRequest {
  const { listKey, perPage, listsLatestOnly } = ENTRY_TYPES[type];
  const limit = query.limit ? Number(query.limit) : undefined;
  if (!query.cursor) return { filter, limit: limit ?? perPage, after: null };
  const state = decodeCursor(listKey, query.cursor, hasShape(ListCursor));
  // A forged cursor must not list older or deleted versions.
  if (listsLatestOnly && (state.filter.version !== 'latest' || state.filter.includeDeleted))
    throw new ApiError('invalid_cursor');
  return { filter: state.filter, limit: limit ?? state.limit, after: state.after };
}

const HAS_SHOWN_STATUS = isOneOf('v.status', SHOWN_STATUSES);
const HAS_SHOWN_STATUS_OR_DELETED = isOneOf('v.status', SHOWN_STATUSES_WITH_DELETED);

/** SQL: whether consumers see versions with the status of `v` (reference/catalog). */
export function hasShownStatus(includeDeleted = false): string {
  return includeDeleted ? HAS_SHOWN_STATUS_OR_DELETED : HAS_SHOWN_STATUS;
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
 * SQL: whether the version or its entry's claims changed since the filter's time; new claims may have made the version
 * visible (reference/catalog).
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
 * SQL: the condition on version `o` that the index on an entry's versions can serve. The subquery hides the exact
 * version from the planner, so the plan does not depend on statistics.
 */
function matchesVersion({ version }: ListFilter): string {
  if (version === 'latest') return 'o.is_latest';
  return version === undefined ? 'true' : 'o.version = (select $version::text)';
}

/** SQL: whether the name is at or after the position. */
export function nameFrom(position: Position | null, name: string): string {
  return position ? `${name} >= (select $afterName::text)` : 'true';
}

/** SQL: whether a version is after the position, assuming that `nameFrom` holds. */
export function versionAfter(position: Position | null, name: string, key: string): string {
  return position ? `(${name} > (select $afterName::text) or ${key} < (select $afterKey::text))` : 'true';
}

/**
 * SQL: an entry's versions after the position that pass the filter, newest first. `entry` contains SQL expressions for
 * the entry's columns.
 */
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

/** Values of all parameters in the conditions above. */
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

/** reference/search: a search ends within two seconds. */
export const SEARCH_TIME_MS = 1_750;

/** Time limit for lists with other filters, which may take longer. */
const FILTER_TIME_MS = 30_000;

/** Returns whether a list may read many more versions than it returns and may therefore be slow. */
export function isSearch({ search, updatedSince, version, status }: ListFilter): boolean {
  return Boolean(search || updatedSince || status) || (version !== undefined && version !== 'latest');
}

/** Returns the time limit for a list that `isSearch` accepts, in milliseconds. */
export function searchTimeMs({ search }: ListFilter): number {
  return search ? SEARCH_TIME_MS : FILTER_TIME_MS;
}
