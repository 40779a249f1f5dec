import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
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
import { EntryIndex } from './entry-index.js';
import { type IndexResult, searchIndex } from './index-search.js';
import { readIndexState, readSummaries, snapshotOf } from './search-index.queries.js';

/** Sources that no search needed for this long are removed. */
const UNUSED_MS = 10 * 60_000;
/** How long a registry that did not fit is not read again. */
const TOO_LARGE_MS = 10 * 60_000;
const SWEEP_MS = 60_000;
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
  private current: CurrentIndex | undefined;
  /** The current and later loads, one after the other. */
  private loading: Promise<unknown> = Promise.resolve();
  private isLoading = false;
  /** Registries, as lists of sources, that did not fit. */
  private readonly tooLarge = new LRUCache<string, true>({ max: 1_000, ttl: TOO_LARGE_MS });
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
   * @throws ApiError 503 `search_too_broad` if the registry is too large for the index; SearchTimeout, or the reason of
   *   the context's signal; SemaphoreTimeout.
   */
  async search(
    sql: ViewSql,
    request: EntrySearch,
    words: readonly string[],
    context: SearchContext,
  ): Promise<IndexResult | OutdatedPartitions> {
    const goOn = () => {
      context.signal.throwIfAborted();
      if (performance.now() > context.deadline) throw new SearchTimeout();
    };
    for (;;) {
      const index = await this.withSources(sourcesOf(sql.view), context);
      const found = await this.turns.run(context.callerKey, context.signal, async () => {
        goOn();
        if (this.current !== index) return undefined;
        const state = await readIndexState(sql, index.snapshot, [...index.sources.keys()]);
        if (state.changes === null || state.epoch !== index.epoch) {
          this.current = undefined;
          return undefined;
        }
        await index.entries.apply(state.changes);
        index.snapshot = state.snapshot;
        if (index.entries.byteLength > this.limits.searchIndexBytes) {
          this.current = undefined;
          return undefined;
        }
        if (index.entries.isSparse && !this.isLoading) index.entries.compact();
        if (state.outdated) return { outdated: state.outdated };
        return searchIndex(index.entries, state.partitions, request, words, goOn);
      });
      if (found) return found;
    }
  }

  /** Returns an index with these sources. */
  private async withSources(sourceIds: readonly number[], context: SearchContext): Promise<CurrentIndex> {
    for (;;) {
      const { current } = this;
      const missing = sourceIds.filter((id) => !current?.sources.has(id));
      if (current && missing.length === 0) {
        for (const id of sourceIds) current.sources.set(id, performance.now());
        return current;
      }
      const key = sourceIds.join();
      if (this.tooLarge.has(key)) throw new ApiError('search_too_broad');
      const loading = this.loading.then(() => this.load(sourceIds, key));
      this.loading = loading.catch(() => undefined);
      await beforeEnd(context, loading);
    }
  }

  private async load(sourceIds: readonly number[], key: string): Promise<void> {
    for (;;) {
      const { current } = this;
      const missing = sourceIds.filter((id) => !current?.sources.has(id));
      if (missing.length === 0 || this.tooLarge.has(key)) return;
      this.isLoading = true;
      try {
        if (await this.loadMissing(missing, current)) return;
        this.current = undefined;
        if (missing.length === sourceIds.length && !current) this.tooLarge.set(key, true);
      } catch (error) {
        // The index may have entries that would never be placed.
        this.current = undefined;
        throw error;
      } finally {
        this.isLoading = false;
      }
    }
  }

  /** Returns false if the index became too large. */
  private loadMissing(missing: readonly number[], current: CurrentIndex | undefined): Promise<boolean> {
    return this.dataSource.transaction('REPEATABLE READ', async (manager) => {
      const state = await snapshotOf(manager);
      const index =
        current?.epoch === state.epoch
          ? current
          : { ...state, entries: new EntryIndex(), sources: new Map<number, number>() };
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
          index.entries.place(numbers);
          index.entries.compact();
          index.snapshot = snapshot;
          for (const id of missing) index.sources.set(id, performance.now());
          this.current = index;
        });
      return fits;
    });
  }

  private async sweep(): Promise<void> {
    const { current } = this;
    const now = performance.now();
    const used = new Set(
      [...(current?.sources ?? [])].flatMap(([id, at]) => (now - at < UNUSED_MS ? [id] : [])),
    );
    if (!current || used.size === current.sources.size) return;
    if (used.size === 0) {
      this.current = undefined;
      return;
    }
    await this.turns.run(OWN, undefined, async () => {
      if (this.isLoading || this.current !== current) return;
      current.entries.retain(used);
      for (const id of current.sources.keys()) if (!used.has(id)) current.sources.delete(id);
    });
  }
}

/** Waits until a search must end at most; the work goes on. */
async function beforeEnd({ deadline, signal }: SearchContext, work: Promise<unknown>): Promise<void> {
  const end = new AbortController();
  const timeout = setTimeout(() => end.abort(new SearchTimeout()), deadline - performance.now());
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
