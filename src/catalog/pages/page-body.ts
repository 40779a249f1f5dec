import { ENTRY_TYPES, type EntryType } from '../../documents/entry-types.js';
import { officialMeta } from '../../documents/official-meta.js';
import type { VersionRow } from './version-row.js';

/**
 * A page ends before its documents are longer than this together, and the next one goes on. A hundred documents of a
 * megabyte would be in memory whole, once for each client that reads slowly.
 */
const MAX_PAGE_CHARACTERS = 8 * 1024 * 1024;

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

/** The rows that have room on one page: at least one, however long it is. */
export function withinPage(rows: readonly VersionRow[]): readonly VersionRow[] {
  let characters = 0;
  const firstTooMany = rows.findIndex(
    ({ document }) => (characters += document.length) > MAX_PAGE_CHARACTERS,
  );
  return firstTooMany === -1 ? rows : rows.slice(0, Math.max(1, firstTooMany));
}
