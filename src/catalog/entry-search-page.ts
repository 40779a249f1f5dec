import { Injectable } from '@nestjs/common';
import type { SearchContext } from '../database/search-pool.js';
import { ApiError } from '../http/errors.js';
import type { ViewSql } from '../visibility/freshness.queries.js';
import { type EntrySearch, nextSearchCursor } from './entry-search.js';
import { nothingVisible } from './page.queries.js';
import type { ScanResult } from './search-index/entry-scan.js';
import { readShown, type ShownRow } from './search-index/search-index.queries.js';
import { SearchIndex } from './search-index/search-index.service.js';
import { isEmptyView } from '../visibility/view.js';

/** Maximum size of the facets as JSON: publishers choose the tags. */
const MAX_FACET_BYTES = 8 * 1_024 * 1_024;

const NOTHING: ScanResult = { places: [], facets: '{"type":{},"tag":{},"transport":{}}' };

/** Searches the latest versions of a view (reference/search). */
@Injectable()
export class EntrySearchPages {
  constructor(private readonly index: SearchIndex) {}

  /** @throws ApiError 503 `search_too_broad` if the facets are too large; errors of `SearchIndex.search`. */
  async page(sql: ViewSql, request: EntrySearch, context: SearchContext): Promise<string> {
    const found =
      (isEmptyView(sql.view) ? undefined : await this.index.search(sql.view, request, context)) ?? NOTHING;
    if (Buffer.byteLength(found.facets) > MAX_FACET_BYTES) throw new ApiError('search_too_broad');
    const shown = found.places.slice(0, request.limit);
    if (shown.length > 0) return pageOf(request, found, await readShown(sql, shown));
    await nothingVisible(sql);
    return pageOf(request, found, []);
  }
}

function pageOf(request: EntrySearch, found: ScanResult, rows: readonly ShownRow[]): string {
  const shown = rows.flatMap((row) => {
    const place = row.place === null ? undefined : found.places[row.place - 1];
    return place ? [{ ...row, place }] : [];
  });
  const items = shown.map(({ place, version, status, summary, changedAt, publishedAt }) =>
    JSON.stringify({
      type: place.type,
      name: place.name,
      title: summary.title,
      description: summary.description,
      version,
      status,
      tags: summary.tags,
      transports: summary.transports,
      installable: summary.installable,
      updatedAt: summary.updated ?? changedAt,
      ...(request.dates ? { statedAt: summary.updated, publishedAt: publishedAt ?? undefined } : {}),
    }),
  );
  const last = shown.at(-1)?.place;
  const { corrected } = found;
  const metadata = {
    count: shown.length,
    ...(last && found.places.at(-1) !== last ? { nextCursor: nextSearchCursor(request, last, found) } : {}),
    ...(corrected ? { corrected } : {}),
  };
  return `{"items":[${items.join()}],"facets":${found.facets},"metadata":${JSON.stringify(metadata)}}`;
}
