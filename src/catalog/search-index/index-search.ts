import { ENTRY_TYPE_NAMES, type EntryType } from '../../documents/entry-types.js';
import { type InSteps, stepping } from '../../json/time-slice.js';
import type { EntrySearch } from '../entry-search.js';
import { countBits, forEachBit, hasBit, retain, subtract } from './bit-sets.js';
import { type EntryColumns, IS_INSTALLABLE } from './entry-columns.js';
import { addShown, type EntryIndex, ENTRIES_PER_STEP, type IndexView, isFirst } from './entry-index.js';
import { facetsOf } from './facets.js';
import { listMatch, listWords } from './list-match.js';
import { bytesOf } from './text-table.js';
import { matchWord, nameRank, once, type WordMatch } from './word-match.js';

/** An entry of a page, and what its place depends on. */
export interface FoundPlace {
  readonly type: EntryType;
  readonly name: string;
  readonly partitionId: number;
  readonly rank: number;
  /** Milliseconds since 1970. */
  readonly updated: number;
}

export interface IndexResult {
  /** Up to `limit + 1` entries; one more means that there is a next page. */
  readonly places: readonly FoundPlace[];
  /** How often each value is in the whole result, as JSON: see `SearchFacets`. */
  readonly facets: string;
}

/** Which names of a list with a search text to find next. */
export interface ListPart {
  readonly type: EntryType;
  /** In lower case; see `isListable`. */
  readonly search: string;
  /** The first name may be this one, or the next if `isAfter`; null: from the beginning. */
  readonly name: string | null;
  readonly isAfter: boolean;
  /** Maximum number of names. */
  readonly limit: number;
}

/** Names in order: all that the list shows, and possibly some that it does not. */
export interface ListedNames {
  readonly names: readonly string[];
  /** Whether these are the last names. */
  readonly isLast: boolean;
}

/** Elements of a set per step: to test entries one by one, and to intersect sets. */
const TESTED = ENTRIES_PER_STEP / 32;
const INTERSECTED = 4_096;

/**
 * Finds names of a list with a search text. The index must not change meanwhile.
 *
 * @param goOn throws when the search must end.
 */
export async function listIndex(
  index: EntryIndex,
  { ranks }: IndexView,
  { type, search, name, isAfter, limit }: ListPart,
  goOn: () => void,
): Promise<ListedNames> {
  const inSteps = stepping(goOn);
  const { columns, order } = index;
  const { signatures } = columns;
  const slices = signatures.slicesOf(listWords(search));
  const candidates = new Int32Array(index.elements).fill(-1);
  const restrict = (from: number, to: number) => signatures.restrict(candidates, slices, [from, to]);
  await inSteps(candidates.length, restrict, INTERSECTED);
  const has = listMatch(columns, search);
  const names: string[] = [];
  const start = name === null ? 0 : isAfter ? index.positionAfter({ name, type }) : index.positionFrom(name);
  const typeNumber = ENTRY_TYPE_NAMES.indexOf(type);
  const visit = (position: number) => {
    const number = order[position] ?? 0;
    if (columns.typeNumberOf(number) !== typeNumber || !isFirst(index, ranks, position)) return true;
    if (has(number)) names.push(index.nameAt(position));
    return names.length < limit;
  };
  const end = await inOrder(index, candidates, start, visit, inSteps);
  return { names, isLast: end === index.size };
}

/** A set with a smaller share of the entries is sorted; for a larger one, the order is walked. */
const FEW = 1 / 32;

/**
 * Visits the entries of a set in their order until `visit` returns false.
 *
 * @param start the first position to visit.
 * @returns the position after the last visited entry, or the size of the index.
 */
async function inOrder(
  { order, positions, size }: EntryIndex,
  set: Int32Array,
  start: number,
  visit: (position: number) => boolean,
  inSteps: InSteps,
): Promise<number> {
  let end = size;
  const until = (position: number): boolean => {
    if (visit(position)) return true;
    end = position + 1;
    return false;
  };
  if (countBits(set, [0, set.length]) >= FEW * size) {
    const walk = (from: number, to: number) => {
      for (let position = start + from; position < start + to; position += 1)
        if (hasBit(set, order[position] ?? 0) && !until(position)) return false;
      return true;
    };
    await inSteps(size - start, walk, ENTRIES_PER_STEP);
    return end;
  }
  const found: number[] = [];
  forEachBit(set, [0, set.length], (number) => {
    const position = positions[number] ?? 0;
    if (position >= start && order[position] === number) found.push(position);
  });
  const sorted = Int32Array.from(found).sort();
  const visitSorted = (from: number, to: number) => sorted.subarray(from, to).every(until);
  await inSteps(sorted.length, visitSorted, ENTRIES_PER_STEP / 8);
  return end;
}

