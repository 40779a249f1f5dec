import { decodeCursor, encodeCursor } from './cursor.js';

/** The parameters of an admin list, judged by its DTO. */
export interface AdminListQuery {
  readonly cursor?: string;
  readonly limit?: string;
}

export interface ListMetadata {
  readonly count: number;
  readonly nextCursor?: string;
}

interface Walk {
  /** The name of the last item of the page before. */
  readonly after: string;
  readonly limit: number;
}

/**
 * One page of a list whose items have unique names; all of it unless a limit is given (contract §7).
 *
 * @param items in their order, and only those the caller may see.
 * @throws ApiError 400 `invalid_cursor`, also when the item the cursor stopped at is gone.
 */
export function pageOf<T extends { readonly name: string }>(
  list: string,
  items: readonly T[],
  query: AdminListQuery,
): { items: readonly T[]; metadata: ListMetadata } {
  const walk = query.cursor ? decodeCursor(list, query.cursor, isWalk) : undefined;
  const limit = query.limit === undefined ? walk?.limit : Number(query.limit);
  const rest = walk ? following(items, walk.after) : items;
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

// Lists by name go on behind a name that is gone; lists in another order have to find it.
function following<T extends { readonly name: string }>(items: readonly T[], after: string): readonly T[] {
  const position = items.findIndex(({ name }) => name === after);
  return position === -1 ? items.filter(({ name }) => name > after) : items.slice(position + 1);
}

function isWalk(value: unknown): value is Walk {
  if (typeof value !== 'object' || value === null) return false;
  const { after, limit } = value as Record<string, unknown>;
  return typeof after === 'string' && Number.isInteger(limit) && Number(limit) >= 1 && Number(limit) <= 100;
}
