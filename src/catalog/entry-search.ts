import { CLIENTS, ClientConfig, OMITTED } from '../client-config/client-config.js';
import { textMember } from '../client-config/template.js';
import { PUBLISHER_PROVIDED } from '../documents/document-rules.js';
import { type Document, ENTRY_TYPE_NAMES, ENTRY_TYPES, type EntryType } from '../documents/entry-types.js';
import { ApiError } from '../http/errors.js';
import { decodeCursor, encodeCursor } from '../http/lists.js';
import { elements, isObject, member } from '../json/json-values.js';
import { TimeSlice } from '../json/time-slice.js';
import {
  hasShape,
  IsBoolean,
  IsIn,
  IsInt,
  IsOptional,
  Validate,
  ValidateNested,
} from '../validation/class-validation.js';
import { MAX_PAGE, parseTimestamp, storableText } from '../validation/value-checks.js';
import { type EntrySearchQuery, type Sort, SORTS } from './entry-search.dto.js';
import { readList } from './list-strategies.js';
import type { Position } from './list-request.js';
import { type RowsPerName, type VersionRow, withinPage } from './page-body.js';
import type { ViewSql } from './view-sql.queries.js';

const DEFAULT_LIMIT = 30;
/** Number of values in a facet (contract §6.3). */
const FACET_VALUES = 20;
/** Maximum total length of the distinct values of all facets: publishers choose the tags. */
export const MAX_FACET_CHARACTERS = 8 * 1_024 * 1_024;
/** Maximum size of the items on a page with more than one item (contract §3). */
const MAX_PAGE_BYTES = 1_024 * 1_024;
/** Number of versions that a statement reads. */
const VERSIONS_PER_READ = 250;

class EntryFilter {
  @IsOptional() @Validate(storableText) readonly q?: string;
  @IsOptional() @IsIn(ENTRY_TYPE_NAMES) readonly type?: EntryType;
  @IsOptional() @Validate(storableText) readonly tag?: string;
  @IsOptional() @Validate(storableText) readonly transport?: string;
  @IsOptional() @Validate(storableText) readonly publisher?: string;
  @IsOptional() @IsBoolean() readonly installable?: boolean;
}

/** What the order of a result depends on. */
class Place {
  @IsInt(0, 3) readonly rank: number;
  /** Milliseconds since 1970. */
  @IsInt(-1e14, 1e15) readonly updated: number;
  @Validate(storableText) readonly name: string;
  @IsIn(ENTRY_TYPE_NAMES) readonly type: EntryType;
}

class SearchCursor {
  @ValidateNested(() => EntryFilter) readonly filter: EntryFilter;
  @IsIn(SORTS) readonly sort: Sort;
  @IsInt(1, MAX_PAGE) readonly limit: number;
  @ValidateNested(() => Place) readonly after: Place;
}

/** A request for a page of a ranked search; null for the first page. */
export interface EntrySearch {
  readonly filter: EntryFilter;
  readonly sort: Sort;
  readonly limit: number;
  readonly after: Place | null;
}

const LIST = 'search';

/**
 * The cursor carries the query; filters sent along are ignored (contract §6).
 *
 * @throws ApiError 400 `invalid_cursor`.
 */
export function entrySearch(query: EntrySearchQuery): EntrySearch {
  const limit = query.limit ? Number(query.limit) : undefined;
  if (query.cursor) {
    const state = decodeCursor(LIST, query.cursor, hasShape(SearchCursor));
    return { filter: state.filter, sort: state.sort, limit: limit ?? state.limit, after: state.after };
  }
  const q = query.q?.trim().toLowerCase();
  const filter = {
    ...(q ? { q } : {}),
    ...(query.type ? { type: query.type } : {}),
    ...(query.tag ? { tag: query.tag } : {}),
    ...(query.transport ? { transport: query.transport } : {}),
    ...(query.publisher ? { publisher: query.publisher } : {}),
    ...(query.installable ? { installable: query.installable === 'true' } : {}),
  };
  return { filter, sort: query.sort || 'relevance', limit: limit ?? DEFAULT_LIMIT, after: null };
}

/** Returns the words of a query, in lower case. */
export function wordsOf(q = ''): readonly string[] {
  return [...new Set(q.toLowerCase().split(/\s+/u).filter(Boolean))];
}

