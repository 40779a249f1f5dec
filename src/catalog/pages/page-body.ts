import { ENTRY_TYPES, type EntryType } from '../../documents/entry-types.js';
import { officialMeta } from '../../documents/official-meta.js';
import { type FoundVersion, MAX_PAGE_BYTES, type VersionRow } from './version-row.js';

/** A page as it is sent: JSON text, and headers of its own. */
export interface PageBody {
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** How a version is written out, from its text: as an item with `_meta` around it, or bare, as the type of the entry says. */
export function itemBody(type: EntryType, row: VersionRow): string {
  return ENTRY_TYPES[type].isShownBare
    ? row.document
    : `{"${type}":${row.document},"_meta":${officialMeta(row)}}`;
}

/** @param cursor of the next page, if there is one. */
export function listBody(type: EntryType, rows: readonly VersionRow[], cursor?: string): string {
  const metadata = { count: rows.length, ...(cursor ? { nextCursor: cursor } : {}) };
  const { listKey } = ENTRY_TYPES[type];
  return `{"${listKey}":[${rows.map((row) => itemBody(type, row)).join(',')}],"metadata":${JSON.stringify(metadata)}}`;
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
