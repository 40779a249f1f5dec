import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type Failure, failureFrom } from '../api/client.js';
import type { FoundEntry, SearchResult } from '../api/types.js';
import { countsOf, type FilterCounts, totalOf } from './filter-counts.js';
import { type CatalogueFilter, countInstallable, readSearch } from './search.js';
import { useQuery } from '../ui/query.js';

export interface CatalogueListState {
  readonly items: readonly FoundEntry[];
  /** Number of entries in the whole result; undefined until the first page arrives. */
  readonly total: number | undefined;
  readonly counts: FilterCounts | undefined;
  /** How the result differs from the typed words. */
  readonly how: Partial<SearchResult['metadata']>;
  readonly isLoading: boolean;
  /** The items belong to the previous filter, and the new items are still loading. */
  readonly isStale: boolean;
  readonly failure: Failure | undefined;
  loadMore(): void;
  /** Continues after a failure. */
  resume(): void;
}

interface State {
  readonly key: string;
  readonly items: readonly FoundEntry[];
  readonly total?: number;
  readonly counts?: FilterCounts;
  readonly how?: SearchResult['metadata'];
  readonly next?: string | undefined;
  readonly failure?: Failure | undefined;
}

const PER_PAGE = 100;
/** Limits the items loaded to restore a scroll position. */
const MAX_RESTORED = 3_000;

/**
 * Reads the search results of a registry page by page as the user scrolls.
 *
 * @param minItems number of items to load initially, to restore a scroll position.
 */
export function useCatalogueList(
  registry: string,
  filter: CatalogueFilter,
  minItems: number,
): CatalogueListState {
  const key = JSON.stringify([registry, filter]);
  const [state, setState] = useState<State>({ key, items: [] });
  const [isLoading, setLoading] = useState(true);
  const latest = useRef(state);
  latest.current = state;
  const running = useRef<AbortController | null>(null);
  const restored = useRef(Math.min(minItems, MAX_RESTORED));

  const run = useCallback(
    (from: State) => {
      running.current?.abort();
      const controller = new AbortController();
      const { signal } = controller;
      running.current = controller;
      setLoading(true);
      const wanted = Math.max(from.items.length + 1, restored.current);
      restored.current = 0;
      const read = async () => {
        let now = from;
        do {
          const page = await readSearch(registry, filter, { limit: PER_PAGE, cursor: now.next }, signal);
          if (signal.aborted) return;
          const items = [...now.items, ...page.items];
          const total = totalOf(page);
          const { nextCursor: next } = page.metadata;
          now = { key, items, total, counts: countsOf([{ ...page, items }]), how: page.metadata, next };
          setState(now);
        } while (now.next !== undefined && now.items.length < wanted);
      };
      read()
        .catch((thrown: unknown) => {
          if (!signal.aborted) setState({ ...from, failure: failureFrom(thrown) });
        })
        .finally(() => {
          if (running.current !== controller) return;
          running.current = null;
          setLoading(false);
        });
    },
    // The key includes the registry and the filter.
    [key],
  );

  useEffect(() => {
    run({ key, items: [] });
    return () => running.current?.abort();
  }, [key, run]);

  const loadMore = useCallback(() => {
    const now = latest.current;
    if (now.key === key && !running.current && now.next !== undefined && !now.failure) run(now);
  }, [key, run]);
  const resume = useCallback(() => {
    const now = latest.current;
    run(now.key === key ? { ...now, failure: undefined } : { key, items: [] });
  }, [key, run]);
  const isStale = state.key !== key;
  const isPartial = !isStale && state.total !== undefined && state.total > PER_PAGE;
  const installable = useQuery(isPartial && filter.installable === '' ? key : null, (signal) =>
    countInstallable(
      registry,
      filter,
      { servers: state.counts?.type['server'] ?? 0, how: state.how ?? {} },
      signal,
    ),
  );
  return {
    items: state.items,
    // Keeps showing the previous items and counts until the new ones arrive.
    total: state.total,
    counts: state.counts && { ...state.counts, ...(installable.value && { installable: installable.value }) },
    how: (!isStale && state.how) || {},
    failure: isStale ? undefined : state.failure,
    isLoading: isStale || isLoading,
    isStale,
    loadMore,
    resume,
  };
}
