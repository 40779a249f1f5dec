import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { LRUCache } from 'lru-cache';
import { DataSource } from 'typeorm';
import { limitsConfig, searchConfig } from '../../config/slices.js';
import { type SearchContext, SearchTimeout } from '../../database/search-pool.js';
import { ApiError } from '../../http/errors.js';
import { Semaphore, unlessAborted } from '../../limits/semaphore.js';
import { isPauseDue, pauseIfDue } from '../../limits/time-slice.js';
import { sourcesOf, type View } from '../../visibility/view.js';
import type { EntrySearch } from '../entry-search.js';
import {
  countWhile,
  type ListedNames,
  type ListPart,
  scanEntries,
  scanNames,
  type ScanResult,
  Sight,
} from './entry-scan.js';
import { compareEntries, type EntryKey, type IndexedEntry, indexedEntry, KindPool } from './indexed-entry.js';
import {
  addSummaries,
  type IndexedRevision,
  readChanged,
  readEpoch,
  type ReadRevision,
  readRevisions,
} from './search-index.queries.js';
import { searchWords, type SearchWords, type Synonyms, synonymsOf } from './search-words.js';

/** Sources not searched for this long are dropped. */
const UNUSED_MS = 10 * 60_000;
/** A source searched more recently is not dropped to make room, because loading it takes seconds. */
const MIN_STAY_MS = 30_000;
const SWEEP_MS = 60_000;
/** reference/search: a search waits up to two seconds. */
const WAIT_MS = 2_000;
/** Key of the semaphore for work that no caller waits for. */
const OWN = '';
const NO_ROOM =
  'The search index has no room for this registry at the moment: try again in a minute, or ask the administrator to raise limits.searchIndexBytes';
const BEING_PREPARED = 'The server is preparing this registry for searches: try again shortly';

interface IndexedSource extends IndexedRevision {
  bytes: number;
  /** Time on the `performance.now()` clock. */
  usedAt: number;
}

/** The current state of an entry, or the key of a removed one. */
type Change = IndexedEntry | EntryKey;

interface Changes {
  /** Whether every entry could be read; if not, they must be read again. */
  readonly isComplete: boolean;
  readonly states: readonly ReadRevision[];
  /** The changes in the order of the index. */
  readonly changes: readonly Change[];
}

/**
 * Searches entries in memory. The first search of a source reads its entries; later ones read only what has changed
 * since, by the source's revision. The statement that reads the page then proves that these revisions are current, so
 * no answer is stale (decision 019).
 */
@Injectable()
export class SearchIndex implements OnApplicationShutdown {
  private readonly logger = new Logger('search');
  private readonly synonyms: Synonyms;
  private readonly freeSynonyms: Synonyms;
  private epoch = '';
  /** The entries of all sources in memory, ordered by name, type and source. */
  private entries: readonly IndexedEntry[] = [];
  private sources = new Map<number, IndexedSource>();
  private readonly kinds = new KindPool();
  /** Only one search at a time scans or changes the index. */
  private readonly turns = new Semaphore(1, WAIT_MS);
  /**
   * The last task that reads or removes sources. Tasks run one after another, so that each read continues from the
   * state of the index.
   */
  private reading: Promise<unknown> = Promise.resolve();
  /** Registries that did not fit, as lists of source ids. */
  private readonly tooLarge = new LRUCache<string, true>({ max: 1_000, ttl: MIN_STAY_MS });
  private readonly sweeping = setInterval(
    () => void this.afterReading(() => this.dropUnused(UNUSED_MS)).catch(() => undefined),
    SWEEP_MS,
  ).unref();

  constructor(
    private readonly dataSource: DataSource,
    @Inject(limitsConfig.KEY) private readonly limits: ConfigType<typeof limitsConfig>,
    @Inject(searchConfig.KEY) search: ConfigType<typeof searchConfig>,
  ) {
    this.synonyms = synonymsOf(search.synonyms);
    this.freeSynonyms = synonymsOf(search.synonyms, true);
  }

  onApplicationShutdown(): void {
    clearInterval(this.sweeping);
  }

  /**
   * @returns undefined if the view is not current because the database has another epoch.
   * @throws ApiError 503 `search_too_broad` if the registry does not fit or is not read in time; SearchTimeout, or the
   *   reason of the context's signal; SemaphoreTimeout.
   */
  search(view: View, request: EntrySearch, context: SearchContext): Promise<ScanResult | undefined> {
    const words = this.wordsOf(request.filter);
    return this.scan(view, context, (sight, goOn) => scanEntries(this.entries, sight, request, words, goOn));
  }

