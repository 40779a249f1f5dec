import { createHash } from 'node:crypto';
import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { LRUCache } from 'lru-cache';
import { outboundConfig, pageConfig } from '../config/slices.js';
import { elements, member } from '../json/json-values.js';
import { Semaphore, SemaphoreTimeout } from '../limits/semaphore.js';
import { HttpClient, withoutAddress } from '../outbound/http-client.js';
import { rasterImageIn } from '../validation/images.js';
import { withoutQuery } from '../validation/redaction.js';

const MAX_ICON_BYTES = 256 * 1_024;
const MAX_PIXELS = 1_024;
const TIMEOUT_MS = 5_000;
const MAX_FETCHES = 8;
/** Maximum number of a document's icons that are examined, and of those at listed origins that are tried. */
const MAX_LISTED = 50;
const MAX_TRIED = 3;
const CACHE_BYTES = 16 * 1_024 * 1_024;
const MAX_CACHED = 5_000;
const FRESH_MS = 24 * 60 * 60 * 1_000;
const RETRY_MS = 10 * 60 * 1_000;
/** The memory of a cache entry in addition to the image. */
const OVERHEAD_BYTES = 2_500;

export interface Icon {
  readonly type: string;
  readonly bytes: Buffer;
  readonly etag: string;
}

/** Fetches icons from `web.iconOrigins` and keeps them in memory. */
@Injectable()
export class IconCache implements OnApplicationShutdown {
  private readonly logger = new Logger('icons');
  private readonly http: HttpClient;
  private readonly origins: ReadonlySet<string>;
  private readonly fetches = new Semaphore(MAX_FETCHES, TIMEOUT_MS);
  private readonly stopping = new AbortController();
  /** Icons by URL; failures to fetch one are also cached. */
  private readonly cache = new LRUCache<string, { readonly icon: Icon | null }>({
    max: MAX_CACHED,
    maxSize: CACHE_BYTES,
    sizeCalculation: ({ icon }) => OVERHEAD_BYTES + (icon?.bytes.length ?? 0),
    // Requests for the same icon share one fetch.
    fetchMethod: async (url, _stale, { options }) => {
      const icon = await this.fetched(url);
      options.ttl = icon ? FRESH_MS : RETRY_MS;
      return { icon };
    },
    ignoreFetchAbort: true,
  });

  constructor(
    @Inject(pageConfig.KEY) { web }: ConfigType<typeof pageConfig>,
    @Inject(outboundConfig.KEY) { proxy }: ConfigType<typeof outboundConfig>,
  ) {
    this.origins = new Set(web.iconOrigins.map((origin) => new URL(origin).origin));
    this.http = new HttpClient({ maxConnections: MAX_FETCHES, proxy });
  }

  /**
   * Returns the first icon that can be shown.
   *
   * @param icons the `icons` member of a document.
   * @param key identifies the caller: callers take turns fetching.
   */
  async of(icons: unknown, key: string, gone: AbortSignal): Promise<Icon | null> {
    const began = performance.now();
    const urls = elements(icons)
      .slice(0, MAX_LISTED)
      .map((icon) => member(icon, 'src'))
      .filter((src) => typeof src === 'string' && this.isAllowed(src));
    for (const url of urls.slice(0, MAX_TRIED)) {
      const icon = await this.at(String(url), key, gone);
      gone.throwIfAborted();
      if (icon || performance.now() - began > TIMEOUT_MS) return icon;
    }
    return null;
  }

  async onApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await this.http.close();
  }

  private isAllowed(src: string): boolean {
    return URL.canParse(src) && this.origins.has(new URL(src).origin);
  }

  private async at(url: string, key: string, gone: AbortSignal): Promise<Icon | null> {
    const cached = this.cache.get(url);
    if (cached) return cached.icon;
    try {
      const fetched = await this.fetches.run(key, gone, () => this.cache.fetch(url));
      return fetched?.icon ?? null;
    } catch (error) {
      if (error instanceof SemaphoreTimeout) return null;
      throw error;
    }
  }

  private async fetched(url: string): Promise<Icon | null> {
    try {
      return await this.fetch(url);
    } catch (error) {
      this.logger.debug(
        { url: withoutQuery(url), error: withoutAddress(error) },
        'An icon could not be fetched',
      );
      return null;
    }
  }

  // The operator lists the origins, so they may be private; a redirect to another origin is not followed.
  private async fetch(url: string): Promise<Icon | null> {
    const { status, bytes } = await this.http.get(url, {
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_ICON_BYTES,
      allowPrivate: true,
      redirects: 'same-origin',
      signal: this.stopping.signal,
    });
    const image = status === 200 ? rasterImageIn(bytes) : null;
    if (!image || Math.max(image.width, image.height) > MAX_PIXELS) return null;
    const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
    return { type: image.type, bytes, etag };
  }
}
