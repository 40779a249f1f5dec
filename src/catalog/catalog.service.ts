import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { callerKeyOf } from '../auth/caller.js';
import { ClientConfig, type ItemPage, OMITTED, type PluginPolicy } from '../client-config/client-config.js';
import { PoolSemaphores } from '../database/connection-pool.js';
import type { SearchContext } from '../database/search-pool.js';
import { SharedReads } from '../limits/shared-reads.js';
import type { EntryType } from '../documents/entry-types.js';
import { ApiError } from '../http/errors.js';
import { CachedJson, LARGE_BYTES, StreamedJson } from '../http/json-answers.js';
import { CHANGES_TOO_FAST, MAX_READS, SnapshotCheck } from '../visibility/freshness.queries.js';
import {
  type RegistryAccess,
  RegistryViews,
  type RememberedAccess,
  type VerifiedAccess,
} from '../visibility/registry-views.js';
import { haveSamePartitions, type View } from '../visibility/view.js';
import { BlockedVersions } from './blocked-versions.queries.js';
import {
  type ClientConfigFile,
  ConfigPlugins,
  type ConfigPosition,
  type ConfigRequest,
  headersOf,
  LongConfig,
} from './client-config-page.js';
import type { EntrySearch } from './entry-search.js';
import {
  isSearch,
  type ListRequest,
  SEARCH_TIME_MS,
  searchTimeMs,
  type VersionsRequest,
} from './list-request.js';
import { PageCache } from './page-body.js';
import { PageReader, type PageRequest } from './page-reader.js';
import { SearchLimit } from './search-limits.js';

/** How long callers count as readers of large pages, and the maximum number of these callers. */
const LARGE_READERS = { ttl: 10_000, max: 1_000 };

/** Maximum number of long configurations whose cache keys are remembered. */
const MAX_LONG_CONFIGS = 1_000;
type ConfigPageRequest = Extract<PageRequest, { page: 'client-config' }>;

/** A page, or an error such as `entry_not_found`. */
interface ReadResult {
  readonly page?: CachedJson;
  readonly error?: unknown;
  /** Whether the view was still current when the page was read. */
  readonly isCurrent: boolean;
}

/** Reads pages of the consumer API for a caller who has access to the registry. */
@Injectable()
export class CatalogService {
  private readonly pending = new SharedReads<string, ReadResult>();
  /** Numbers of omitted servers by cache key, for configurations that are too long to cache; null until counted. */
  private readonly longConfigs = new LRUCache<string, { readonly omitted: number | null }>({
    max: MAX_LONG_CONFIGS,
  });
  /** Callers who recently read large pages: only one of them reads at a time (docs/decisions/017-large-pages.md). */
  private readonly largeReaders = new LRUCache<string, true>(LARGE_READERS);

  constructor(
    private readonly cache: PageCache,
    private readonly reader: PageReader,
    private readonly views: RegistryViews,
    private readonly searches: SearchLimit,
    private readonly semaphores: PoolSemaphores,
    private readonly blocked: BlockedVersions,
  ) {}

  /** @throws ApiError 429 `too_many_requests` over the caller's search limit; 503 if a search takes too long. */
  list(access: RegistryAccess, type: EntryType, list: ListRequest): Promise<CachedJson> {
    const request = { page: 'list', type, list } as const;
    return isSearch(list.filter) ? this.search(access, request) : this.page(access, request);
  }

