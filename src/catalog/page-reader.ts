import { Injectable } from '@nestjs/common';
import type { ClientConfig } from '../client-config/client-config.js';
import { PoolSemaphores } from '../database/connection-pool.js';
import { type SearchContext, SearchPool, SearchTimeout } from '../database/search-pool.js';
import { PreparedStatements } from '../database/statements.js';
import type { EntryType } from '../documents/entry-types.js';
import { ApiError } from '../http/errors.js';
import { SemaphoreTimeout } from '../limits/semaphore.js';
import { isStorable } from '../validation/storable-text.js';
import { type SnapshotCheck, ViewSql } from '../visibility/freshness.queries.js';
import { isEmptyView } from '../visibility/view.js';
import {
  clientConfigPage,
  type ConfigPosition,
  ConfigReader,
  type ConfigRequest,
  type PartPage,
} from './client-config-page.js';
import { type EntrySearch, nextSearchCursor } from './entry-search.js';
import { feedPage } from './feed-page.queries.js';
import {
  type ListRequest,
  nextListCursor,
  nextVersionsCursor,
  type VersionsRequest,
} from './list-request.js';
import { readByNames, readList } from './list-strategies.js';
import {
  type FoundVersion,
  isVersion,
  itemBody,
  listBody,
  type PageBody,
  RowsPerName,
  type ShownVersion,
  withinPage,
} from './page-body.js';
import { nothingVisible } from './page.queries.js';
import type { ListPart, ScanResult } from './search-index/entry-scan.js';
import { memberNames } from '../members/members.js';
import { matchedIn } from './search-index/matched-text.js';
import { relevanceOf } from './search-index/relevance.js';
import { readShown, type ShownRow } from './search-index/search-index.queries.js';
import { SearchIndex } from './search-index/search-index.service.js';
import type { SearchWords } from './search-index/search-words.js';
import {
  MAX_LISTED_VERSIONS,
  missingVersion,
  type NamedVersions,
  VersionLoader,
  versionsOfName,
} from './version.queries.js';

/** A request for a page of a list, a name's versions, one version (`latest` or exact), a client's configuration or a feed. */
export type PageRequest =
  | { readonly page: 'list'; readonly type: EntryType; readonly list: ListRequest }
  | {
      readonly page: 'versions';
      readonly type: EntryType;
      readonly name: string;
      readonly versions: VersionsRequest;
    }
  | {
      readonly page: 'version';
      readonly type: EntryType;
      readonly name: string;
      readonly version: string;
      readonly includeDeleted: boolean;
    }
  | { readonly page: 'search'; readonly search: EntrySearch }
  | ({ readonly page: 'client-config' } & ConfigRequest)
  | { readonly page: 'feed'; readonly registry: string };

type ListPage = Extract<PageRequest, { page: 'list' }>;
type VersionsPage = Extract<PageRequest, { page: 'versions' }>;
type VersionPage = Extract<PageRequest, { page: 'version' }>;

/** Maximum size of the facets as JSON: publishers choose the tags. */
const MAX_FACET_BYTES = 8 * 1_024 * 1_024;

const NOTHING: ScanResult = { places: [], facets: '{"type":{},"tag":{},"transport":{}}' };

const OTHER_SEARCHES = 'The server is busy with other searches: try again shortly';

/** Runs a search. Reports if it takes too long or if too many others are waiting. */
async function limited<Result>(mayBeTooBroad: boolean, search: () => Promise<Result>): Promise<Result> {
  try {
    return await search();
  } catch (error) {
    if (error instanceof SemaphoreTimeout) throw new ApiError('overloaded', OTHER_SEARCHES);
    if (error instanceof SearchTimeout)
      throw new ApiError(mayBeTooBroad ? 'search_too_broad' : 'database_timeout');
    throw error;
  }
}

/** Reads pages from the database and builds their bodies. */
@Injectable()
export class PageReader {
  private readonly rowsPerName = new RowsPerName();
  private readonly versionLoader: VersionLoader;
  private readonly configs = new ConfigReader(this.rowsPerName);

  constructor(
    private readonly prepared: PreparedStatements,
    private readonly searches: SearchPool,
    private readonly index: SearchIndex,
    { reads }: PoolSemaphores,
  ) {
    this.versionLoader = new VersionLoader(reads);
  }

  /**
   * Reads a page of `check.view`.
   *
   * @param search caller, deadline and abort signal; set only for searches, which run on separate connections.
   * @throws ApiError 404 `entry_not_found`, `version_not_found`; 503 `overloaded`, `search_too_broad` or
   *   `database_timeout` for a search.
   * @throws LongConfig
   */
  async read(check: SnapshotCheck, request: PageRequest, search?: SearchContext): Promise<PageBody> {
    const sql = new ViewSql(this.prepared, check);
    switch (request.page) {
      case 'client-config':
        return clientConfigPage(sql, request, this.configs);
      case 'feed':
        return feedPage(sql, request.registry);
      case 'list':
        return {
          parts: await (search ? this.searchedList(check, request, search) : this.list(sql, request)),
        };
      case 'search':
        if (!search) throw new Error('A search needs a deadline');
        return { parts: [await limited(true, () => this.search(sql, request.search, search))] };
      case 'versions':
        return { parts: await this.versions(sql, request) };
      case 'version':
        return { parts: await this.version(sql, request) };
    }
  }

