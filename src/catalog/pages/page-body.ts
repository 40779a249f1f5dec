import { ENTRY_TYPES, type EntryType } from '../../documents/entry-types.js';
import { officialMeta } from '../../documents/incoming-version.js';
import type { VersionRow } from './version-row.js';

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
