import { createHash } from 'node:crypto';
import { utcText } from '../database/sql-expressions.js';
import { ENTRY_TYPES, type EntryType } from '../documents/entry-types.js';
import { pauseIfDue } from '../limits/time-slice.js';
import { FRESHNESS, type CheckedRow, type ViewSql } from '../visibility/freshness.queries.js';
import { isVisibleAmongMany, rankedBy } from '../visibility/visible-entries.queries.js';
import { hasShownStatus } from './list-request.js';
import type { PageBody } from './page-body.js';

const MAX_ENTRIES = 100;
/** Entries with longer documents have no title or summary. */
const MAX_DOCUMENT_BYTES = 64 * 1_024;
const MAX_TEXT = 1_000;

export const ATOM_TYPE = 'application/atom+xml';

/** The latest version of a name; all columns are null if the view is empty. */
interface FeedRow extends CheckedRow {
  readonly type: EntryType | null;
  readonly name: string;
  readonly version: string;
  readonly changedAt: string;
  /** Empty if it is too long. */
  readonly document: string;
}

// The first visible entry of a name shadows the others, even if none of its versions is shown (reference/catalog).
const NEWEST = `
with ${FRESHNESS},
${rankedBy('(select $rankedSources::int[])')},
names as materialized (
  select distinct on (e.type, e.name) e.id, e.type, e.name, e.claims_changed_at
  from ranked r join entry e on e.source_id = r.source_id
  where ${isVisibleAmongMany('e')}
  order by e.type, e.name, r.rank
),
newest as materialized (
  select v.id, n.type, n.name, greatest(v.updated_at, n.claims_changed_at) as changed_at
  from names n join entry_version v on v.entry_id = n.id and v.is_latest
  where ${hasShownStatus()}
  order by greatest(v.updated_at, n.claims_changed_at) desc, n.type, n.name limit ${MAX_ENTRIES}
)
select freshness."isCurrent", n.type, n.name, v.version, ${utcText('n.changed_at')} as "changedAt",
  case when octet_length(v.document) <= ${MAX_DOCUMENT_BYTES} then v.document else '' end as document
from freshness left join (newest n join entry_version v on v.id = n.id) on true
order by n.changed_at desc, n.type, n.name`;

/**
 * Builds the Atom feed (RFC 4287) of a view: the latest version of each name, newest change first. Links are relative, so
 * they contain no registry key, and callers with equal views get identical bytes.
 */
export async function feedPage(sql: ViewSql, registry: string): Promise<PageBody> {
  const rows = (await sql.query<FeedRow>(NEWEST)).filter(({ type }) => type !== null);
  const entries: string[] = [];
  for (const row of rows) {
    await pauseIfDue();
    entries.push(entryOf(row, registry));
  }
  const parts = [
    '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n',
    `<id>${uuidOf(registry)}</id>\n<title>${xml(`Registry ${registry}`)}</title>\n`,
    `<updated>${rows[0]?.changedAt ?? '1970-01-01T00:00:00.000Z'}</updated>\n`,
    `<author><name>${xml(registry)}</name></author>\n<link rel="self" href="feed.atom"/>\n`,
    ...entries,
    '</feed>\n',
  ];
  return { parts, headers: { 'Content-Type': `${ATOM_TYPE}; charset=utf-8` } };
}

function entryOf({ type, name, version, changedAt, document }: FeedRow, registry: string): string {
  if (type === null) return '';
  const { title, description } = parsed(document);
  const summary = textOf(description);
  const shown = textOf(title);
  const heading = `${shown ? `${shown} (${name})` : name} ${version}`;
  return (
    `<entry>\n<id>${uuidOf(registry, type, name)}</id>\n<title>${xml(heading)}</title>\n` +
    `<updated>${changedAt}</updated>\n<category term="${type}"/>\n<link href="${xml(pathOf(type, name))}"/>\n` +
    `<summary>${xml(summary || name)}</summary>\n</entry>\n`
  );
}

/** Returns the path of the latest version, relative to the feed. */
function pathOf(type: EntryType, name: string): string {
  const { path, isShownBare } = ENTRY_TYPES[type];
  const parts = isShownBare ? name.split('/').map(encodeURIComponent) : [encodeURIComponent(name)];
  return `../v0.1/${path}/${parts.join('/')}/versions/latest`;
}

function parsed(document: string): { readonly title?: unknown; readonly description?: unknown } {
  return document === '' ? {} : (JSON.parse(document) as object);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, MAX_TEXT) : '';
}

/** A name-based UUID, which does not depend on the server's address. */
function uuidOf(...names: readonly string[]): string {
  const hex = createHash('sha256').update(JSON.stringify(names)).digest('hex');
  return `urn:uuid:${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Escapes text for XML, without the characters that XML 1.0 cannot contain. */
function xml(text: string): string {
  return text
    .replaceAll(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, '')
    .replaceAll(/[&<>"]/g, (character) => ESCAPES[character] ?? '');
}