/** The rank of an entry without a query, or whose match is none of the better ones. */
const LOWEST_RANK = 3;
/** The rank of an entry whose name or title has every word at the beginning of a word. */
const BEGINS_RANK = 2;

/**
 * Finds a page of a ranked search (contract §6.3). The index must not change meanwhile.
 *
 * @param words of the query, in lower case.
 * @param goOn throws when the search must end.
 */
export async function searchIndex(
  index: EntryIndex,
  view: IndexView,
  request: EntrySearch,
  words: readonly string[],
  goOn: () => void,
): Promise<IndexResult> {
  const inSteps = stepping(goOn);
  const { columns } = index;
  const { signatures } = columns;
  const computed = await computedOf(index, view, inSteps);
  const found = computed.shown.slice();
  const passes = entryFilter(columns, request.filter);
  if (passes === 'none') found.fill(0);
  const slices = signatures.slicesOf(words);
  const restrict = (from: number, to: number) => signatures.restrict(found, slices, [from, to]);
  await inSteps(found.length, restrict, INTERSECTED);
  if (typeof passes === 'function')
    await inSteps(found.length, (from, to) => retain(found, [from, to], passes), TESTED);
  const matches: WordMatch[] = [];
  for (const word of words) {
    const match = matchWord(columns, word);
    matches.push(match);
    const among = await uncertain(index, word, match, inSteps);
    await inSteps(found.length, (from, to) => retain(found, [from, to], match.has, among), TESTED);
  }

  const isEverything = words.length === 0 && passes === 'all';
  const facets = (isEverything && computed.facets) || (await facetsOf(columns, found, inSteps));
  if (isEverything) computed.facets = facets;

  const [word = ''] = words;
  const page = new PagePlaces(index, request, {
    ofName: words.length === 1 ? nameRank(columns, word) : () => undefined,
    begins: (number) => words.length > 0 && matches.every((match) => match.begins(number)),
  });
  const within = (entries: Int32Array, all: readonly number[]) => {
    const set = entries.slice();
    signatures.restrict(set, all, [0, set.length]);
    return set;
  };
  if (request.sort !== 'relevance') {
    await inOrder(index, found, page.start, (position) => page.add(position), inSteps);
    return { places: page.places(), facets };
  }
  if (words.length > 0) {
    // Few entries have one of the better ranks.
    const ranked = within(found, signatures.slicesOfStarts(words));
    if (words.length === 1) {
      const named = within(ranked, signatures.slicesOf([`/${word}`]));
      await inOrder(index, named, 0, (position) => page.addNamed(position), inSteps);
    }
    await inOrder(index, ranked, 0, (position) => page.addRanked(position, BEGINS_RANK), inSteps);
  }
  await inOrder(index, found, page.start, (position) => page.addRanked(position, LOWEST_RANK), inSteps);
  return { places: page.places(), facets };
}

/** Returns a test of entries by number, or `all` or `none` if every entry has the same result. */
function entryFilter(
  columns: EntryColumns,
  { type, installable, publisher, ...kind }: EntrySearch['filter'],
): 'all' | 'none' | ((number: number) => boolean) {
  const { kinds, flags, kindOf } = columns;
  const tag = kind.tag === undefined ? undefined : columns.tags.find(kind.tag);
  const transport = kind.transport === undefined ? undefined : columns.transports.find(kind.transport);
  if (tag === -1 || transport === -1) return 'none';
  const tests: ((number: number) => boolean)[] = [];
  if (type !== undefined) {
    const typeNumber = ENTRY_TYPE_NAMES.indexOf(type);
    tests.push((number) => columns.typeNumberOf(number) === typeNumber);
  }
  if (installable !== undefined)
    tests.push((number) => (((flags[number] ?? 0) & IS_INSTALLABLE) !== 0) === installable);
  if (publisher !== undefined) {
    const beginning = bytesOf(`${publisher}/`);
    tests.push((number) => columns.nameBeginsWith(number, beginning));
  }
  if (tag !== undefined || transport !== undefined) {
    const passes = once(kinds.size, (number) => {
      const reader = kinds.reader(number);
      return reader.groupHas(transport) && reader.groupHas(tag);
    });
    tests.push((number) => passes(kindOf[number] ?? 0));
  }
  const [first, ...others] = tests;
  if (!first) return 'all';
  return others.length === 0 ? first : (number) => tests.every((test) => test(number));
}

