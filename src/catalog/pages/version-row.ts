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

/** A version on its way to a page, without its document where the page has no room for it. */
export type FoundVersion = Omit<VersionRow, 'document'> & { readonly document: string | null };

/** A row of a statement that has something to report also when it found no version: all columns are null then. */
export type MaybeVersion = FoundVersion | { readonly [column in keyof FoundVersion]: null };

export function isVersion<Row extends MaybeVersion>(row: Row): row is Row & FoundVersion {
  return row.name !== null;
}