  wordsOf({ q = '', partial }: EntrySearch['filter']): SearchWords {
    return searchWords(q, partial ? this.freeSynonyms : this.synonyms, partial === true);
  }

  /**
   * Finds the names of a list with a search text.
   *
   * @returns undefined in the same case as `search`, or if the sources are not in memory: in that case they are read in
   *   the background if there is room.
   * @throws see `search`
   */
  async list(view: View, part: ListPart, context: SearchContext): Promise<ListedNames | undefined> {
    if (sourcesOf(view).every((id) => this.sources.has(id)))
      return this.scan(view, context, (sight, goOn) => scanNames(this.entries, sight, part, goOn));
    this.update(view).catch((error: unknown) => {
      if (!(error instanceof ApiError)) this.logger.warn({ err: error }, 'Reading the search index failed');
    });
    return undefined;
  }

  /** Scans the sources of a view at the view's revisions or later. The caller must prove that the view is current. */
  private async scan<Result>(
    view: View,
    context: SearchContext,
    find: (sight: Sight, goOn: () => void) => Promise<Result>,
  ): Promise<Result | undefined> {
    const { callerKey, signal, deadline } = context;
    const goOn = () => {
      signal.throwIfAborted();
      if (performance.now() > deadline) throw new SearchTimeout();
    };
    for (;;) {
      if (this.outdated(view).length > 0 && !(await beforeEnd(context, this.update(view)))) return undefined;
      const found = await this.turns.run(callerKey, signal, async () => {
        goOn();
        if (this.outdated(view).length > 0) return undefined;
        for (const id of sourcesOf(view)) this.use(id);
        return { result: await find(new Sight(view), goOn) };
      });
      if (found) return found.result;
    }
  }

  /** Returns the sources for which the index is older than the view. */
  private outdated(view: View): number[] {
    const { epoch, revisions } = revisionsOf(view);
    const needed = sourcesOf(view);
    if (epoch !== this.epoch) return [...needed];
    return needed.filter((id) => (this.sources.get(id)?.revision ?? -1) < (revisions.get(id) ?? 0));
  }

  private use(id: number): void {
    const source = this.sources.get(id);
    if (source) source.usedAt = performance.now();
  }

  /**
   * @returns false if the database has another epoch than the view.
   * @throws ApiError 503 `search_too_broad`
   */
  private update(view: View): Promise<boolean> {
    return this.afterReading(() => this.read(view));
  }

  private afterReading<Result>(work: () => Promise<Result>): Promise<Result> {
    const working = this.reading.then(work);
    this.reading = working.catch(() => undefined);
    return working;
  }

  private async read(view: View): Promise<boolean> {
    const key = sourcesOf(view).join();
    if (this.tooLarge.has(key)) throw new ApiError('search_too_broad', NO_ROOM);
    const { epoch } = revisionsOf(view);
    if (epoch !== this.epoch) {
      if ((await readEpoch(this.dataSource.manager)) !== epoch) return false;
      await this.change([...this.sources.keys()], []);
      this.epoch = epoch;
    }
    const outdated = this.outdated(view);
    if (outdated.length === 0) return true;
    for (const id of sourcesOf(view)) this.use(id);
    try {
      const read = await this.readChanges(outdated);
      if (!read) return false;
      const { states, changes, isComplete } = read;
      if (!isComplete) return true;
      const continued = new Set(states.filter((state) => state.isContinued).map(({ id }) => id));
      await this.change(
        outdated.filter((id) => !continued.has(id)),
        changes,
        states,
      );
      // A deleted source has no entries at any revision.
      for (const id of outdated)
        if (!this.sources.has(id))
          this.sources.set(id, { id, revision: Infinity, readAt: 'epoch', bytes: 0, usedAt: 0 });
      return true;
    } catch (error) {
      if (error instanceof ApiError) this.tooLarge.set(key, true);
      throw error;
    }
  }

  /** Returns undefined if the database has another epoch than the index. */
  private async readChanges(ids: readonly number[]): Promise<Changes | undefined> {
    const indexed = ids.map((id) => this.sources.get(id) ?? { id, revision: -1, readAt: 'epoch' });
    let without: string[] = [];
    const found = await this.dataSource.transaction('REPEATABLE READ', async (manager) => {
      if ((await readEpoch(manager)) !== this.epoch) return undefined;
      const states = await readRevisions(manager, indexed);
      const continued = new Set(states.flatMap(({ id, isContinued }) => (isContinued ? [id] : [])));
      const since = indexed.map((each) => (continued.has(each.id) ? each : { ...each, revision: -1 }));
      const changes: Change[] = [];
      let bytes = 0;
      without = await readChanged(manager, since, async (rows) => {
        for (const row of rows) {
          await pauseIfDue();
          const change: Change = 'summary' in row ? indexedEntry(row, this.kinds) : row;
          changes.push(change);
          if (isEntry(change)) bytes += change.bytes;
        }
        await this.makeRoom(bytes, new Set(ids));
      });
      return { states, changes };
    });
    await addSummaries(this.dataSource, without);
    return found && { ...found, isComplete: without.length === 0 };
  }

