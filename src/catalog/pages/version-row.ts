import { utcText } from '../../database/columns.js';

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

/**
 * The documents of a page have together at most this many bytes, or there is only one (contract §3). A hundred documents of a
 * megabyte would be in memory whole, once for each client that reads slowly.
 */
export const MAX_PAGE_BYTES = 1_024 * 1_024;

/** A version on its way to a page, without its document where the page has no room for it. */
export type FoundVersion = Omit<VersionRow, 'document'> & { readonly document: string | null };

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

/** A row of a statement that has something to report also when it found no version: all columns are null then. */
export type MaybeVersion = FoundVersion | { readonly [column in keyof FoundVersion]: null };

export function isVersion<Row extends MaybeVersion>(row: Row): row is Row & FoundVersion {
  return row.name !== null;
}