  /** @throws ApiError 429 `too_many_requests` over the caller's search limit; 503 if the search takes too long. */
  searchEntries(access: RegistryAccess, search: EntrySearch): Promise<CachedJson> {
    return this.search(access, { page: 'search', search });
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
   * Returns a client's configuration file or list with all visible servers (reference/client-config).
   *
   * @param policy set if the registry is a marketplace.
   */
  async clientConfig(
    access: VerifiedAccess,
    { client, form }: ClientConfigFile,
    policy?: PluginPolicy,
  ): Promise<CachedJson | StreamedJson> {
    const plugins = policy && new ConfigPlugins(policy);
    const { kinds } = new ClientConfig(client, form, plugins);
    const dependsOnBlocks = kinds.includes('blocked') || kinds.includes('plugin');
    const request: ConfigPageRequest = {
      page: 'client-config',
      client,
      form,
      ...(dependsOnBlocks ? { blocked: await this.blocked.visibleTo(access) } : {}),
      ...(plugins ? { plugins } : {}),
    };
    const key = cacheKey(access.view, request);
    return (
      this.cache.get(key) ?? (await this.shortConfig(access, request)) ?? this.longConfig(access, request)
    );
  }

  /**
   * Returns the Atom feed of the view (reference/client-config). Its statement sorts the whole view, so few run at a
   * time.
   */
  async feed(access: VerifiedAccess): Promise<CachedJson> {
    const request = { page: 'feed', registry: access.registryName } as const;
    return (
      this.cache.get(cacheKey(access.view, request)) ??
      this.exclusively(access, access.client.abortSignal(), (current) => this.page(current, request))
    );
  }

  /** Returns undefined if the configuration is too long to build in memory. */
  private async shortConfig(
    access: VerifiedAccess,
    request: ConfigPageRequest,
  ): Promise<CachedJson | undefined> {
    if (this.longConfigs.has(cacheKey(access.view, request))) return undefined;
    return this.exclusively(access, access.client.abortSignal(), async (current) => {
      const key = cacheKey(current.view, request);
      if (this.longConfigs.has(key)) return undefined;
      return this.page(current, request).catch((error: unknown) => {
        if (!(error instanceof LongConfig)) throw error;
        this.longConfigs.set(key, { omitted: null });
        return undefined;
      });
    });
  }

  /**
   * Streams a configuration of any length, in one pass over the servers per member. If the catalog changes in the
   * meantime, the response contains each server as it was at some time during the request.
   */
  private async longConfig(access: VerifiedAccess, request: ConfigPageRequest): Promise<StreamedJson> {
    const key = cacheKey(access.view, request);
    const config = new ClientConfig(request.client, request.form, request.plugins);
    const gone = access.client.abortSignal();
    const read = (member: string, after: ConfigPosition | null) =>
      this.exclusively(access, gone, ({ view }) => this.configItems(view, request, config, member, after));
    let omitted = this.longConfigs.get(key)?.omitted ?? null;
    if (omitted === null) {
      omitted = 0;
      for (let after: ConfigPosition | null = null, isAtEnd = false; !isAtEnd; isAtEnd = after === null) {
        const page: ItemPage<ConfigPosition> = await read(OMITTED, after);
        omitted += page.items.length;
        after = page.next;
      }
      // Views that were equal when the key was computed may differ after a change.
      if (cacheKey((await this.views.verify(access)).view, request) === key)
        this.longConfigs.set(key, { omitted });
    }
    const callerKey = callerKeyOf(access.caller, access.client);
    return new StreamedJson(config.text(read), gone, callerKey, key, headersOf(request, omitted));
  }

  private async configItems(
    view: View,
    request: ConfigRequest,
    config: ClientConfig,
    member: string,
    after: ConfigPosition | null,
  ): Promise<ItemPage<ConfigPosition>> {
    const { parts, next } = await this.reader.configParts(new SnapshotCheck(view), request, config, after);
    return { items: await config.itemsOf(member, parts), next };
  }

  /** Runs memory-intensive jobs one at a time; callers take turns. Access is verified again after the wait. */
  private async exclusively<Result>(
    access: VerifiedAccess,
    gone: AbortSignal,
    work: (current: VerifiedAccess) => Promise<Result>,
  ): Promise<Result> {
    return this.semaphores.exports.run(callerKeyOf(access.caller, access.client), gone, async () =>
      work(await this.views.verify(access)),
    );
  }

  private async search(
    access: RegistryAccess,
    request: PageRequest & { page: 'list' | 'search' },
  ): Promise<CachedJson> {
    // A cached page does not prove that the caller has access, and verifying is cheap compared with an uncached search.
    const verified = access.isVerified ? access : await this.views.verify(access);
    const callerKey = callerKeyOf(access.caller, access.client);
    const signal = access.client.abortSignal();
    return (
      this.cache.get(cacheKey(verified.view, request)) ??
      this.searches.run(callerKey, signal, () => {
        const deadline =
          performance.now() + (request.page === 'list' ? searchTimeMs(request.list.filter) : SEARCH_TIME_MS);
        return this.page(verified, request, { callerKey, deadline, signal });
      })
    );
  }

  /**
   * Returns a page from the cache, or reads it.
   *
   * The registry may change between computing the view and reading the page. If it does, the page is discarded, the
   * access is verified, and the page is read again. A page is read at most `MAX_READS` times.
   *
   * @param search set only for searches.
   * @throws ApiError 404 for an entry or version outside the view, 503 if the view's partitions change during every
   *   read.
   */
  private async page(
    access: RegistryAccess,
    request: PageRequest,
    search?: SearchContext,
  ): Promise<CachedJson> {
    const callerKey = callerKeyOf(access.caller, access.client);
    let current: VerifiedAccess;
    if (access.isVerified) current = access;
    else {
      const key = cacheKey(access.view, request);
      const page = this.isCachedOrPending(key)
        ? undefined
        : await this.readRemembered(access, request, key, callerKey);
      if (page) return page;
      current = await this.views.verify(access);
    }
    for (let reads = 1; ; reads += 1) {
      search?.signal.throwIfAborted();
      const { view } = current;
      const key = cacheKey(view, request);
      const cached = this.cache.get(key);
      if (cached) return cached;
      const check = new SnapshotCheck(view);
      const { page, error, isCurrent } = search
        ? await this.pending.share(
            key,
            (signal) => this.read(key, check, request, { ...search, signal }),
            search.signal,
          )
        : await this.withPermit(current, request, callerKey, () =>
            this.pending.share(key, () => this.read(key, check, request)),
          );
      if (!isCurrent) {
        current = await this.views.verify(current);
        if (reads < MAX_READS) continue;
        // If the partitions are unchanged, each part of the page was valid at some time during the request. Otherwise,
        // entries that moved between partitions may be missing.
        if (!haveSamePartitions(view, current.view)) throw new ApiError('database_timeout', CHANGES_TOO_FAST);
      }
      if (!page) throw error;
      return page;
    }
  }

  // A cached or pending page may be older than the request.
  private isCachedOrPending(key: string): boolean {
    return this.cache.has(key) || this.pending.has(key);
  }

  /**
   * Reads a page of a remembered view with statements that verify the view. A cached or pending page does not verify
   * the access.
   *
   * @returns undefined if the access must be verified first.
   */
  private async readRemembered(
    access: RememberedAccess,
    request: PageRequest,
    key: string,
    callerKey: string,
  ): Promise<CachedJson | undefined> {
    const result = await this.withPermit(access, request, callerKey, async () => {
      if (this.isCachedOrPending(key) || !this.views.isLatest(access)) return undefined;
      const check = new SnapshotCheck(access.view, access.remembered);
      return this.pending.share(key, () => this.read(key, check, request));
    });
    if (!result?.isCurrent) return undefined;
    if (!result.page) throw result.error;
    return result.page;
  }

  // Each caller acquires its own permit, even for a shared page: the caller who started the read may be queued far
  // behind.
  private async withPermit<Result extends Pick<ReadResult, 'page'> | undefined>(
    { client }: RegistryAccess,
    request: PageRequest,
    callerKey: string,
    read: () => Promise<Result>,
  ): Promise<Result> {
    const release = await this.acquire(request, callerKey, client.abortSignal());
    try {
      const result = await read();
      if ((result?.page?.bytes.length ?? 0) >= LARGE_BYTES) this.largeReaders.set(callerKey, true);
      return result;
    } finally {
      release();
    }
  }

  private async acquire({ page }: PageRequest, callerKey: string, gone: AbortSignal): Promise<() => void> {
    const { reads, versions, largeReads } = this.semaphores;
    if (!this.largeReaders.has(callerKey)) {
      const release = await (page === 'version' ? versions : reads).acquire(callerKey, gone);
      // The caller may have read a large page during the wait.
      if (!this.largeReaders.has(callerKey)) return release;
      release();
    }
    return largeReads.acquire(callerKey, gone);
  }

  private async read(
    key: string,
    check: SnapshotCheck,
    request: PageRequest,
    search?: SearchContext,
  ): Promise<ReadResult> {
    // Another request may have read the page in the meantime.
    const cached = this.cache.get(key);
    if (cached) return { page: cached, isCurrent: true };
    this.cache.missed();
    try {
      const body = await this.reader.read(check, request, search);
      // The statements read no rows, so the page is unusable even after the last attempt.
      if (check.remembered && !check.isCurrent) throw new ApiError('database_timeout', CHANGES_TOO_FAST);
      const page = check.isCurrent ? this.cache.add(key, body) : new CachedJson(body.parts, body.headers);
      return { page, isCurrent: check.isCurrent };
    } catch (error) {
      return { error, isCurrent: check.isCurrent };
    }
  }
}

// The tag changes with the revisions of the view's sources, so cached pages are never stale.
function cacheKey(view: View, request: PageRequest): string {
  return `${view.tag} ${JSON.stringify(request)}`;
}
