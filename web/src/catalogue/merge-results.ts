import type { FoundEntry, SearchResult } from '../api/types.js';
import type { Sort } from './search.js';

/** An entry found in one or more registries. */
export interface MergedEntry {
  readonly entry: FoundEntry;
  /** The registries that show it; the entry page opens in the first. */
  readonly registries: readonly string[];
}

/**
 * Returns the date of an entry that its document or publication states; the search's own date may be that of a sync.
 */
export function dateOf({ statedAt, publishedAt }: FoundEntry): string | undefined {
  return statedAt ?? publishedAt;
}

type Results = readonly { readonly registry: string; readonly result: Pick<SearchResult, 'items'> }[];

/** Merges the results of several registries into one list, in the server's order (reference/search). */
export function mergeResults(results: Results, sort: Sort): readonly MergedEntry[] {
  const merged = new Map<string, { entry: FoundEntry; registries: string[] }>();
  for (const { registry, result } of results)
    for (const entry of result.items) {
      const key = JSON.stringify([entry.type, entry.name]);
      const known = merged.get(key);
      if (known) known.registries.push(registry);
      else merged.set(key, { entry, registries: [registry] });
    }
  // The sort is stable: the order of the registries and of each result decides otherwise.
  return [...merged.values()].sort(({ entry: one }, { entry: other }) => {
    if (sort === 'name') return one.name < other.name ? -1 : 1;
    if (sort === 'relevance') return (one.relevance ?? 0) - (other.relevance ?? 0);
    const [date, otherDate] = [dateOf(one) ?? '', dateOf(other) ?? ''];
    return date === otherDate ? 0 : date > otherDate ? -1 : 1;
  });
}

/** Whether an entry is listed after others because nobody can or should install it. */
export function isQuiet({ type, status, clients = [] }: FoundEntry): boolean {
  return status !== 'active' || (type === 'server' && clients.length === 0);
}

const NEW_SHOWN = 6;

/** Returns the entries to show as new: installable ones, newest first by a stated date. */
export function newest(results: Results): readonly MergedEntry[] {
  return mergeResults(results, 'updated')
    .filter(({ entry }) => dateOf(entry) !== undefined && !isQuiet(entry))
    .slice(0, NEW_SHOWN);
}
