import { type BareType, ENTRY_TYPES, type EntryType } from '../documents/entry-types.js';
import { currentKey } from '../documents/versions.js';
import { ApiError } from '../http/errors.js';
import { decodeCursor, encodeCursor } from '../http/lists.js';
import {
  hasShape,
  IsBoolean,
  IsInt,
  IsOptional,
  Validate,
  ValidateNested,
} from '../validation/class-validation.js';
import { type Issue, issue } from '../validation/problems.js';
import { MAX_PAGE, parseTimestamp, storableText } from '../validation/value-checks.js';
import type {
  BareListQuery,
  PageQuery,
  ServerListQuery,
  VersionQuery,
  VersionsQuery,
} from './list-query.dto.js';

/** Filter of a list. The cursor contains it, so the next page needs no other parameter. */
export class ListFilter {
  /** Lower-cased; matches a substring of name, title or description. */
  @IsOptional() @Validate(storableText) readonly search?: string;
  /** RFC 3339 in UTC. */
  @IsOptional() @Validate(moment) readonly updatedSince?: string;
  /** `latest` or one exact version. */
  @IsOptional() @Validate(storableText) readonly version?: string;
  @IsOptional() @IsBoolean() readonly includeDeleted?: boolean;
  @IsOptional() @Validate(storableText) readonly status?: string;
}

/** The last version of the previous page: its name, and its sort key within the name. */
export class Position {
  @Validate(storableText) readonly name: string;
  @Validate(storableText) readonly key: string;
}

/** Content of a list cursor. */
class ListCursor {
  @ValidateNested(() => ListFilter) readonly filter: ListFilter;
  @IsInt(1, MAX_PAGE) readonly limit: number;
  @ValidateNested(() => Position) readonly after: Position;
}

/** A page of a list: up to `limit` versions that pass `filter`, after the position. */
export interface ListRequest {
  readonly filter: ListFilter;
  readonly limit: number;
  readonly after: Position | null;
}

/** A page of the versions of a name, newest first. `after` is the sort key of the last version; null: from the newest. */
export interface VersionsRequest {
  readonly includeDeleted: boolean;
  readonly after: string | null;
}

/** Content of a cursor of versions. */
class VersionsCursor {
  @Validate(storableText) readonly name: string;
  @IsBoolean() readonly includeDeleted: boolean;
  @Validate(storableText) readonly after: string;
}

const VERSIONS = 'versions';

/** @throws ApiError 400 `invalid_cursor`, also for a cursor of another name. */
export function versionsRequest(name: string, query: VersionsQuery): VersionsRequest {
  if (!query.cursor) return { includeDeleted: includesDeleted(query), after: null };
  const state = decodeCursor(VERSIONS, query.cursor, hasShape(VersionsCursor));
  if (state.name !== name) throw new ApiError('invalid_cursor');
  return { includeDeleted: state.includeDeleted, after: currentKey(state.after) };
}

/** contract §6: deleted versions are shown only on request. */
export function includesDeleted(query: VersionQuery): boolean {
  return query.include_deleted === 'true';
}

/** The cursor that continues after this version. */
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

/** The cursor that continues after this position with the same query. */
export function nextCursor(type: EntryType, request: ListRequest, last: Position): string {
  const after: Position = { name: last.name, key: last.key };
  return encodeCursor(ENTRY_TYPES[type].listKey, { filter: request.filter, limit: request.limit, after });
}

function searchOf(query: PageQuery): Pick<ListFilter, 'search'> {
  return query.search ? { search: query.search.toLowerCase() } : {};
}

// contract §6: the cursor contains the filters; any sent with it are ignored.
function listRequest(type: EntryType, query: PageQuery, filter: ListFilter): ListRequest {
  const { listKey, perPage, listsLatestOnly } = ENTRY_TYPES[type];
  const limit = query.limit ? Number(query.limit) : undefined;
  if (!query.cursor) return { filter, limit: limit ?? perPage, after: null };
  const state = decodeCursor(listKey, query.cursor, hasShape(ListCursor));
  // A forged cursor must not list older or deleted versions.
  if (listsLatestOnly && (state.filter.version !== 'latest' || state.filter.includeDeleted))
    throw new ApiError('invalid_cursor');
  const after = { name: state.after.name, key: currentKey(state.after.key) };
  return { filter: state.filter, limit: limit ?? state.limit, after };
}

// In canonical form: PostgreSQL does not accept everything that RFC 3339 allows.
function moment(value: unknown): Issue[] {
  const isWhole = typeof value === 'string' && parseTimestamp(value)?.toISOString() === value;
  return isWhole ? [] : issue('must be a moment in UTC');
}
