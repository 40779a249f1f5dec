import { createHash } from 'node:crypto';
import { IsInt, IsOptional, Max, Min } from 'class-validator';
import { hasShape } from '../validation/class-validation.js';
import { IsStorable } from '../validation/decorators.js';
import { MAX_PAGE } from '../validation/value-checks.js';
import { ApiError } from './errors.js';

const CHECKSUM_BYTES = 6;
const MAX_CURSOR_LENGTH = 8_192;

/**
 * Encodes a position in a list as an opaque cursor, `^[A-Za-z0-9_-]+$`. Nothing in it is secret or trusted: it selects where
 * to continue, not which items are visible. The checksum only detects corruption.
 *
 * @param list the list the cursor belongs to; other lists refuse it.
 */
export function encodeCursor(list: string, state: unknown): string {
  const payload = Buffer.from(JSON.stringify([list, state]));
  return Buffer.concat([checksum(payload), payload]).toString('base64url');
}

/**
 * Decodes a cursor of this list.
 *
 * @param isState whether the decoded value has the shape this list encodes.
 * @throws ApiError `invalid_cursor` for anything `encodeCursor` did not return.
 */
export function decodeCursor<T>(list: string, cursor: string, isState: (value: unknown) => value is T): T {
  if (cursor.length > MAX_CURSOR_LENGTH || !/^[A-Za-z0-9_-]+$/.test(cursor))
    throw new ApiError('invalid_cursor');
  const bytes = Buffer.from(cursor, 'base64url');
  const payload = bytes.subarray(CHECKSUM_BYTES);
  // Encoding again detects changes to the last character's unused bits, which decoding ignores.
  if (bytes.toString('base64url') !== cursor || !checksum(payload).equals(bytes.subarray(0, CHECKSUM_BYTES)))
    throw new ApiError('invalid_cursor');
  const value = parse(payload.toString());
  if (!Array.isArray(value) || value.length !== 2 || value[0] !== list) throw new ApiError('invalid_cursor');
  const state: unknown = value[1];
  if (!isState(state)) throw new ApiError('invalid_cursor');
  return state;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiError('invalid_cursor');
  }
}

function checksum(payload: Buffer): Buffer {
  return createHash('sha256').update(payload).digest().subarray(0, CHECKSUM_BYTES);
}

/**
 * Returns the roundest position from `low` up to, but excluding, `high`: the number that ends in the most zero bits. A
 * cursor with this position reveals roughly how far a walk got, but no ID or time of an item that the caller cannot see.
 * Positions are hexadecimal, and equally long.
 */
export function roundestBetween(low: string, high: string): string {
  const before = (position: string) => BigInt(`0x${position}`) - 1n;
  const zeros = BigInt((before(low) ^ before(high)).toString(2).length - 1);
  return ((before(high) >> zeros) << zeros).toString(16).padStart(high.length, '0');
}

/** The parameters of an admin list, validated by its DTO. */
export interface AdminListQuery {
  readonly cursor?: string;
  readonly limit?: string;
  /** A part of the names, ignoring case. */
  readonly search?: string;
}

interface ListMetadata {
  readonly count: number;
  readonly nextCursor?: string;
}

class AdminListCursor {
  /** The name of the last item of the previous page. */
  @IsStorable() readonly after: string;
  @IsOptional() @IsInt() @Min(1) @Max(MAX_PAGE) readonly limit?: number;
  @IsOptional() @IsStorable() readonly search?: string;
}

interface ListItem {
  readonly name: string;
  /** Null if the caller may no longer see it. */
  readonly answer: object | null;
}

/** Maximum size of a page of any list; a longer list continues with `nextCursor` (reference/catalog). */
export const MAX_PAGE_BYTES = 1_024 * 1_024;
/** Reserved for everything around the items. */
const ENVELOPE_BYTES = 1_024;

/**
 * Returns one page of a list as JSON: up to `limit` items, otherwise as many as fit into 1 MiB, and at least one.
 *
 * @param member the member of the response with the items; also the name of the list in cursors.
 * @param rows the names that the caller may see, in order, without duplicates.
 * @param isByName whether the rows are ordered by name, so that a page can continue after a deleted name. Otherwise the
 *   list starts over after a deleted name, because repeated items do less harm than missing items.
 * @param load returns items for the first of these rows; rows that are gone are left out. Returns none only if all are
 *   gone.
 * @throws ApiError 400 `invalid_cursor`.
 */
export async function listPage<R extends { readonly name: string }>(
  member: string,
  rows: readonly R[],
  query: AdminListQuery,
  isByName: boolean,
  load: (rows: readonly R[]) => Promise<readonly ListItem[]>,
): Promise<string> {
  const list = `admin-${member}`;
  const before = query.cursor ? decodeCursor(list, query.cursor, hasShape(AdminListCursor)) : undefined;
  const limit = query.limit === undefined ? before?.limit : Number(query.limit);
  const search = before ? before.search : query.search?.toLowerCase();
  const most = limit ?? Infinity;
  const texts: string[] = [];
  let bytes = ENVELOPE_BYTES;
  let last = '';
  const page = (hasMore: boolean) => {
    const nextCursor = hasMore ? encodeCursor(list, { after: last, limit, search }) : undefined;
    const metadata: ListMetadata = { count: texts.length, ...(nextCursor ? { nextCursor } : {}) };
    return `{"${member}":[${texts.join(',')}],"metadata":${JSON.stringify(metadata)}}`;
  };
  const following = before ? rowsAfter(rows, before.after, isByName) : rows;
  for (
    let rest = search ? following.filter(({ name }) => name.includes(search)) : following;
    rest.length > 0;
  ) {
    if (texts.length === most) return page(true);
    const next = rest.slice(0, most - texts.length);
    const items = await load(next);
    for (const { name, answer } of items) {
      if (!answer) continue;
      const text = JSON.stringify(answer);
      bytes += Buffer.byteLength(text) + 1;
      if (texts.length > 0 && bytes > MAX_PAGE_BYTES) return page(true);
      texts.push(text);
      last = name;
    }
    const reached = items.at(-1)?.name;
    rest = rest.slice(
      reached === undefined ? next.length : next.findIndex(({ name }) => name === reached) + 1,
    );
  }
  return page(false);
}

function rowsAfter<R extends { readonly name: string }>(
  rows: readonly R[],
  after: string,
  isByName: boolean,
): readonly R[] {
  const position = rows.findIndex(({ name }) => name === after);
  return position === -1 && isByName ? rows.filter(({ name }) => name > after) : rows.slice(position + 1);
}
