import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Counter } from 'prom-client';
import { Metrics } from '../telemetry/metrics.js';
import { CachedJson } from '../http/json-answers.js';
import type { PageBody } from './page-body.js';

/** Maximum total size of the cached pages, including all encodings. */
const MAX_CACHED_BYTES = 12 * 1024 * 1024;
/** Overhead per cached page. */
const OVERHEAD_BYTES = 1_000;

/** LRU cache of pages that are ready to send. */
@Injectable()
export class PageCache {
  private readonly pages = new LRUCache<string, CachedJson>({
    maxSize: MAX_CACHED_BYTES,
    // Keys can be long: they contain cursors, which clients can forge.
    sizeCalculation: ({ size }, key) => size + 2 * key.length + OVERHEAD_BYTES,
  });

  private readonly requests: Counter<'outcome'>;

  constructor({ register }: Metrics) {
    this.requests = new Counter({
      name: 'registry_page_cache_requests_total',
      help: 'Pages of the consumer API found in the cache (hit) or read from the database (miss)',
      labelNames: ['outcome'],
      registers: [register],
    });
    // Prometheus sees increases only in series that it has scraped before.
    for (const outcome of ['hit', 'miss']) this.requests.inc({ outcome }, 0);
  }

  get(key: string): CachedJson | undefined {
    const page = this.pages.get(key);
    if (page) this.requests.inc({ outcome: 'hit' });
    return page;
  }

  /** Counts a cache miss: the page is about to be read. */
  missed(): void {
    this.requests.inc({ outcome: 'miss' });
  }

  has(key: string): boolean {
    return this.pages.has(key);
  }

  /** Creates a page from a body and caches it. */
  add(key: string, { parts, headers }: PageBody): CachedJson {
    const page = new CachedJson(parts, headers, () => this.measureAgain(key));
    this.pages.set(key, page);
    return page;
  }

  // lru-cache computes an item's size only on set().
  private measureAgain(key: string): void {
    const page = this.pages.peek(key);
    if (!page) return;
    this.pages.delete(key);
    this.pages.set(key, page);
  }
}