/** Returns the entries whose texts must be read to find a word; undefined: of every entry. */
async function uncertain(
  { columns, elements }: EntryIndex,
  word: string,
  { certain }: WordMatch,
  inSteps: InSteps,
): Promise<Int32Array | undefined> {
  if (columns.signatures.isExact(word)) return columns.signatures.withOthers;
  if (certain.length === 0) return undefined;
  const rest = new Int32Array(elements).fill(-1);
  const subtractCertain = (from: number, to: number) => {
    for (const set of certain) subtract(rest, set, [from, to]);
  };
  await inSteps(rest.length, subtractCertain, INTERSECTED);
  return rest;
}

async function computedOf(
  index: EntryIndex,
  view: IndexView,
  inSteps: InSteps,
): Promise<NonNullable<IndexView['computed']>> {
  const { version } = index;
  if (view.computed?.version === version) return view.computed;
  const shown = new Int32Array(index.elements);
  await inSteps(index.size, (from, to) => addShown(index, view.ranks, [from, to], shown), ENTRIES_PER_STEP);
  return (view.computed = { version, shown });
}

/** What the rank of an entry depends on, by its number. */
interface RankTests {
  readonly ofName: (number: number) => 0 | 1 | undefined;
  /** Whether its name or title has every word of the query at the beginning of a word. */
  readonly begins: (number: number) => boolean;
}

interface Placed {
  readonly position: number;
  readonly updated: number;
}

/** Keeps the first entries after the cursor in each order; entries are added in name order, and by relevance also by rank. */
class PagePlaces {
  /** Entries of the lowest rank before this position are not on the page. */
  readonly start: number;
  private readonly size: number;
  private readonly afterPosition: number;
  /** By relevance: the first of each rank. */
  private readonly ofRank: Placed[][] = Array.from({ length: LOWEST_RANK + 1 }, () => []);
  private first: Placed[] = [];

  constructor(
    private readonly index: EntryIndex,
    private readonly request: EntrySearch,
    private readonly tests: RankTests,
  ) {
    const { after, sort, limit } = request;
    this.size = limit + 1;
    this.afterPosition = after ? index.positionAfter(after) : 0;
    const isInOrder = sort === 'name' || (sort === 'relevance' && after?.rank === LOWEST_RANK);
    this.start = isInOrder ? this.afterPosition : 0;
  }

  /** By relevance: adds an entry if its name gives it a rank; returns true. */
  addNamed(position: number): true {
    const rank = this.tests.ofName(this.index.numberAt(position));
    if (rank !== undefined) this.keep(position, rank);
    return true;
  }

  /** By relevance: adds an entry if it has this rank; returns whether further ones of the rank may be on the page. */
  addRanked(position: number, rank: 2 | 3): boolean {
    const better = this.ofRank.slice(0, rank).reduce((sum, { length }) => sum + length, 0);
    const wanted = rank < (this.request.after?.rank ?? 0) ? 0 : this.size - better;
    if ((this.ofRank[rank]?.length ?? 0) >= wanted) return false;
    if (this.rankOf(this.index.numberAt(position)) === rank) this.keep(position, rank);
    return true;
  }

  /** In another order: adds an entry; returns whether further ones may change the page. */
  add(position: number): boolean {
    const { sort, after } = this.request;
    if (sort === 'name') {
      this.first.push({ position, updated: 0 });
      return this.first.length < this.size;
    }
    const isAfterName = position >= this.afterPosition;
    const updated = this.index.updatedAt(position);
    if (after && (updated > after.updated || (updated === after.updated && !isAfterName))) return true;
    const last = this.first.at(-1);
    if (this.first.length >= this.size && last && last.updated >= updated) return true;
    let at = this.first.length;
    while (at > 0 && (this.first[at - 1]?.updated ?? 0) < updated) at -= 1;
    this.first.splice(at, 0, { position, updated });
    if (this.first.length > this.size) this.first.pop();
    return true;
  }

  private keep(position: number, rank: number): void {
    const { after } = this.request;
    const list = this.ofRank[rank];
    if (!list || list.length >= this.size) return;
    if (after && (rank < after.rank || (rank === after.rank && position < this.afterPosition))) return;
    list.push({ position, updated: 0 });
  }

  private rankOf(number: number): number {
    return this.tests.ofName(number) ?? (this.tests.begins(number) ? BEGINS_RANK : LOWEST_RANK);
  }

  places(): FoundPlace[] {
    const found = this.request.sort === 'relevance' ? this.ofRank.flat().slice(0, this.size) : this.first;
    return found.map(({ position }) => ({
      type: this.index.typeAt(position),
      name: this.index.nameAt(position),
      partitionId: this.index.partitionAt(position),
      rank: this.rankOf(this.index.numberAt(position)),
      updated: this.index.updatedAt(position),
    }));
  }
}
