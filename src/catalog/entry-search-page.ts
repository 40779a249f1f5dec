import { setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { SearchContext } from '../database/search-pool.js';
import { EntrySummaries } from '../entries/entry-summaries.queries.js';
import { ApiError } from '../http/errors.js';
import { type EntrySearch, nextSearchCursor, wordsOf } from './entry-search.js';
import type { IndexResult } from './search-index/index-search.js';
import { nothingVisible } from './page.queries.js';
import { readShown, type SummaryRow } from './search-index/search-index.queries.js';
import { BEING_PREPARED, SearchIndex } from './search-index/search-index.service.js';
import { isEmptyView } from '../visibility/view-cache.js';
import type { ViewSql } from './view-sql.queries.js';

/** Maximum number of changed entries that a search prepares before it looks again. */
const MAX_PREPARED = 1_000;
/** How long a search waits for entries that are being prepared elsewhere before it looks again. */
const RETRY_MS = 50;
/** Maximum size of the facets as JSON: publishers choose the tags. */
const MAX_FACET_BYTES = 8 * 1_024 * 1_024;

const NOTHING: IndexResult = { places: [], facets: '{"type":{},"tag":{},"transport":{}}' };

/** Searches the latest versions of a view (contract §6.3). Entries that changed since the last search are prepared first. */
@Injectable()
export class EntrySearchPages {
  constructor(
    private readonly index: SearchIndex,
    private readonly summaries: EntrySummaries,
  ) {}

  /** @throws ApiError 503 `search_too_broad` if the facets are too large or entries are not prepared in time; errors of `SearchIndex.search`. */
  async page(sql: ViewSql, request: EntrySearch, context: SearchContext): Promise<string> {
    if (isEmptyView(sql.view)) {
      await nothingVisible(sql);
      return pageOf(request, NOTHING, []);
    }
    const words = wordsOf(request.filter.q);
    for (;;) {
      const found = await this.index.search(sql, request, words, context);
      if ('places' in found) {
        if (Buffer.byteLength(found.facets) > MAX_FACET_BYTES) throw new ApiError('search_too_broad');
        const shown = found.places.slice(0, request.limit);
        return pageOf(
          request,
          found,
          shown.length > 0 ? await readShown(sql, shown, request.dates === true) : [],
        );
      }
      await this.prepare(found.outdated, context);
      if (performance.now() > context.deadline) throw new ApiError('search_too_broad', BEING_PREPARED);
    }
  }

  private async prepare(partitions: readonly number[], { signal }: SearchContext): Promise<void> {
    for (let written = 0; written < MAX_PREPARED;) {
      signal.throwIfAborted();
      const more = await this.summaries.write(partitions);
      written += more;
      if (more > 0) continue;
      if (written === 0) await pause(RETRY_MS);
      return;
    }
  }
}

function pageOf(request: EntrySearch, { places, facets }: IndexResult, rows: readonly SummaryRow[]): string {
  const found = rows.flatMap(({ place, ...row }) => {
    const item = place === null ? undefined : places[place - 1];
    return item ? [{ ...item, ...row }] : [];
  });
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
      statedAt: others.statedAt ?? undefined,
      publishedAt: others.publishedAt ?? undefined,
    }),
  );
  const last = found.at(-1);
  const cursor = last && places.length > found.length ? { nextCursor: nextSearchCursor(request, last) } : {};
  const metadata = { count: found.length, ...cursor };
  return `{"items":[${items.join()}],"facets":${facets},"metadata":${JSON.stringify(metadata)}}`;
}
