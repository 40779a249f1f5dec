import { setImmediate } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { ClientName, ConfigForm } from '../client-config/client-config.js';
import type { SearchContext } from '../database/search-pool.js';
import { SharedReads } from '../database/shared-reads.js';
import type { EntryType } from '../documents/entry-types.js';
import { ApiError } from '../http/errors.js';
import { CachedJson } from '../http/json-answers.js';
import { PoolSemaphores } from '../database/pool-semaphores.js';
import {
  type RegistryAccess,
  RegistryViews,
  type RememberedAccess,
  type VerifiedAccess,
} from '../visibility/registry-views.js';
import { showsTheSame, type View } from '../visibility/view.js';
import type { ListRequest, VersionsRequest } from './list-request.js';
import { PageCache } from './page-cache.js';
import { PageReader, type PageRequest } from './page-reader.js';
import { isSearch, SearchLimit, searchTimeMs } from './search-limits.js';
import { CHANGES_TOO_FAST, MAX_READS, SnapshotCheck } from './view-sql.queries.js';

/**
 * Turns of the event loop before the next page of those that wait, one for so many bytes of this one. libuv accepts one connection a
 * turn: with a large page in each of them, a few hundred connections would keep all that come later waiting for seconds.
 */
const BYTES_A_TURN = 64 * 1_024;
export const MAX_TURNS = 8;
/** How fast one caller is read pages of at least BYTES_A_TURN while others ask too: they take the time of everybody. */
const SHARED_BYTES_PER_MS = 4 * 1_024;

/** How many turns of the event loop come after a page of so many bytes. */
export function turnsAfter(bytes: number): number {
  return Math.min(MAX_TURNS, Math.floor(bytes / BYTES_A_TURN));
}

/** How long the caller of such a page waits for their next one while others ask too. */
export function pauseMsAfter(bytes: number): number {
  return bytes / SHARED_BYTES_PER_MS;
}

export async function loopTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await setImmediate();
}

/** How long somebody counts as asking after their last request. */
const RECENT_MS = 1_000;

/** Whether one caller alone has asked lately, or several. */
export class RecentCallers {
  private latest: string | undefined;
  private changedAt = -Infinity;

  /** @param callerKey see `Client.callerKey`. */
  add(callerKey: string): void {
    if (callerKey === this.latest) return;
    if (this.latest !== undefined) this.changedAt = performance.now();
    this.latest = callerKey;
  }

  areSeveral(): boolean {
    return performance.now() - this.changedAt < RECENT_MS;
  }
}

const TOO_MANY = 'too_many_servers';
/** Configurations of which that is remembered. */
const MAX_TOO_MANY = 1_000;

/** What reading has led to: a page, or an error such as that there is no such entry. */
interface ReadResult {
  readonly page?: CachedJson;
  readonly error?: unknown;
  /** Whether it is of the state of its view. */
  readonly isCurrent: boolean;
}

/** What the consumer API shows to a caller who has entered a registry. */
@Injectable()
export class CatalogService {
  private readonly pending = new SharedReads<string, ReadResult>();
  /** Keys of configurations that would hold more servers than they may. */
  private readonly tooMany = new LRUCache<string, true>({ max: MAX_TOO_MANY });
  /** Whoever asks alone is read pages as fast as can be. */
  private readonly recent = new RecentCallers();

  constructor(
    private readonly cache: PageCache,
    private readonly reader: PageReader,
    private readonly views: RegistryViews,
    private readonly searches: SearchLimit,
    private readonly semaphores: PoolSemaphores,
  ) {}

  /** @throws ApiError 429 while as many searches of the caller as may be are under way; 503 for one that takes too long. */
  list(access: RegistryAccess, type: EntryType, list: ListRequest): Promise<CachedJson> {
    const request = { page: 'list', type, list } as const;
    return isSearch(list.filter) ? this.search(access, request) : this.page(access, request);
  }

  versions(
    access: RegistryAccess,
    type: EntryType,
    name: string,
    versions: VersionsRequest,
  ): Promise<CachedJson> {
    return this.page(access, { page: 'versions', type, name, versions });
  }

  version(
    access: RegistryAccess,
    type: EntryType,
    name: string,
    version: string,
    includeDeleted: boolean,
  ): Promise<CachedJson> {
    return this.page(access, { page: 'version', type, name, version, includeDeleted });
  }

  /**
   * The configuration of a client, or its allow-list, of all that the caller sees (contract §6.3).
   *
   * @throws ApiError 400 for more servers than a file may hold.
   */
  async clientConfig(access: VerifiedAccess, client: ClientName, form: ConfigForm): Promise<CachedJson> {
    const request: PageRequest = { page: 'client-config', client, form };
    const cached = this.cache.get(cacheKey(access.view, request));
    if (cached) return cached;
    this.refuseTooMany(cacheKey(access.view, request));
    const callerKey = access.client.callerKey(access.caller);
    const release = await this.semaphores.exports.acquire(callerKey, access.client.abortSignal());
    try {
      // The access may have been lost while this waited.
      const current = await this.views.verify(access);
      const key = cacheKey(current.view, request);
      this.refuseTooMany(key);
      return await this.page(current, request).catch((error: unknown) => {
        if (error instanceof ApiError && error.code === TOO_MANY) this.tooMany.set(key, true);
        throw error;
      });
    } finally {
      release();
    }
  }

