import type { EntryType } from '../api/types.js';
import { NO_FILTER, readSearch } from '../catalogue/search.js';
import { useQuery } from '../ui/query.js';
import { publishedFacts } from './published-facts.js';
import type { Version } from './read-versions.js';

/** The dates of an entry's versions that the publisher or an upstream registry stated. */
export interface KnownDates {
  of(version: Version): { readonly at: string; readonly event: 'updated' | 'published' } | undefined;
}

/**
 * Returns the known dates. A version's own `publishedAt` may be the time of its first sync; the ranked search tells
 * whether it is. Undefined until that search responds, or if it fails.
 */
export function useKnownDates(
  registry: string,
  type: EntryType,
  name: string,
  versions: readonly Version[],
): KnownDates | undefined {
  const latest = versions.find(({ isLatest }) => isLatest);
  const { value: items } = useQuery(JSON.stringify([registry, type, name, latest?.version]), (signal) =>
    // An entry whose whole name matches comes first.
    readSearch(registry, { ...NO_FILTER, search: name, type, sort: 'relevance' }, { limit: 1 }, signal).then(
      (found) => found.items,
    ),
  );
  if (!items) return undefined;
  const published = items.find((item) => item.name === name)?.publishedAt;
  return {
    of: ({ document, publishedAt, isLatest }) => {
      const stated = publishedFacts(document).updatedAt;
      if (stated !== undefined) return { at: stated, event: 'updated' };
      if (published === undefined) return undefined;
      const at = isLatest ? published : publishedAt;
      return at === undefined ? undefined : { at, event: 'published' };
    },
  };
}
