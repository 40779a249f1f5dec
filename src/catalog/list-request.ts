import { type BareType, ENTRY_TYPES, type EntryType } from '../documents/entry-types.js';
import { currentKey } from '../documents/versions.js';
import { ApiError } from '../http/errors.js';
import { decodeCursor, encodeCursor } from '../http/lists.js';
import { Checked, hasShape, Optional, Section } from '../validation/class-checks.js';
import { type Issue, issue } from '../validation/problems.js';
import { flag, MAX_PAGE, parseTimestamp, storableText, wholeNumber } from '../validation/value-checks.js';
import type {
  BareListQuery,
  PageQuery,
  ServerListQuery,
  VersionQuery,
  VersionsQuery,
} from './list-query.dto.js';

/** Which versions a list shows. Everything here goes into the cursor, so that the next page needs nothing else. */
export class ListFilter {
  /** Lower-cased; matches a substring of name, title or description. */
  @Optional() @Checked(storableText) readonly search?: string;
  /** RFC 3339 in UTC. */
  @Optional() @Checked(moment) readonly updatedSince?: string;
  /** `latest` or one exact version. */
  @Optional() @Checked(storableText) readonly version?: string;
  @Optional() @Checked(flag) readonly includeDeleted?: boolean;
  @Optional() @Checked(storableText) readonly status?: string;
}

/** The last version of the page before: its name, and its sort key among the versions of that name. */
export class Position {
  @Checked(storableText) readonly name: string;
  @Checked(storableText) readonly key: string;
}

/** What a cursor holds. */
class ListCursor {
  @Section(() => ListFilter) readonly filter: ListFilter;
  @Checked(wholeNumber(1, MAX_PAGE)) readonly limit: number;
  @Section(() => Position) readonly after: Position;
}

/** One page asked for: `limit` versions that pass `filter`, after the position. */
export interface ListRequest {
  readonly filter: ListFilter;
  readonly limit: number;
  readonly after: Position | null;
}

/** The versions of one name, newest first, after the one with this key; null: from the newest on. */
export interface VersionsRequest {
  readonly includeDeleted: boolean;
  readonly after: string | null;
}

/** What a cursor of the versions of a name holds. */
class VersionsCursor {
  @Checked(storableText) readonly name: string;
  @Checked(flag) readonly includeDeleted: boolean;
  @Checked(storableText) readonly after: string;
}

const VERSIONS = 'versions';

/** @throws ApiError `invalid_cursor`, also for one of another name. */
export function versionsRequest(name: string, query: VersionsQuery): VersionsRequest {
  if (!query.cursor) return { includeDeleted: includesDeleted(query), after: null };
  const state = decodeCursor(VERSIONS, query.cursor, hasShape(VersionsCursor));
  if (state.name !== name) throw new ApiError('invalid_cursor');
  return { includeDeleted: state.includeDeleted, after: currentKey(state.after) };
}

/** contract §6: a version whose status is `deleted` is there for who asks for such versions, and for nobody else. */
export function includesDeleted(query: VersionQuery): boolean {
  return query.include_deleted === 'true';
}

/** The cursor that goes on after this version of a name. */
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

/** The cursor that goes on after this position with the same query. */
export function nextCursor(type: EntryType, request: ListRequest, last: Position): string {
  const after: Position = { name: last.name, key: last.key };
  return encodeCursor(ENTRY_TYPES[type].listKey, { filter: request.filter, limit: request.limit, after });
}

function searchOf(query: PageQuery): Pick<ListFilter, 'search'> {
  return query.search ? { search: query.search.toLowerCase() } : {};
}

// contract §6: the cursor carries the query. Filters sent along with it, the same, fewer or others, change nothing.
function listRequest(type: EntryType, query: PageQuery, filter: ListFilter): ListRequest {
  const { listKey, perPage, listsLatestOnly } = ENTRY_TYPES[type];
  const limit = query.limit ? Number(query.limit) : undefined;
  if (!query.cursor) return { filter, limit: limit ?? perPage, after: null };
  const state = decodeCursor(listKey, query.cursor, hasShape(ListCursor));
  // A forged cursor opens no other list than there is.
  if (listsLatestOnly && (state.filter.version !== 'latest' || state.filter.includeDeleted))
    throw new ApiError('invalid_cursor');
  const after = { name: state.after.name, key: currentKey(state.after.key) };
  return { filter: state.filter, limit: limit ?? state.limit, after };
}

// As it is written here: PostgreSQL does not take all that RFC 3339 allows.
function moment(value: unknown): Issue[] {
  const isWhole = typeof value === 'string' && parseTimestamp(value)?.toISOString() === value;
  return isWhole ? [] : issue('must be a moment in UTC');
}