  // To find out takes as long as to write the longest configuration there can be, and whoever is refused may ask again at once.
  private refuseTooMany(key: string): void {
    if (this.tooMany.has(key)) throw new ApiError(TOO_MANY);
  }

  private async search(access: RegistryAccess, request: PageRequest & { page: 'list' }): Promise<CachedJson> {
    // A cached page proves nothing, and next to an uncached search the check costs little.
    const verified = access.isVerified ? access : await this.views.verify(access);
    const deadline = performance.now() + searchTimeMs(request.list.filter);
    const callerKey = access.client.callerKey(access.caller);
    return (
      this.cache.get(cacheKey(verified.view, request)) ??
      this.searches.run(callerKey, () =>
        this.page(verified, request, { callerKey, deadline, abandoned: access.client.abortSignal() }),
      )
    );
  }

  /**
   * A page from the cache, or else read.
   *
   * A view is known before its rows are read, and both may change in between. A page is good only if all of it is of the state of
   * its view; if not, the view is refreshed and the page read again, a few times.
   *
   * @param end of a search.
   * @throws ApiError 404 for an entry or version that is not in the view, and 503 when the partitions of the view change
   *   during every read.
   */
  private async page(access: RegistryAccess, request: PageRequest, end?: SearchContext): Promise<CachedJson> {
    const callerKey = access.client.callerKey(access.caller);
    this.recent.add(callerKey);
    let current: VerifiedAccess;
    if (access.isVerified) current = access;
    else {
      const page = this.isKnown(cacheKey(access.view, request))
        ? undefined
        : await this.readAtOnce(access, request, callerKey);
      if (page) return page;
      current = await this.views.verify(access);
    }
    for (let reads = 1; ; reads += 1) {
      end?.abandoned.throwIfAborted();
      const { view } = current;
      const key = cacheKey(view, request);
      const cached = this.cache.get(key);
      if (cached) return cached;
      const check = new SnapshotCheck(view);
      const { page, error, isCurrent } = end
        ? await this.pending.share(
            key,
            (abandoned) => this.read(key, check, request, { ...end, abandoned }),
            end.abandoned,
          )
        : await this.inTurn(current, callerKey, () =>
            this.pending.share(key, () => this.read(key, check, request)),
          );
      if (!isCurrent) {
        current = await this.views.verify(current);
        if (reads < MAX_READS) continue;
        // Of the same partitions it is at least of states that were there since the request came; of others, entries that
        // went from one to another may be missing.
        if (!showsTheSame(view, current.view)) throw new ApiError('database_timeout', CHANGES_TOO_FAST);
      }
      if (!page) throw error;
      return page;
    }
  }

  // It may be of a time before the request that asks for it.
  private isKnown(key: string): boolean {
    return this.cache.has(key) || this.pending.has(key);
  }

  /**
   * A page of a view that is only remembered, by statements that also say whether it is still the view. What is cached, or what
   * others are reading already, has no such proof.
   *
   * @returns undefined when the view has to be refreshed first.
   */
  private async readAtOnce(
    access: RememberedAccess,
    request: PageRequest,
    callerKey: string,
  ): Promise<CachedJson | undefined> {
    const key = cacheKey(access.view, request);
    const result = await this.inTurn(access, callerKey, async () => {
      if (this.isKnown(key) || !this.views.isLatest(access)) return undefined;
      const check = new SnapshotCheck(access.view, access.remembered);
      return this.pending.share(key, () => this.read(key, check, request));
    });
    if (!result?.isCurrent) return undefined;
    if (!result.page) throw result.error;
    return result.page;
  }

  // Somebody who asks for many pages at once waits for themselves, and not everybody for them. The turn is that of who asks, also
  // for a page that another one has asked for: they may be far behind in their own.
  private async inTurn<Result extends Pick<ReadResult, 'page'> | undefined>(
    { client }: RegistryAccess,
    callerKey: string,
    read: () => Promise<Result>,
  ): Promise<Result> {
    const { reads } = this.semaphores;
    const release = reads.tryAcquire(callerKey) ?? (await reads.acquire(callerKey, client.abortSource));
    let turns = MAX_TURNS;
    try {
      const result = await read();
      const bytes = result?.page?.bytes.length ?? 0;
      turns = turnsAfter(bytes);
      if (turns > 0 && this.recent.areSeveral()) reads.pause(callerKey, pauseMsAfter(bytes));
      return result;
    } finally {
      if (turns === 0) release();
      else void loopTurns(turns).then(release);
    }
  }

  private async read(
    key: string,
    check: SnapshotCheck,
    request: PageRequest,
    end?: SearchContext,
  ): Promise<ReadResult> {
    // It may have been read since it was missed.
    const cached = this.cache.get(key);
    if (cached) return { page: cached, isCurrent: true };
    this.cache.missed();
    try {
      const body = await this.reader.read(check, request, end);
      // Nothing was read of it: not even those who would make do with a page of another state can use it.
      if (check.remembered && !check.isCurrent) throw new ApiError('database_timeout', CHANGES_TOO_FAST);
      const page = check.isCurrent ? this.cache.add(key, body) : new CachedJson(body.parts, body.headers);
      return { page, isCurrent: check.isCurrent };
    } catch (error) {
      return { error, isCurrent: check.isCurrent };
    }
  }
}

// The tag of a view changes with the revisions of its sources: nothing in the cache is ever out of date.
function cacheKey(view: View, request: PageRequest): string {
  return `${view.tag} ${JSON.stringify(request)}`;
}
