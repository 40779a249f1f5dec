import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Counter } from 'prom-client';
import { utcText } from '../database/sql-expressions.js';
import { ENTRY_TYPES, type EntryType, officialMeta } from '../documents/entry-types.js';
import type { Status } from '../documents/statuses.js';
import { CachedJson } from '../http/json-answers.js';
import { MAX_PAGE_BYTES } from '../http/lists.js';
import { Metrics } from '../telemetry/metrics.js';
import type { ListFilter } from './list-request.js';

/** What the consumer API shows of a stored version. Dates are RFC 3339 in UTC. */
export interface ShownVersion {
  readonly document: string;
  readonly status: Status;
  readonly statusMessage: string | null;
  readonly statusChangedAt: string;
  readonly publishedAt: string;
  readonly updatedAt: string;
  readonly isLatest: boolean;
}

/** A version on a page of several. */
export interface VersionRow extends ShownVersion {
  readonly name: string;
  readonly version: string;
  readonly key: string;
}

/** SQL: the columns of a `ShownVersion`, selected from version `v`. */
export const SHOWN_COLUMNS = `v.document, v.status, v.status_message as "statusMessage",
    ${utcText('v.status_changed_at')} as "statusChangedAt",
    ${utcText('v.published_at')} as "publishedAt",
    ${utcText('v.updated_at')} as "updatedAt", v.is_latest as "isLatest"`;

/** SQL: the columns of a `VersionRow` except its name, selected from version `v`. */
export const VERSION_COLUMNS = `v.version, v.version_key as key, ${SHOWN_COLUMNS}`;

/** SQL: like VERSION_COLUMNS, but documents longer than `$maxDocumentBytes` are empty, and are not read. */
export const VERSION_COLUMNS_WITHOUT_LONG = VERSION_COLUMNS.replace(
  'v.document',
  `case when octet_length(v.document) <= (select $maxDocumentBytes::int) then v.document else '' end as document`,
);

/** A version read for a page; its document is null if it does not fit on the page. */
export type FoundVersion = Omit<VersionRow, 'document'> & { readonly document: string | null };

/** A row of a statement that always returns at least one row: all columns are null if no version was found. */
export type MaybeVersion = FoundVersion | { readonly [column in keyof FoundVersion]: null };

export function isVersion<Row extends MaybeVersion>(row: Row): row is Row & FoundVersion {
  return row.name !== null;
}

/** A page to be sent: JSON text in consecutive parts (bytes are UTF-8), and headers. */
export interface PageBody {
  readonly parts: readonly (string | Buffer)[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** Returns the body for a single version: an item with `_meta` or the bare document, depending on the type. */
export function itemBody(type: EntryType, row: ShownVersion): readonly string[] {
  if (ENTRY_TYPES[type].isShownBare) return [row.document];
  return [`{"${type}":`, row.document, `,"_meta":${officialMeta(row)}}`];
}

/** @param cursor cursor for the next page, if any. */
export function listBody(type: EntryType, rows: readonly VersionRow[], cursor?: string): readonly string[] {
  const metadata = { count: rows.length, ...(cursor ? { nextCursor: cursor } : {}) };
  const items = rows.flatMap((row, index) => [...(index > 0 ? [','] : []), ...itemBody(type, row)]);
  return [`{"${ENTRY_TYPES[type].listKey}":[`, ...items, `],"metadata":${JSON.stringify(metadata)}}`];
}

/**
 * SQL: the columns of a `FoundVersion`. Requires `found`, with the columns of a `VersionRow`, and the window `page`
 * (PAGE_WINDOW). PostgreSQL knows a document's length without reading it, so documents that do not fit are not read.
 */
export const FOUND_COLUMNS = `found.name, found.version, found.key, found.status, found."statusMessage",
    found."statusChangedAt", found."publishedAt", found."updatedAt", found."isLatest",
    case when sum(octet_length(found.document)) over page <= ${MAX_PAGE_BYTES} or row_number() over page = 1
      then found.document end as document`;

/** SQL: window over the versions up to the current one, in page order. */
export const PAGE_WINDOW = `(order by found.name, found.key desc rows unbounded preceding)`;

/** Returns whether the page is full and its cursor is known, so that no more versions need to be read. */
export function isFull(found: readonly FoundVersion[], limit: number): boolean {
  return found.length > limit || found.at(-1)?.document === null;
}

/** Returns the versions that fit on a page: at least one, even if it is too long. */
export function withinPage(found: readonly FoundVersion[]): readonly VersionRow[] {
  const rows: VersionRow[] = [];
  let bytes = 0;
  for (const version of found) {
    const { document } = version;
    if (document === null) break;
    bytes += Buffer.byteLength(document);
    if (rows.length > 0 && bytes > MAX_PAGE_BYTES) break;
    rows.push({ ...version, document });
  }
  return rows;
}

/** Weight of a new page's value when it raises the estimate. */
const RISE = 0.1;

/**
 * Estimates a list's rows per name from earlier pages, to avoid reading more names than needed. Overestimating costs a
 * second statement, but underestimating costs almost nothing, so the estimate rises slowly and falls immediately.
 */
export class RowsPerName {
  private readonly byKind = new Map<string, number>();

  expected(type: EntryType, filter: ListFilter): number {
    return this.byKind.get(kindOf(type, filter)) ?? 1;
  }

  /** @param found the rows of a page, in order. */
  observe(type: EntryType, filter: ListFilter, found: readonly FoundVersion[]): void {
    // The last name may continue on the next page.
    const names = new Set(found.map(({ name }) => name)).size - 1;
    if (names < 1) return;
    const rows = found.findLastIndex(({ name }) => name !== found.at(-1)?.name) + 1;
    const before = this.expected(type, filter);
    const observed = rows / names;
    const expected = observed < before ? observed : before + RISE * (observed - before);
    this.byKind.set(kindOf(type, filter), Math.max(1, expected));
  }
}

function kindOf(type: EntryType, { version, includeDeleted = false }: ListFilter): string {
  return `${type} ${version === 'latest'} ${includeDeleted}`;
}

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
