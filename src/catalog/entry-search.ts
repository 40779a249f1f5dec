import { Type } from 'class-transformer';
import { IsBoolean, IsDefined, IsIn, IsInt, IsOptional, Max, Min, ValidateNested } from 'class-validator';
import { ENTRY_TYPE_NAMES, type EntryType } from '../documents/entry-types.js';
import { ApiError } from '../http/errors.js';
import { decodeCursor, encodeCursor } from '../http/lists.js';
import { searchedToken, TOKEN_KINDS } from '../members/members.js';
import { hasShape } from '../validation/class-validation.js';
import { IsStorable } from '../validation/decorators.js';
import { MAX_PAGE } from '../validation/value-checks.js';
import { searchWords } from './search-index/search-words.js';
import { type EntrySearchQuery, type Sort, SORTS } from './entry-search.dto.js';

const DEFAULT_LIMIT = 30;
const MAX_WORDS = 20;
const NO_SYNONYMS = new Map();

class EntryFilter {
  @IsOptional() @IsStorable() readonly q?: string;
  @IsOptional() @IsIn(ENTRY_TYPE_NAMES) readonly type?: EntryType;
  @IsOptional() @IsStorable() readonly tag?: string;
  @IsOptional() @IsStorable() readonly transport?: string;
  @IsOptional() @IsStorable() readonly publisher?: string;
  /** See `searchedToken`. */
  @IsOptional() @IsStorable() readonly contains?: string;
  @IsOptional() @IsBoolean() readonly installable?: boolean;
  @IsOptional() @IsIn([true]) readonly dated?: true;
  @IsOptional() @IsIn([true]) readonly partial?: true;
}

/** The properties that determine the order of a result. */
export class Place {
  /** Sort key by relevance; lower comes first. */
  @IsInt() @Min(0) @Max(Number.MAX_SAFE_INTEGER) readonly rank: number;
  /** The date to sort by, in milliseconds since 1970. */
  @IsInt() @Min(-1e14) @Max(1e15) readonly updated: number;
  @IsStorable() readonly name: string;
  @IsIn(ENTRY_TYPE_NAMES) readonly type: EntryType;
}

class SearchCursor {
  @IsDefined() @ValidateNested() @Type(() => EntryFilter) readonly filter: EntryFilter;
  @IsIn(SORTS) readonly sort: Sort;
  @IsInt() @Min(1) @Max(MAX_PAGE) readonly limit: number;
  @IsDefined() @ValidateNested() @Type(() => Place) readonly after: Place;
  @IsOptional() @IsBoolean() readonly isCorrected?: boolean;
  @IsOptional() @IsBoolean() readonly isPartial?: boolean;
}

/** A request for a page of a ranked search; null for the first page. */
export interface EntrySearch {
  readonly filter: EntryFilter;
  readonly sort: Sort;
  readonly limit: number;
  /** Whether items include the known dates. */
  readonly dates?: true;
  /** Whether items include the further details that the web UI shows. */
  readonly details?: true;
  /** Whether earlier pages used corrected words, or entries without some of the words. */
  readonly isCorrected?: boolean;
  readonly isPartial?: boolean;
  readonly after: Place | null;
}

const LIST = 'search';

/**
 * The cursor contains the query; filters sent with it are ignored (reference/catalog).
 *
 * @throws ApiError 400 `invalid_cursor`, `invalid_parameter`.
 */
export function entrySearch(query: EntrySearchQuery): EntrySearch {
  const limit = query.limit ? Number(query.limit) : undefined;
  const shown = {
    ...(query.dates === 'true' ? ({ dates: true } as const) : {}),
    ...(query.details === 'true' ? ({ details: true } as const) : {}),
  };
  if (query.cursor) {
    const state = decodeCursor(LIST, query.cursor, hasShape(SearchCursor));
    if (hasTooManyWords(state.filter.q)) throw new ApiError('invalid_cursor');
    return {
      filter: state.filter,
      sort: state.sort,
      limit: limit ?? state.limit,
      ...shown,
      after: state.after,
      isCorrected: state.isCorrected === true,
      isPartial: state.isPartial === true,
    };
  }
  const q = query.q?.trim();
  if (hasTooManyWords(q))
    throw new ApiError('invalid_parameter', `q: must have at most ${MAX_WORDS} different words`);
  const contains = query.contains ? searchedToken(query.contains) : undefined;
  if (contains === null)
    throw new ApiError('invalid_parameter', `contains: must begin with ${TOKEN_KINDS.join(', ')}`);
  const filter = {
    ...(q ? { q } : {}),
    ...(query.type ? { type: query.type } : {}),
    ...(query.tag ? { tag: query.tag } : {}),
    ...(query.transport ? { transport: query.transport } : {}),
    ...(query.publisher ? { publisher: query.publisher } : {}),
    ...(contains === undefined ? {} : { contains }),
    ...(query.installable ? { installable: query.installable === 'true' } : {}),
    ...(query.dated === 'true' ? { dated: true as const } : {}),
    ...(query.partial === 'true' ? { partial: true as const } : {}),
  };
  return { filter, sort: query.sort || 'relevance', limit: limit ?? DEFAULT_LIMIT, ...shown, after: null };
}

/** Returns the cursor for the page after this entry, with the same query. */
export function nextSearchCursor(
  { filter, sort, limit }: EntrySearch,
  { rank, updated, name, type }: Place,
  { corrected, partial }: { readonly corrected?: readonly string[]; readonly partial?: true },
): string {
  const how = { ...(corrected ? { isCorrected: true } : {}), ...(partial ? { isPartial: true } : {}) };
  return encodeCursor(LIST, { filter, sort, limit, after: { rank, updated, name, type }, ...how });
}

// A search looks for each word in every visible entry.
function hasTooManyWords(q = ''): boolean {
  const { words, names } = searchWords(q, NO_SYNONYMS);
  return words.length + names.length > MAX_WORDS;
}
