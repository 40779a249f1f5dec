import { storableText, wholeNumber } from '../../validation/value-checks.js';
import { MAX_PAGE } from '../../validation/page-limit.js';
import { Checked, hasShape } from '../../validation/class-checks.js';
import { decodeCursor, encodeCursor } from './cursor.js';

/** The parameters of an admin list, validated by its DTO. */
export interface AdminListQuery {
  readonly cursor?: string;
  readonly limit?: string;
}

export interface ListMetadata {
  readonly count: number;
  readonly nextCursor?: string;
}

/** What a cursor holds. */
class AdminListCursor {
  /** The name of the last item of the page before. */
  @Checked(storableText) readonly after: string;
  @Checked(wholeNumber(1, MAX_PAGE)) readonly limit: number;
}

/**
 * One page of a list in the order of names, which are unique; all of it unless a limit is given (contract §7). It goes on behind the
 * name the page before ended with, also when that is gone.
 *
 * @param items those the caller may see, in any order.
 * @throws ApiError 400 `invalid_cursor`.
 */
export function pageOf<T extends { readonly name: string }>(
  list: string,
  items: readonly T[],
  query: AdminListQuery,
): { items: readonly T[]; metadata: ListMetadata } {
  const before = query.cursor ? decodeCursor(list, query.cursor, hasShape(AdminListCursor)) : undefined;
  const limit = query.limit === undefined ? before?.limit : Number(query.limit);
  const rest = [...items]
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .filter(({ name }) => before === undefined || name > before.after);
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
