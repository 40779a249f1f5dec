import { createHash } from 'node:crypto';
import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { LRUCache } from 'lru-cache';
import { DataSource } from 'typeorm';
import { limitsConfig } from '../../config/slices.js';
import { type SearchContext, SearchTimeout } from '../../database/search-pool.js';
import { ApiError } from '../../http/errors.js';
import { TimeSlice } from '../../json/time-slice.js';
import { Semaphore } from '../../limits/semaphore.js';
import type { View } from '../../visibility/view-cache.js';
import type { EntrySearch } from '../entry-search.js';
import type { ViewSql } from '../view-sql.queries.js';
import { EntryIndex, type IndexView } from './entry-index.js';
import { type IndexResult, listIndex, type ListedNames, type ListPart, searchIndex } from './index-search.js';
import { isListable } from './list-match.js';
import { countSummaries, readIndexState, readSummaries, snapshotOf } from './search-index.queries.js';

/** Sources that no search needed for this long are removed. */
const UNUSED_MS = 10 * 60_000;
/** How long a registry that did not fit is not read again. */
const TOO_LARGE_MS = 10 * 60_000;
/** How long a registry that replaced others keeps its place: each load takes seconds. */
const MIN_STAY_MS = 30_000;
/** Assumed bytes per entry where the index has too few entries for an average. */
const TYPICAL_BYTES = 120;
const LEAST_FOR_AVERAGE = 1_000;
const NO_ROOM =
  'The search index has no room for another registry at the moment: try again in a minute, or ask the administrator to raise limits.searchIndexBytes';
/** Why a search ends early although its text is not to blame. */
export const BEING_PREPARED = 'The server is preparing this registry for searches: try again shortly';
const SWEEP_MS = 60_000;
const MAX_VIEWS_BYTES = 4 * 1_024 * 1_024;
const VIEW_OVERHEAD_BYTES = 500;
/** The snapshot of the index must not become older than the changes that are kept. */
const VIEW_MS = 60_000;
/** contract §3: a search waits up to two seconds. */
const WAIT_MS = 2_000;
/** Key of the semaphore for work that no caller waits for. */
const OWN = '';

/** An index with the snapshot whose changes it has. */
interface CurrentIndex {
  readonly epoch: string;
  snapshot: string;
  readonly entries: EntryIndex;
  /** When each source in the index was last searched, on the clock of `performance.now()`. */
  readonly sources: Map<number, number>;
  /** Views for which the index was up to date, by `View.tag`. */
  readonly current: LRUCache<string, IndexView>;
  /** The same views and earlier ones, by a digest of their ranks. */
  readonly views: LRUCache<string, IndexView>;
}

function newIndex(state: { readonly epoch: string; readonly snapshot: string }): CurrentIndex {
  const entries = new EntryIndex();
  const sizes = {
    maxSize: MAX_VIEWS_BYTES,
    sizeCalculation: ({ ranks }: IndexView) => ranks.byteLength + 4 * entries.elements + VIEW_OVERHEAD_BYTES,
  };
  return {
    ...state,
    entries,
    sources: new Map(),
    current: new LRUCache({ ...sizes, ttl: VIEW_MS }),
    views: new LRUCache(sizes),
  };
}

/** Returns the view with these partitions, with what was computed from it. */
function knownView(
  { entries, views }: CurrentIndex,
  partitions: Parameters<EntryIndex['viewOf']>[0],
): IndexView {
  const view = entries.viewOf(partitions);
  const key = createHash('sha256').update(view.ranks).digest('base64');
  const known = views.get(key);
  if (known) return known;
  views.set(key, view);
  return view;
}

/** Visible partitions whose summaries must be written before the search. */
export interface OutdatedPartitions {
  readonly outdated: readonly number[];
}

/**
 * Searches the summaries of a view in memory. The first search of a source reads its summaries; later ones read what
 * changed since, in the snapshot that also proves the view, so no answer is stale (decision 019).
 */
@Injectable()
export class SearchIndex implements OnApplicationShutdown {
  private readonly logger = new Logger('search');
  private current: CurrentIndex | undefined;
  /** Loads and compactions run one after the other, because both write to the columns. */
  private rewriting: Promise<unknown> = Promise.resolve();
  private isCompacting = false;
  /** When the registry that replaced others may be replaced, on the clock of `performance.now()`. */
  private staysUntil = -Infinity;
  /** Registries, as lists of sources, that did not fit. */
  private readonly tooLarge = new LRUCache<string, true>({ max: 1_000, ttl: TOO_LARGE_MS });
  /** Registries whose lists have recently started a load. */
  private readonly loadedLater = new LRUCache<string, true>({ max: 1_000, ttl: MIN_STAY_MS });
  /** Only one search at a time reads changes and applies them. */
  private readonly turns = new Semaphore(1, WAIT_MS);
  private readonly sweeping = setInterval(() => void this.sweep().catch(() => undefined), SWEEP_MS).unref();

