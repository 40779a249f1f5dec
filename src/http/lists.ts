import { createHash } from 'node:crypto';
import { hasShape, IsInt, Validate } from '../validation/class-validation.js';
import { MAX_PAGE, storableText } from '../validation/value-checks.js';
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

/** The parameters of an admin list, validated by its DTO. */
export interface AdminListQuery {
  readonly cursor?: string;
  readonly limit?: string;
}

export interface ListMetadata {
  readonly count: number;
  readonly nextCursor?: string;
}

class AdminListCursor {
  /** The name of the last item of the previous page. */
  @Validate(storableText) readonly after: string;
  @IsInt(1, MAX_PAGE) readonly limit: number;
}

/**
 * Returns one page of a list whose items have unique names, or the whole list without a limit (contract §7).
 *
 * @param items the ordered items that the caller may see.
 * @param isByName whether the items are ordered by name, so that a page can continue after a deleted name. Otherwise the
 *   list starts over after a deleted name, because repeated items do less harm than missing items.
 * @throws ApiError 400 `invalid_cursor`.
 */
export function pageOf<T extends { readonly name: string }>(
  list: string,
  items: readonly T[],
  query: AdminListQuery,
  isByName: boolean,
): { items: readonly T[]; metadata: ListMetadata } {
  const before = query.cursor ? decodeCursor(list, query.cursor, hasShape(AdminListCursor)) : undefined;
  const limit = query.limit === undefined ? before?.limit : Number(query.limit);
  const rest = before ? following(items, before.after, isByName) : items;
  const page = limit === undefined ? rest : rest.slice(0, limit);
  const last = page.at(-1);
  const more = last !== undefined && limit !== undefined && rest.length > page.length;
  return {
    items: page,
    metadata: {
      count: page.length,
      ...(more ? { nextCursor: encodeCursor(list, { after: last.name, limit }) } : {}),
    },
  };
}

function following<T extends { readonly name: string }>(
  items: readonly T[],
  after: string,
  isByName: boolean,
): readonly T[] {
  const position = items.findIndex(({ name }) => name === after);
  return position === -1 && isByName ? items.filter(({ name }) => name > after) : items.slice(position + 1);
}
