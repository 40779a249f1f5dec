import { api, failureFrom, unwrap } from '../api/client.js';
import { isEntryType } from '../api/entry-types.js';
import type { EntryType, SearchResult } from '../api/types.js';
import type { Counts } from './filter-counts.js';

export const SORTS = { relevance: 'Best match', updated: 'New and updated', name: 'Name' } as const;
export type Sort = keyof typeof SORTS;

/** Search and filters of the catalog, stored in the URL. Empty values do not filter. */
export interface CatalogueFilter {
  readonly search: string;
  readonly type: EntryType | '';
  readonly tag: string;
  readonly transport: string;
  readonly publisher: string;
  readonly installable: 'true' | 'false' | '';
  readonly sort: Sort | '';
}

export const NO_FILTER: Omit<CatalogueFilter, 'sort'> = {
  search: '',
  type: '',
  tag: '',
  transport: '',
  publisher: '',
  installable: '',
};

export function filterFromQuery(query: URLSearchParams): CatalogueFilter {
  const text = (key: string) => query.get(key) ?? '';
  const [type, sort, installable] = [text('type'), text('sort'), text('installable')];
  return {
    search: text('search'),
    type: isEntryType(type) ? type : '',
    tag: text('tag'),
    transport: text('transport'),
    publisher: text('publisher'),
    installable: installable === 'true' || installable === 'false' ? installable : '',
    sort: Object.hasOwn(SORTS, sort) ? (sort as Sort) : '',
  };
}

export function queryOf(filter: CatalogueFilter): Record<string, string> {
  return { ...filter };
}

/** Returns the number of filters in use, apart from the search and the sort order. */
export function countFilters({ type, tag, transport, publisher, installable }: CatalogueFilter): number {
  return [type, tag, transport, publisher, installable].filter(Boolean).length;
}

interface Page {
  readonly limit: number;
  /** Excludes entries whose date is that of a sync. */
  readonly dated?: true;
  readonly cursor?: string | undefined;
}

/** Finds new entries by a stated date; the time of a sync does not count. */
export const NEWEST: CatalogueFilter = { ...NO_FILTER, sort: 'updated' };
/** Twice as many as are shown, because `newest` leaves some out. */
export const NEWEST_PAGE: Page = { limit: 12, dated: true };

/** Returns the sort order. Without words to match, sorting by relevance gives the order of the registry's sources. */
export function sortOf({ sort }: Pick<CatalogueFilter, 'sort'>): Sort {
  return sort || 'relevance';
}

/** Returns 0 for a result with all typed words, 1 with corrected words, 2 with some of the words, 3 with both. */
export function loosenessOf({ corrected, partial }: Partial<SearchResult['metadata']>): number {
  return (partial ? 2 : 0) + (corrected ? 1 : 0);
}

/**
 * How often, and after which pause, a search is retried while the server is still reading a large registry into memory.
 */
const RETRIES = 4;
const RETRY_MS = 2_000;

/** Reads a page of the ranked search of a registry. Every page counts the whole result. */
export async function readSearch(
  registry: string,
  filter: CatalogueFilter,
  { limit, cursor, dated }: Page,
  signal: AbortSignal,
): Promise<SearchResult> {
  const { search: q, ...rest } = filter;
  const sort = sortOf(filter) === 'updated' ? 'dated' : sortOf(filter);
  // In another order, the closest entries would not come first.
  const asked = { q, ...rest, sort, cursor, dated, partial: sort === 'relevance' };
  const query = Object.fromEntries(Object.entries(asked).filter(([, value]) => value));
  const params = { path: { registry }, query: { ...query, limit, dates: true, details: true } };
  for (let retry = 0; ; retry += 1) {
    try {
      return await unwrap(api.GET('/registry/{registry}/v0.1/x/search', { params, signal }));
    } catch (thrown) {
      if (failureFrom(thrown).code !== 'search_too_broad' || retry === RETRIES) throw thrown;
    }
    await new Promise((done) => setTimeout(done, RETRY_MS));
    signal.throwIfAborted();
  }
}

/**
 * Counts the installable servers and the others by searching for the installable ones, because the server does not
 * count them.
 */
export async function countInstallable(
  registry: string,
  filter: CatalogueFilter,
  { servers, how }: { readonly servers: number; readonly how: Partial<SearchResult['metadata']> },
  signal: AbortSignal,
): Promise<Counts> {
  const found = await readSearch(registry, { ...filter, installable: 'true' }, { limit: 1 }, signal);
  const isSameSearch = loosenessOf(found.metadata) === loosenessOf(how);
  const installable = isSameSearch ? (found.facets.type['server'] ?? 0) : 0;
  return { true: installable, false: servers - installable };
}