  constructor(
    private readonly dataSource: DataSource,
    @Inject(limitsConfig.KEY) private readonly limits: ConfigType<typeof limitsConfig>,
  ) {}

  onApplicationShutdown(): void {
    clearInterval(this.sweeping);
  }

  /**
   * @param words of the query, in lower case.
   * @throws ApiError 503 `search_too_broad` if the registry is too large for the index or not read in time, or there is no room beside
   *   registries searched just now; SearchTimeout, or the reason of the context's signal; SemaphoreTimeout.
   */
  async search(
    sql: ViewSql,
    request: EntrySearch,
    words: readonly string[],
    context: SearchContext,
  ): Promise<IndexResult | OutdatedPartitions> {
    for (;;) {
      const index = await this.withSources(sourcesOf(sql.view), context);
      const found = await this.inTurn(sql, index, context, (view, goOn) =>
        searchIndex(index.entries, view, request, words, goOn),
      );
      if (found) return found;
    }
  }

  /**
   * Finds the names of a list with a search text.
   *
   * @returns undefined if the index can't serve the list: its search text is unsuitable, or summaries are missing or
   *   outdated. Missing sources are then loaded in the background.
   * @throws SearchTimeout, or the reason of the context's signal; SemaphoreTimeout.
   */
  async list(sql: ViewSql, part: ListPart, context: SearchContext): Promise<ListedNames | undefined> {
    if (!isListable(part.search)) return undefined;
    const sourceIds = sourcesOf(sql.view);
    const index = this.loaded(sourceIds);
    if (!index) {
      this.loadLater(sourceIds);
      return undefined;
    }
    const found = await this.inTurn(sql, index, context, (view, goOn) =>
      listIndex(index.entries, view, part, goOn),
    );
    return found && 'names' in found ? found : undefined;
  }

  /**
   * Brings an index up to date and searches it, while no other search changes it. Reads no changes if the index was up to
   * date for the same view: its tag has the revisions of its sources, and every answer proves that these are current.
   *
   * @param find receives the view, and `goOn`, which throws when the search must end.
   * @returns undefined if the index must be read again.
   */
  private inTurn<Found>(
    sql: ViewSql,
    index: CurrentIndex,
    { callerKey, signal, deadline }: SearchContext,
    find: (view: IndexView, goOn: () => void) => Promise<Found>,
  ): Promise<Found | OutdatedPartitions | undefined> {
    const goOn = () => {
      signal.throwIfAborted();
      if (performance.now() > deadline) throw new SearchTimeout();
    };
    return this.turns.run(callerKey, signal, async () => {
      goOn();
      if (this.current !== index) return undefined;
      const known = index.current.get(sql.view.tag);
      if (known) return find(known, goOn);
      const state = await readIndexState(sql, index.snapshot, [...index.sources.keys()]);
      if (state.changes === null || state.epoch !== index.epoch) {
        this.current = undefined;
        return undefined;
      }
      if (state.changes.length > 0) index.current.clear();
      await index.entries.apply(state.changes);
      index.snapshot = state.snapshot;
      if (index.entries.byteLength > this.limits.searchIndexBytes) {
        this.current = undefined;
        return undefined;
      }
      if (index.entries.isSparse) this.compactLater(index);
      const { outdated } = state;
      if (outdated) return { outdated };
      const view = knownView(index, state.partitions);
      if (sql.isCurrent) index.current.set(sql.view.tag, view);
      return find(view, goOn);
    });
  }

  /** Returns the index if it has these sources. */
  private loaded(sourceIds: readonly number[]): CurrentIndex | undefined {
    const { current } = this;
    if (!current || sourceIds.some((id) => !current.sources.has(id))) return undefined;
    for (const id of sourceIds) current.sources.set(id, performance.now());
    return current;
  }

  // Lists can search in PostgreSQL, so they do not evict what ranked searches need.
  private loadLater(sourceIds: readonly number[]): void {
    const key = sourceIds.join();
    if (this.loadedLater.has(key) || this.tooLarge.has(key)) return;
    this.loadedLater.set(key, true);
    this.afterRewriting(() => this.load(sourceIds, key, false)).catch((error: unknown) => {
      if (!(error instanceof ApiError)) this.logger.warn({ err: error }, 'Reading the search index failed');
    });
  }

  /** Returns an index with these sources. */
  private async withSources(sourceIds: readonly number[], context: SearchContext): Promise<CurrentIndex> {
    for (;;) {
      const loaded = this.loaded(sourceIds);
      if (loaded) return loaded;
      const key = sourceIds.join();
      if (this.tooLarge.has(key)) throw new ApiError('search_too_broad');
      await beforeEnd(
        context,
        this.afterRewriting(() => this.load(sourceIds, key)),
      );
    }
  }

