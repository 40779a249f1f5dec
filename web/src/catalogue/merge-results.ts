import type { FoundEntry, SearchResult } from '../api/types.js';
import type { Sort } from './search.js';

/** An entry found in one or more registries. */
export interface MergedEntry {
  readonly entry: FoundEntry;
  /** The registries that show it; the first is where its page opens. */
  readonly registries: readonly string[];
}

/** Merges the results of several registries into one list, in the server's order (reference/search). */
export function mergeResults(
  results: readonly { readonly registry: string; readonly result: Pick<SearchResult, 'items'> }[],
  search: string,
  sort: Sort,
): readonly MergedEntry[] {
  const merged = new Map<string, { entry: FoundEntry; registries: string[] }>();
  for (const { registry, result } of results)
    for (const entry of result.items) {
      const key = JSON.stringify([entry.type, entry.name]);
      const known = merged.get(key);
      if (known) known.registries.push(registry);
      else merged.set(key, { entry, registries: [registry] });
    }
  const placed = [...merged.values()].map((each) => ({ ...each, rank: rankOf(each.entry, search) }));
  return placed.sort(({ entry: one, rank }, { entry: other, rank: otherRank }) => {
    if (sort === 'updated' && one.updatedAt !== other.updatedAt)
      return one.updatedAt > other.updatedAt ? -1 : 1;
    if (sort === 'relevance' && rank !== otherRank) return rank - otherRank;
    return one.name < other.name ? -1 : 1;
  });
}

/** The whole name, its last segment, every word at the beginning of a word, the rest. */
function rankOf({ name, title = '' }: FoundEntry, search: string): number {
  const words = search.toLowerCase().split(/\s+/u).filter(Boolean);
  const whole = words.join(' ');
  const lower = name.toLowerCase();
  if (lower === whole) return 0;
  if (lower.split('/').at(-1) === whole) return 1;
  const starts = `${lower} ${title.toLowerCase()}`.split(/[^\p{L}\p{N}]+/u);
  return words.every((word) => starts.some((start) => start.startsWith(word))) ? 2 : 3;
}
