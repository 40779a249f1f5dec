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

const utc = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** The columns of a `VersionRow` beside its name, read from `v`. */
export const VERSION_COLUMNS = `
  v.version, v.version_key as key, v.document, v.status, v.status_message as "statusMessage",
  ${utc('v.status_changed_at')} as "statusChangedAt", ${utc('v.published_at')} as "publishedAt",
  ${utc('v.updated_at')} as "updatedAt", v.is_latest as "isLatest"`;

/** What a statement returns that says something also when it found no version. */
export type MaybeVersion = VersionRow | { readonly [column in keyof VersionRow]: null };

export function isVersion<Row extends MaybeVersion>(row: Row): row is Row & VersionRow {
  return row.name !== null;
}
