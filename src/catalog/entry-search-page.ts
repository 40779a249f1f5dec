import { setTimeout as pause } from 'node:timers/promises';
import type { EntrySummaries } from '../entries/entry-summaries.queries.js';
import { ApiError } from '../http/errors.js';
import { type EntrySearch, nextSearchCursor, wordsOf } from './entry-search.js';
import { type SearchResultRow, searchSummaries } from './entry-search.queries.js';
import type { ViewSql } from './view-sql.queries.js';

/** Maximum number of changed entries that a search prepares before it looks again. */
const MAX_PREPARED = 1_000;
/** How long a search waits for entries that are being prepared elsewhere before it looks again. */
const RETRY_MS = 50;

/**
 * Searches the latest versions of a view (contract §6.3). Entries that changed since the last search are prepared first.
 *
 * @throws ApiError 503 `search_too_broad` if the facets are too large.
 */
export async function entrySearchPage(
  sql: ViewSql,
  request: EntrySearch,
  summaries: EntrySummaries,
): Promise<string> {
  const words = wordsOf(request.filter.q);
  for (;;) {
    const rows = await searchSummaries(sql, request, words);
    const outdated = rows[0]?.outdated;
    if (!outdated) return pageOf(request, rows);
    for (let written = 0; written < MAX_PREPARED;) {
      const more = await summaries.write(outdated);
      written += more;
      if (more > 0) continue;
      if (written === 0) await pause(RETRY_MS);
      break;
    }
  }
}

function pageOf(request: EntrySearch, rows: readonly SearchResultRow[]): string {
  const [first] = rows;
  if (!first || first.facets === null) throw new ApiError('search_too_broad');
  const found = rows.flatMap((row) => (row.name === null ? [] : [{ ...row, name: row.name }]));
  const items = found.map(({ type, name, title, description, version, status, ...others }) =>
    JSON.stringify({
      type,
      name,
      title: title ?? undefined,
      description: description ?? undefined,
      version,
      status,
      tags: others.tags,
      transports: others.transports,
      installable: others.installable,
      updatedAt: others.updatedAt,
    }),
  );
  const last = found.at(-1);
  const cursor = last && first.hasMore ? { nextCursor: nextSearchCursor(request, last) } : {};
  const metadata = { count: found.length, ...cursor };
  return `{"items":[${items.join()}],"facets":${first.facets},"metadata":${JSON.stringify(metadata)}}`;
}