  /** Reads a page of a client configuration that is too long to build in memory. */
  configParts(
    check: SnapshotCheck,
    request: ConfigRequest,
    config: ClientConfig,
    after: ConfigPosition | null,
  ): Promise<PartPage> {
    return this.configs.parts(new ViewSql(this.prepared, check), request, config, after);
  }

  /** Searches the latest versions of a view (reference/search). */
  private async search(sql: ViewSql, request: EntrySearch, context: SearchContext): Promise<string> {
    const found =
      (isEmptyView(sql.view) ? undefined : await this.index.search(sql.view, request, context)) ?? NOTHING;
    if (Buffer.byteLength(found.facets) > MAX_FACET_BYTES) throw new ApiError('search_too_broad');
    const shown = found.places.slice(0, request.limit);
    const q = found.corrected?.join(' ') ?? request.filter.q ?? '';
    const words = this.index.wordsOf({ ...request.filter, q });
    if (shown.length > 0) return searchBody(request, found, words, await readShown(sql, shown));
    await nothingVisible(sql);
    return searchBody(request, found, words, []);
  }

  private async list(sql: ViewSql, { type, list }: ListPage): Promise<readonly string[]> {
    return listOf(type, list, await readList(sql, type, list, this.rowsPerName));
  }

  /** Reads a list on the connections for searches. */
  private searchedList(
    check: SnapshotCheck,
    page: ListPage,
    search: SearchContext,
  ): Promise<readonly string[]> {
    const { type, list } = page;
    return limited(Boolean(list.filter.search), () =>
      this.searches.run(search, async (statements) => {
        const sql = new ViewSql(statements, check);
        const find = (part: ListPart) => this.index.list(sql.view, part, search);
        const found = await readByNames(sql, type, list, find, this.rowsPerName);
        return found ? listOf(type, list, found) : this.list(sql, page);
      }),
    );
  }

  private async versions(
    sql: ViewSql,
    { type, name, versions: request }: VersionsPage,
  ): Promise<readonly string[]> {
    const found = isStorable(name) ? await readVersions(sql, { type, name, ...request }) : [];
    if (found.length === 0 && request.after === null) throw new ApiError('entry_not_found');
    const rows = withinPage(found.slice(0, MAX_LISTED_VERSIONS));
    const last = rows.at(-1);
    const hasMore = found.length > rows.length;
    return listBody(type, rows, last && hasMore ? nextVersionsCursor(name, request, last) : undefined);
  }

  private async version(sql: ViewSql, asked: VersionPage): Promise<readonly string[]> {
    const which = asked.version === 'latest' ? 'latest' : 'exact';
    const row = await this.singleVersion(sql, asked, which);
    if (row) return itemBody(asked.type, row);
    const latest = which === 'exact' ? await this.singleVersion(sql, asked, 'latest') : undefined;
    throw new ApiError(missingVersion(which, latest !== undefined));
  }

  private async singleVersion(
    sql: ViewSql,
    { type, name, version, includeDeleted }: VersionPage,
    which: 'latest' | 'exact',
  ): Promise<ShownVersion | undefined> {
    if (!isStorable(name)) return undefined;
    if (isEmptyView(sql.view)) {
      await nothingVisible(sql);
      return undefined;
    }
    const kind = { type, which, includeDeleted };
    if (which === 'latest') return this.versionLoader.load({ sql, kind, name });
    return isStorable(version) ? this.versionLoader.load({ sql, kind, name, version }) : undefined;
  }
}

function listOf(type: EntryType, request: ListRequest, found: readonly FoundVersion[]): readonly string[] {
  const rows = withinPage(found.slice(0, request.limit));
  const last = rows.at(-1);
  const hasMore = found.length > rows.length;
  return listBody(type, rows, last && hasMore ? nextListCursor(type, request, last) : undefined);
}

/** Reads the versions of one name, newest first, from the first source with a visible entry. */
export async function readVersions(sql: ViewSql, asked: NamedVersions): Promise<FoundVersion[]> {
  if (isEmptyView(sql.view)) return nothingVisible(sql);
  return (await versionsOfName(sql, asked)).filter(isVersion);
}

function searchBody(
  request: EntrySearch,
  found: ScanResult,
  words: SearchWords,
  rows: readonly ShownRow[],
): string {
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
      ...(request.details
        ? {
            clients: summary.clients,
            tier: summary.tier,
            stars: summary.stars,
            matched: matchedIn(place.name, summary, memberNames(place.members ?? []), words),
            relevance: relevanceOf(place),
          }
        : {}),
    }),
  );
  const last = shown.at(-1)?.place;
  const { corrected, partial } = found;
  const metadata = {
    count: shown.length,
    ...(last && found.places.at(-1) !== last ? { nextCursor: nextSearchCursor(request, last, found) } : {}),
    ...(corrected ? { corrected } : {}),
    ...(partial ? { partial } : {}),
  };
  return `{"items":[${items.join()}],"facets":${found.facets},"metadata":${JSON.stringify(metadata)}}`;
}