/** The texts of an entry that a search compares. */
export interface SearchedTexts {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly tags: readonly string[];
}

/**
 * Ranks an entry by relevance (contract §6.3): 0 whole name, 1 last segment of the name, 2 every word at the beginning
 * of a word in name or title, 3 the rest.
 *
 * @returns undefined if a word is in none of the texts.
 */
export function rankOf(q: string | undefined, texts: SearchedTexts): number | undefined {
  const words = wordsOf(q);
  if (words.length === 0) return 3;
  const [name, title, ...others] = [texts.name, texts.title, texts.description, ...texts.tags].map((text) =>
    text.toLowerCase(),
  ) as [string, string, ...string[]];
  const isIn = (word: string) => [name, title, ...others].some((text) => text.includes(word));
  if (!words.every(isIn)) return undefined;
  const whole = q?.trim().toLowerCase();
  if (name === whole) return 0;
  if (name.slice(name.lastIndexOf('/') + 1) === whole) return 1;
  return words.every((word) => beginsWord(name, word) || beginsWord(title, word)) ? 2 : 3;
}

function beginsWord(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1))
    if (!/[\p{L}\p{N}]$/u.test(text.slice(Math.max(0, at - 2), at))) return true;
  return false;
}

/** An item of a page, as JSON. */
interface Found {
  readonly place: Place;
  readonly json: string;
  readonly bytes: number;
}

/** Counts the values of a result, and keeps the first items after a position. */
export class Result {
  private readonly facets = {
    type: new Map<string, number>(),
    tag: new Map<string, number>(),
    transport: new Map<string, number>(),
  };
  private facetCharacters = 0;
  private items: Found[] = [];
  private bytes = 0;
  private hasMore = false;
  private last: Place | undefined;

  constructor(private readonly request: EntrySearch) {}

  count(facet: keyof Result['facets'], values: readonly string[]): void {
    const counts = this.facets[facet];
    for (const value of new Set(values)) {
      const count = counts.get(value) ?? 0;
      if (count === 0) this.facetCharacters += value.length + 16;
      counts.set(value, count + 1);
    }
    if (this.facetCharacters > MAX_FACET_CHARACTERS) throw new ApiError('search_too_broad');
  }

  /** @param json builds the item; called only if it may be on the page. */
  add(place: Place, json: () => string): void {
    const { after } = this.request;
    if (after && this.compare(place, after) <= 0) return;
    if (this.last && this.compare(place, this.last) > 0) {
      this.hasMore = true;
      return;
    }
    const text = json();
    const bytes = Buffer.byteLength(text);
    this.items.push({ place, json: text, bytes });
    this.bytes += bytes;
    if (this.items.length > 2 * this.request.limit || this.bytes > 2 * MAX_PAGE_BYTES) this.prune();
  }

  /** Returns the body of the page. */
  body(): string {
    this.prune();
    const last = this.items.at(-1)?.place;
    const { filter, sort, limit } = this.request;
    const cursor =
      this.hasMore && last ? { nextCursor: encodeCursor(LIST, { filter, sort, limit, after: last }) } : {};
    const facets = Object.fromEntries(
      Object.entries(this.facets).map(([facet, counts]) => [facet, largestOf(counts)]),
    );
    const items = this.items.map(({ json }) => json).join();
    const metadata = { count: this.items.length, ...cursor };
    return `{"items":[${items}],"facets":${JSON.stringify(facets)},"metadata":${JSON.stringify(metadata)}}`;
  }

  private prune(): void {
    this.items.sort((one, other) => this.compare(one.place, other.place));
    let bytes = 0;
    const end = this.items.findIndex((item, index) => {
      bytes += item.bytes + 1;
      return index > 0 && (index >= this.request.limit || bytes > MAX_PAGE_BYTES);
    });
    if (end === -1) return;
    this.items = this.items.slice(0, end);
    this.bytes = this.items.reduce((sum, item) => sum + item.bytes, 0);
    this.hasMore = true;
    this.last = this.items.at(-1)?.place;
  }

