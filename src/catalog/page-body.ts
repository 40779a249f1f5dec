import { utcText } from '../database/columns.js';
import { ENTRY_TYPES, type EntryType } from '../documents/entry-types.js';
import { officialMeta } from '../documents/incoming-version.js';
import type { ListFilter } from './list-request.js';

/** A stored version as the consumer API shows it. Dates are RFC 3339 in UTC already. */
export interface VersionRow {
  readonly name: string;
  readonly version: string;
  readonly key: string;
  readonly document: string;
  readonly status: string;
  readonly statusMessage: string | null;
  readonly statusChangedAt: string;
  readonly publishedAt: string;
  readonly updatedAt: string;
  readonly isLatest: boolean;
}

/** SQL: the columns of a `VersionRow` beside its name, read from the version `v`. */
export const VERSION_COLUMNS = `v.version, v.version_key as key, v.document, v.status, v.status_message as "statusMessage",
    ${utcText('v.status_changed_at')} as "statusChangedAt",
    ${utcText('v.published_at')} as "publishedAt",
    ${utcText('v.updated_at')} as "updatedAt", v.is_latest as "isLatest"`;

/** A version on its way to a page, without its document where the page has no room for it. */
export type FoundVersion = Omit<VersionRow, 'document'> & { readonly document: string | null };

/** A row of a statement that has something to report also when it found no version: all columns are null then. */
export type MaybeVersion = FoundVersion | { readonly [column in keyof FoundVersion]: null };

export function isVersion<Row extends MaybeVersion>(row: Row): row is Row & FoundVersion {
  return row.name !== null;
}

/** Texts as long as that are not put together with others. */
const LONG_TEXT = 2_048;

/** A page as it is sent: JSON text in parts that follow each other, and headers of its own. */
export interface PageBody {
  readonly parts: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * The parts of a text. Long documents stay apart: put together they would stand in memory once more, and be garbage in the next
 * moment; a few large pages a second would keep the collector busy, and everybody waiting for it.
 */
class Parts {
  private readonly parts: string[] = [];
  private short = '';

  add(text: string): void {
    if (text.length < LONG_TEXT) this.short += text;
    else {
      this.parts.push(this.short, text);
      this.short = '';
    }
  }

  /** How a version is written out, from its text: as an item with `_meta` around it, or bare, as the type of the entry says. */
  addItem(type: EntryType, row: VersionRow): void {
    const { isShownBare } = ENTRY_TYPES[type];
    if (!isShownBare) this.add(`{"${type}":`);
    this.add(row.document);
    if (!isShownBare) this.add(`,"_meta":${officialMeta(row)}}`);
  }

  all(): readonly string[] {
    return [...this.parts, this.short];
  }
}

/** One version by itself, in parts. */
export function itemBody(type: EntryType, row: VersionRow): readonly string[] {
  const parts = new Parts();
  parts.addItem(type, row);
  return parts.all();
}

/** @param cursor of the next page, if there is one. */
export function listBody(type: EntryType, rows: readonly VersionRow[], cursor?: string): readonly string[] {
  const metadata = { count: rows.length, ...(cursor ? { nextCursor: cursor } : {}) };
  const { listKey } = ENTRY_TYPES[type];
  const parts = new Parts();
  parts.add(`{"${listKey}":[`);
  for (const [index, row] of rows.entries()) {
    if (index > 0) parts.add(',');
    parts.addItem(type, row);
  }
  parts.add(`],"metadata":${JSON.stringify(metadata)}}`);
  return parts.all();
}

/**
 * The documents of a page have together at most this many bytes, or there is only one (contract §3). A hundred documents of a
 * megabyte would be in memory whole, once for each client that reads slowly.
 */
const MAX_PAGE_BYTES = 1_024 * 1_024;

/**
 * SQL: the columns of a `FoundVersion`, read from `found`, which has those of a `VersionRow`; and PAGE_WINDOW as the window `page`. The length is known without reading the document, so what does not fit is not read.
 */
export const FOUND_COLUMNS = `found.name, found.version, found.key, found.status, found."statusMessage",
    found."statusChangedAt", found."publishedAt", found."updatedAt", found."isLatest",
    case when sum(octet_length(found.document)) over page <= ${MAX_PAGE_BYTES} or row_number() over page = 1
      then found.document end as document`;

/** SQL: the same of one version at most: there is always room for it. */
export const ONLY_FOUND_COLUMNS = `found.name, found.version, found.key, found.status, found."statusMessage",
    found."statusChangedAt", found."publishedAt", found."updatedAt", found."isLatest", found.document`;

/** SQL: the versions of a page up to each, in page order. */
export const PAGE_WINDOW = `(order by found.name, found.key desc rows unbounded preceding)`;

/** Whether these, with the one beyond the limit, are all that a page and its cursor need. */
export function isFull(found: readonly FoundVersion[], limit: number): boolean {
  return found.length > limit || found.at(-1)?.document === null;
}

/** The versions that have room on one page: at least one, however long it is. */
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

/** Part of the difference by which the expectation rises with a page. */
const RISE = 0.1;

/**
 * How many rows the names of a list have, from the pages that were read before: a page of names with many versions need not go over
 * as many names as it has rows. An expectation that is too high costs another statement, one that is too low next to nothing: it
 * rises slowly, and falls at once.
 */
export class RowsPerName {
  private readonly byKind = new Map<string, number>();

  expected(type: EntryType, filter: ListFilter): number {
    return this.byKind.get(kindOf(type, filter)) ?? 1;
  }

  /** @param found rows of a page in their order. */
  observe(type: EntryType, filter: ListFilter, found: readonly FoundVersion[]): void {
    // The last name may go on.
    const names = new Set(found.map(({ name }) => name)).size - 1;
    if (names < 1) return;
    const rows = found.findLastIndex(({ name }) => name !== found.at(-1)?.name) + 1;
    const before = this.expected(type, filter);
    const observed = rows / names;
    const expected = observed < before ? observed : before + RISE * (observed - before);
    this.byKind.set(kindOf(type, filter), Math.max(1, expected));
  }
}

// As many as there are types, with and without older and deleted versions.
function kindOf(type: EntryType, { version, includeDeleted = false }: ListFilter): string {
  return `${type} ${version === 'latest'} ${includeDeleted}`;
}
