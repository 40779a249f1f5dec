import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { api, type Failure, failureFrom, unwrap } from '../api/client.js';
import { needsIncludeDeleted, statusesOf } from '../api/entry-types.js';
import { type EntrySummary, summarizeDocument, summarizeServer } from './entry-summary.js';
import { type CatalogueFilter, matchesLocalFilter } from './filters.js';

export interface CatalogueListState {
  readonly items: readonly EntrySummary[];
  /** Entries read, including those that the local filter removed. */
  readonly scanned: number;
  readonly isLoading: boolean;
  /** The items belong to the previous filter, and the new items are still loading. */
  readonly isStale: boolean;
  readonly isComplete: boolean;
  /** Stopped by the user or after `MAX_PAGES_PER_RUN` pages; `resume` continues. */
  readonly isPaused: boolean;
  readonly failure: Failure | undefined;
  loadMore(): void;
  stop(): void;
  /** Continues after a pause or a failure. */
  resume(): void;
}

interface State {
  readonly key: string;
  readonly items: readonly EntrySummary[];
  readonly scanned: number;
  readonly next: string | undefined;
  readonly isComplete: boolean;
  readonly isPaused: boolean;
  readonly failure?: Failure | undefined;
}

/** Limits how far a local filter scans in one run: 20 000 entries. */
const MAX_PAGES_PER_RUN = 200;
/** Items per run, enough to fill a screen. */
const BATCH = 24;
/** Limits the items loaded to restore a scroll position. */
const MAX_RESTORED = 3_000;

/**
 * Reads a registry's entries page by page as the user scrolls.
 *
 * @param minItems number of items to load initially, to restore a scroll position.
 */
export function useCatalogueList(
  registry: string,
  filter: CatalogueFilter,
  minItems: number,
): CatalogueListState {
  const key = JSON.stringify([registry, filter]);
  const [state, setState] = useState<State>(() => empty(key));
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
      const count = Math.max(BATCH, restored.current);
      restored.current = 0;
      readUntil(count, from, { registry, filter, signal, show: setState })
        .catch((thrown: unknown) => {
          if (signal.aborted) return;
          const failure = failureFrom(thrown);
          setState((before) => ({ ...(before.key === from.key ? before : from), failure }));
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
    run(empty(key));
    return () => running.current?.abort();
  }, [key, run]);

  const loadMore = useCallback(() => {
    const now = latest.current;
    if (now.key === key && !running.current && !now.isComplete && !now.isPaused && !now.failure) run(now);
  }, [key, run]);
  const resume = useCallback(() => {
    const now = latest.current.key === key ? latest.current : empty(key);
    run({ ...now, isPaused: false, failure: undefined });
  }, [key, run]);
  const stop = useCallback(() => {
    running.current?.abort();
    running.current = null;
    setLoading(false);
    setState((now) => ({ ...now, isPaused: true }));
  }, []);
  const actions = { loadMore, stop, resume };
  if (state.key === key) return { ...state, ...actions, failure: state.failure, isLoading, isStale: false };
  // Keeps showing the previous items until the new ones arrive.
  return {
    ...empty(key),
    ...actions,
    items: state.items,
    failure: undefined,
    isLoading: true,
    isStale: true,
  };
}

interface ReadOptions {
  readonly registry: string;
  readonly filter: CatalogueFilter;
  readonly signal: AbortSignal;
  readonly show: (state: State) => void;
}

async function readUntil(
  count: number,
  from: State,
  { registry, filter, signal, show }: ReadOptions,
): Promise<void> {
  let now: State = { ...from, isPaused: false, failure: undefined };
  const isEnough = () => now.isComplete || now.items.length - from.items.length >= count;
  for (let pages = 0; pages < MAX_PAGES_PER_RUN && !isEnough(); pages += 1) {
    const page = await readPage(registry, filter, now.next, signal);
    if (signal.aborted) return;
    now = {
      ...now,
      items: [...now.items, ...page.items.filter((entry) => matchesLocalFilter(entry, filter))],
      scanned: now.scanned + page.items.length,
      next: page.next,
      isComplete: page.next === undefined,
    };
    show(now);
  }
  if (!isEnough()) show({ ...now, isPaused: true });
}

function empty(key: string): State {
  return { key, items: [], scanned: 0, next: undefined, isComplete: false, isPaused: false };
}

interface CataloguePage {
  readonly items: readonly EntrySummary[];
  readonly next: string | undefined;
}

const PER_PAGE = 100;

async function readPage(
  registry: string,
  { type, search, status }: CatalogueFilter,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<CataloguePage> {
  const path = { registry };
  const common = {
    limit: PER_PAGE,
    ...(search === '' ? {} : { search }),
    ...(cursor === undefined ? {} : { cursor }),
  };
  if (type === 'server') {
    const deleted = needsIncludeDeleted(type, status) ? { include_deleted: true } : {};
    const query = { ...common, version: 'latest', ...deleted };
    const { servers, metadata } = await unwrap(
      api.GET('/registry/{registry}/v0.1/servers', { params: { path, query }, signal }),
    );
    return { items: servers.map(summarizeServer), next: metadata.nextCursor };
  }
  const query = {
    ...common,
    ...(!statusesOf(type).some((known) => known === status) ? {} : { status: status as 'active' }),
  };
  switch (type) {
    case 'skill': {
      const { skills, metadata } = await unwrap(
        api.GET('/registry/{registry}/v0.1/x/dev.toolhive/skills', { params: { path, query }, signal }),
      );
      return { items: skills.map((skill) => summarizeDocument(type, skill)), next: metadata.nextCursor };
    }
    case 'plugin': {
      const { plugins, metadata } = await unwrap(
        api.GET('/registry/{registry}/v0.1/x/dev.toolhive/plugins', { params: { path, query }, signal }),
      );
      return { items: plugins.map((plugin) => summarizeDocument(type, plugin)), next: metadata.nextCursor };
    }
  }
}
