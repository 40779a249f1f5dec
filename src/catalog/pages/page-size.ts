import type { FoundVersion, VersionRow } from './version-row.js';

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