  private compare(one: Place, other: Place): number {
    const { sort } = this.request;
    const first =
      sort === 'relevance' ? one.rank - other.rank : sort === 'updated' ? other.updated - one.updated : 0;
    return (
      first ||
      Buffer.compare(Buffer.from(one.name), Buffer.from(other.name)) ||
      ENTRY_TYPE_NAMES.indexOf(one.type) - ENTRY_TYPE_NAMES.indexOf(other.type)
    );
  }
}

function largestOf(counts: ReadonlyMap<string, number>): Record<string, number> {
  const sorted = [...counts].sort(([one, more], [other, less]) => less - more || (one < other ? -1 : 1));
  return Object.fromEntries(sorted.slice(0, FACET_VALUES));
}

/**
 * Searches the latest versions of a view (contract §6.3). Reads all of them, statement by statement, because no index
 * has tags, so the deadline of the search bounds it. Memory use depends only on the page and the facets.
 *
 * @throws ApiError 503 `search_too_broad` if the facets are too large.
 */
export async function entrySearchPage(
  sql: ViewSql,
  request: EntrySearch,
  rowsPerName: RowsPerName,
): Promise<string> {
  const result = new Result(request);
  const slice = new TimeSlice();
  const { type: only } = request.filter;
  for (const type of only ? [only] : ENTRY_TYPE_NAMES)
    for (let after: Position | null = null, isAtEnd = false; !isAtEnd;) {
      const list = { filter: { version: 'latest' }, limit: VERSIONS_PER_READ, after };
      const found = await readList(sql, type, list, rowsPerName);
      const rows = withinPage(found.slice(0, VERSIONS_PER_READ));
      for (const row of rows) {
        await slice.pause();
        addTo(result, request.filter, type, row);
      }
      const last = rows.at(-1);
      isAtEnd = !last || rows.length === found.length;
      // No key sorts below the empty string, so no name is read twice, even if its latest version changes meanwhile.
      after = last ? { name: last.name, key: '' } : null;
    }
  return result.body();
}

function addTo(result: Result, filter: EntryFilter, type: EntryType, row: VersionRow): void {
  const { name, version, status } = row;
  if (filter.publisher !== undefined && name.slice(0, name.indexOf('/')) !== filter.publisher) return;
  const document = JSON.parse(row.document) as Document;
  const title = textMember(document, 'title');
  const description = textMember(document, 'description');
  const tags = [...new Set(ENTRY_TYPES[type].tagsOf(document))];
  const transports = transportsOf(document);
  if (filter.tag !== undefined && !tags.includes(filter.tag)) return;
  if (filter.transport !== undefined && !transports.includes(filter.transport)) return;
  const rank = rankOf(filter.q, { name, title: title ?? '', description: description ?? '', tags });
  if (rank === undefined) return;
  const isInstallable = () => type === 'server' && CONFIGS.some((config) => !(OMITTED in config.of(row)));
  if (filter.installable !== undefined && isInstallable() !== filter.installable) return;
  result.count('type', [type]);
  result.count('tag', tags);
  result.count('transport', transports);
  const updated = ownDate(document) ?? new Date(row.updatedAt);
  result.add({ rank, updated: updated.getTime(), name, type }, () =>
    JSON.stringify({
      type,
      name,
      title,
      description,
      version,
      status,
      tags,
      transports,
      installable: isInstallable(),
      updatedAt: updated.toISOString(),
    }),
  );
}

/** The servers that some client can express are installable. */
const CONFIGS = CLIENTS.map((client) => new ClientConfig(client, 'servers'));

function transportsOf(document: Document): string[] {
  const types = [
    ...elements(document['remotes']).map((remote) => textMember(remote, 'type')),
    ...elements(document['packages']).map((each) => textMember(member(each, 'transport'), 'type')),
  ];
  return [...new Set(types.filter((type) => type !== undefined))];
}

// ToolHive's catalogs write this date into the publisher block, beside the tags.
function ownDate(document: Document): Date | undefined {
  for (const publisher of valuesOf(member(document['_meta'], PUBLISHER_PROVIDED)))
    for (const block of valuesOf(publisher)) {
      const date = parseTimestamp(textMember(member(block, 'metadata'), 'last_updated') ?? '');
      if (date) return date;
    }
  return undefined;
}

function valuesOf(value: unknown): unknown[] {
  return isObject(value) ? Object.values(value) : [];
}