  /** @throws ApiError 503 `search_too_broad` if there is no room even after dropping the sources that no search used recently. */
  private async makeRoom(bytes: number, beingRead: ReadonlySet<number>): Promise<void> {
    const isFull = () =>
      bytes + [...this.sources.values()].reduce((sum, source) => sum + source.bytes, 0) >
      this.limits.searchIndexBytes;
    if (isFull()) await this.dropUnused(MIN_STAY_MS, beingRead);
    if (isFull()) throw new ApiError('search_too_broad', NO_ROOM);
  }

  private async dropUnused(forMs: number, beingRead: ReadonlySet<number> = new Set()): Promise<void> {
    const before = performance.now() - forMs;
    const unused = [...this.sources.values()].filter(
      ({ id, usedAt }) => usedAt < before && !beingRead.has(id),
    );
    if (unused.length > 0)
      await this.change(
        unused.map(({ id }) => id),
        [],
      );
  }

  /** Drops sources and applies changes, which must be in index order. */
  private async change(
    dropped: readonly number[],
    changes: readonly Change[],
    states: readonly ReadRevision[] = [],
  ): Promise<void> {
    await this.turns.run(OWN, undefined, async () => {
      const isDropped = new Set(dropped);
      for (const id of dropped) this.sources.delete(id);
      for (const { id, revision, readAt } of states) {
        const { bytes = 0 } = this.sources.get(id) ?? {};
        this.sources.set(id, { id, revision, readAt, bytes, usedAt: performance.now() });
      }
      const entries: IndexedEntry[] = [];
      const resize = (sourceId: number, bytes: number) => {
        const source = this.sources.get(sourceId);
        if (source) source.bytes += bytes;
      };
      const kept = await entriesWithout(this.entries, isDropped);
      let at = 0;
      const keepUntil = async (end: number) => {
        for (; at < end; at += 1) {
          if (isPauseDue(at)) await pauseIfDue();
          entries.push(kept[at] as IndexedEntry);
        }
      };
      for (const [step, change] of changes.entries()) {
        if (isPauseDue(step)) await pauseIfDue();
        await keepUntil(countWhile(kept, (entry) => compareEntries(entry, change) < 0, at));
        const replaced = kept[at];
        if (replaced && compareEntries(replaced, change) === 0) {
          at += 1;
          resize(replaced.sourceId, -replaced.bytes);
        }
        if (!isEntry(change)) continue;
        entries.push(change);
        resize(change.sourceId, change.bytes);
      }
      await keepUntil(kept.length);
      this.entries = entries;
    });
  }
}

function isEntry(change: Change): change is IndexedEntry {
  return 'text' in change;
}

async function entriesWithout(
  entries: readonly IndexedEntry[],
  dropped: ReadonlySet<number>,
): Promise<readonly IndexedEntry[]> {
  if (dropped.size === 0) return entries;
  const kept: IndexedEntry[] = [];
  for (const [step, entry] of entries.entries()) {
    if (isPauseDue(step)) await pauseIfDue();
    if (!dropped.has(entry.sourceId)) kept.push(entry);
  }
  return kept;
}

/** Parses `RegistryState.revisions` into the epoch and the revision of each source. */
function revisionsOf({ revisions, sourceIds }: View): { epoch: string; revisions: Map<number, number> } {
  const [epoch = '', , list = ''] = revisions.split('|');
  const values = list.slice(1, -1).split(',').map(Number);
  const ids = [...sourceIds].sort((one, other) => one - other);
  return { epoch, revisions: new Map(ids.map((id, at) => [id, values[at] ?? 0])) };
}

/**
 * Waits for the index, but no longer than the search may take; the work continues in the background.
 *
 * @throws ApiError 503 `search_too_broad` at the deadline, or the reason of the context's signal.
 */
async function beforeEnd<Result>(
  { deadline, signal }: SearchContext,
  work: Promise<Result>,
): Promise<Result> {
  const timeout = AbortSignal.timeout(Math.max(0, Math.ceil(deadline - performance.now())));
  try {
    return await unlessAborted(work, AbortSignal.any([signal, timeout]));
  } catch (error) {
    throw error === timeout.reason ? new ApiError('search_too_broad', BEING_PREPARED) : error;
  }
}