  private afterRewriting(rewrite: () => Promise<void>): Promise<void> {
    const rewriting = this.rewriting.then(rewrite);
    this.rewriting = rewriting.catch(() => undefined);
    return rewriting;
  }

  /** @throws ApiError 503 `search_too_broad` if there is no room beside a registry that has just been loaded. */
  private async load(sourceIds: readonly number[], key: string, mayReplace = true): Promise<void> {
    for (;;) {
      const { current } = this;
      const missing = sourceIds.filter((id) => !current?.sources.has(id));
      if (missing.length === 0 || this.tooLarge.has(key)) return;
      try {
        if (await this.loadMissing(missing, current, mayReplace)) return;
        this.current = undefined;
        if (current) this.staysUntil = performance.now() + MIN_STAY_MS;
        else this.tooLarge.set(key, true);
      } catch (error) {
        // The index may have entries that would never be placed.
        if (!(error instanceof ApiError)) this.current = undefined;
        throw error;
      }
    }
  }

  /**
   * Returns false if the sources do not fit into the index.
   *
   * @throws ApiError see `load`
   */
  private loadMissing(
    missing: readonly number[],
    current: CurrentIndex | undefined,
    mayReplace: boolean,
  ): Promise<boolean> {
    return this.dataSource.transaction('REPEATABLE READ', async (manager) => {
      const state = await snapshotOf(manager);
      const reused = current?.epoch === state.epoch ? current : undefined;
      if (reused && !this.hasRoom(reused.entries, await countSummaries(manager, missing))) {
        if (!mayReplace || performance.now() < this.staysUntil)
          throw new ApiError('search_too_broad', NO_ROOM);
        return false;
      }
      const index = reused ?? newIndex(state);
      // Older than what is about to be read, so changes since are read again, which does no harm.
      const { snapshot } = index;
      const numbers: number[] = [];
      const slice = new TimeSlice();
      const fits = await readSummaries(manager, missing, async (summaries) => {
        for (const summary of summaries) {
          numbers.push(index.entries.append(summary));
          await slice.pause();
        }
        return index.entries.byteLength <= this.limits.searchIndexBytes;
      });
      if (fits)
        await this.turns.run(OWN, undefined, async () => {
          if (this.current !== current) return;
          index.current.clear();
          index.views.clear();
          await index.entries.place(numbers);
          await index.entries.compact();
          index.snapshot = snapshot;
          for (const id of missing) index.sources.set(id, performance.now());
          this.current = index;
        });
      return fits;
    });
  }

  /** Whether more entries of the average size probably fit. */
  private hasRoom({ byteLength, size }: EntryIndex, more: number): boolean {
    const bytesEach = size < LEAST_FOR_AVERAGE ? TYPICAL_BYTES : byteLength / size;
    return byteLength + bytesEach * more <= this.limits.searchIndexBytes;
  }

  private compactLater(index: CurrentIndex): void {
    if (this.isCompacting) return;
    this.isCompacting = true;
    this.afterRewriting(() => this.inOwnTurn(index, () => index.entries.compact()))
      .catch(() => undefined)
      .finally(() => {
        this.isCompacting = false;
      });
  }

  /** Runs work in its own turn, unless the index has been replaced. */
  private async inOwnTurn(index: CurrentIndex, work: () => Promise<void>): Promise<void> {
    await this.turns.run(OWN, undefined, async () => {
      if (this.current === index) await work();
    });
  }

  private async sweep(): Promise<void> {
    const { current } = this;
    if (!current) return;
    await this.afterRewriting(() =>
      this.inOwnTurn(current, async () => {
        const now = performance.now();
        const used = new Set([...current.sources].flatMap(([id, at]) => (now - at < UNUSED_MS ? [id] : [])));
        if (used.size === 0) this.current = undefined;
        if (used.size === 0 || used.size === current.sources.size) return;
        await current.entries.retain(used);
        for (const id of current.sources.keys()) if (!used.has(id)) current.sources.delete(id);
      }),
    );
  }
}

/**
 * Waits for the index until a search must end at most; the work goes on.
 *
 * @throws ApiError 503 `search_too_broad` at the deadline, or the reason of the context's signal.
 */
async function beforeEnd({ deadline, signal }: SearchContext, work: Promise<unknown>): Promise<void> {
  const end = new AbortController();
  const timeout = setTimeout(
    () => end.abort(new ApiError('search_too_broad', BEING_PREPARED)),
    deadline - performance.now(),
  );
  const abort = () => end.abort(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  const ended = new Promise<never>((_, reject) => {
    end.signal.addEventListener('abort', () => reject(end.signal.reason as Error), { once: true });
  });
  try {
    signal.throwIfAborted();
    await Promise.race([work, ended]);
  } finally {
    clearTimeout(timeout);
    signal.removeEventListener('abort', abort);
  }
}

function sourcesOf({ seesAll, sourceIds, visible }: View): readonly number[] {
  return seesAll ? sourceIds : visible.map(({ sourceId }) => sourceId);
}
