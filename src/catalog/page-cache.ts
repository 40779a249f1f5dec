import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { CachedJson } from '../http/json-answers.js';
import { CatalogMetrics } from '../telemetry/registry-metrics.js';
import type { PageBody } from './page-body.js';

/** All encodings of all pages together. */
const MAX_CACHED_BYTES = 32 * 1024 * 1024;
/** The size of a page beside its bytes. */
const OVERHEAD_BYTES = 1_000;

/** Pages that are ready to send. The least recently used go when room is needed. */
@Injectable()
export class PageCache {
  private readonly pages = new LRUCache<string, CachedJson>({
    maxSize: MAX_CACHED_BYTES,
    // A key may be long: a cursor holds what its sender put into it.
    sizeCalculation: ({ size }, key) => size + 2 * key.length + OVERHEAD_BYTES,
  });

  constructor(private readonly metrics: CatalogMetrics) {}

  get(key: string): CachedJson | undefined {
    const page = this.pages.get(key);
    if (page) this.metrics.pageFound();
    return page;
  }

  /** There was none, also at the last look: a page is about to be read. */
  missed(): void {
    this.metrics.pageRead();
  }

  has(key: string): boolean {
    return this.pages.has(key);
  }

  /** Makes a page of a body and caches it. */
  add(key: string, { parts, headers }: PageBody): CachedJson {
    const page = new CachedJson(parts, headers, () => this.measureAgain(key));
    this.pages.set(key, page);
    return page;
  }

  // The cache asks for the size of what is new to it, and never again.
  private measureAgain(key: string): void {
    const page = this.pages.peek(key);
    if (!page) return;
    this.pages.delete(key);
    this.pages.set(key, page);
  }
}
