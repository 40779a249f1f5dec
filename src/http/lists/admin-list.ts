import { Checked, hasShape } from '../../validation/class-checks.js';
import { MAX_PAGE, storableText, wholeNumber } from '../../validation/value-checks.js';
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
 * One page of a list whose items have unique names; all of it unless a limit is given (contract §7).
 *
 * @param items in their order, and only those the caller may see.
 * @param isByName is that the order of their names? Then a page goes on behind a name that is gone. Otherwise nobody can tell where it
 *   stood, and the list begins again: what is repeated does less harm than what is left out.
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
