import type { EntryType } from '../../documents/entry-types.js';
import { TimeSlice } from '../../json/time-slice.js';
import type { EntrySearch } from '../entry-search.js';
import type { EntryCounts, EntryIndex, WordMatch } from './entry-index.js';

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

/** Positions per step: some tenths of a millisecond. */
const STEP = 4_096;

/**
 * Finds names of a list with a search text. The index must not change meanwhile.
 *
 * @param ranks see `searchIndex`.
 * @param goOn throws when the search must end.
 */
export async function listIndex(
  index: EntryIndex,
  ranks: Uint32Array,
  { type, search, name, isAfter, limit }: ListPart,
  goOn: () => void,
): Promise<ListedNames> {
  const slice = new TimeSlice();
  const { mayHave, has } = index.listMatch(search);
  const names: string[] = [];
  let position = name === null ? 0 : isAfter ? index.positionAfter({ name, type }) : index.positionFrom(name);
  const step = (first: number, end: number): number => {
    let at = first;
    for (; at < end && names.length < limit; at += 1)
      if (mayHave(at) && index.isFirst(ranks, at) && index.typeAt(at) === type && has(at))
        names.push(index.nameAt(at));
    return at;
  };
  while (position < index.size && names.length < limit) {
    position = step(position, Math.min(position + STEP, index.size));
    await slice.pause();
    goOn();
  }
  return { names, isLast: position === index.size };
}

/** Values of a facet per step: publishers may choose tags of tens of kilobytes. */
const FACET_STEP = 256;
/** Number of values in a facet (contract §6.3). */
const FACET_VALUES = 20;
/** The rank of an entry without a query, or whose match is none of the better ones. */
const LOWEST_RANK = 3;
/** The rank of an entry whose name or title has every word at the beginning of a word. */
const BEGINS_RANK = 2;

/**
 * Finds a page of a ranked search (contract §6.3). The index must not change meanwhile.
 *
 * @param ranks of the visible partitions, see `EntryIndex.ranksOf`; the lowest comes first.
 * @param words of the query, in lower case.
 * @param goOn throws when the search must end.
 */
export async function searchIndex(
  index: EntryIndex,
  ranks: Uint32Array,
  request: EntrySearch,
  words: readonly string[],
  goOn: () => void,
): Promise<IndexResult> {
  const slice = new TimeSlice();
  const inSteps = async (length: number, step: (from: number, to: number) => void, size = STEP) => {
    for (let from = 0; from < length; from += size) {
      step(from, Math.min(from + size, length));
      await slice.pause();
      goOn();
    }
  };
  const passes = index.filter(request.filter);
  const found = new Int32Array(passes ? index.size : 0);
  let length = 0;
  if (passes) {
    await inSteps(index.size, (from, to) => {
      const visible = index.visible(ranks, [from, to], found, length);
      for (let at = length; at < visible; at += 1) {
        const position = found[at] ?? 0;
        if (passes(position)) found[length++] = position;
      }
    });
  }

  const matches: WordMatch[] = [];
  for (const word of words) {
    const match = index.word(word);
    matches.push(match);
    let kept = 0;
    await inSteps(length, (from, to) => {
      for (let at = from; at < to; at += 1) {
        const position = found[at] ?? 0;
        if (match.has(position)) found[kept++] = position;
      }
    });
    length = kept;
  }

  const [word = ''] = words;
  const nameRank = words.length === 1 ? index.nameRank(word) : () => undefined;
  const counts = index.counters();
  const page = new PagePlaces(index, request, {
    ofName: nameRank,
    begins: (position) => words.length > 0 && matches.every((match) => match.begins(position)),
  });
  await inSteps(length, (from, to) => {
    for (let at = from; at < to; at += 1) {
      const position = found[at] ?? 0;
      index.countAt(position, counts);
      page.add(position);
    }
  });
  await inSteps(counts.kind.length, (from, to) => index.countKinds([from, to], counts), FACET_STEP);
  return { places: page.places(), facets: await facetsOf(index, counts, inSteps) };
}

/** What the rank of an entry depends on. */
interface RankTests {
  readonly ofName: (position: number) => 0 | 1 | undefined;
  /** Whether its name or title has every word of the query at the beginning of a word. */
  readonly begins: (position: number) => boolean;
}

interface Placed {
  readonly position: number;
  readonly updated: number;
}

/** Keeps the first entries after the cursor in each order; entries are added in name order. */
class PagePlaces {
  private readonly size: number;
  private readonly afterPosition: number;
  /** By relevance: the first of each rank. */
  private readonly ofRank: Placed[][] = Array.from({ length: LOWEST_RANK + 1 }, () => []);
  private first: Placed[] = [];
  /** Whether the page depends on whether further entries have rank 2 or 3. */
  private mayBegin = true;

  constructor(
    private readonly index: EntryIndex,
    private readonly request: EntrySearch,
    private readonly tests: RankTests,
  ) {
    this.size = request.limit + 1;
    this.afterPosition = request.after ? index.positionAfter(request.after) : 0;
  }

  add(position: number): void {
    const { sort, after } = this.request;
    if (sort === 'relevance') return this.addRanked(position);
    const isAfterName = position >= this.afterPosition;
    if (sort === 'name') {
      if (isAfterName && this.first.length < this.size) this.first.push({ position, updated: 0 });
      return;
    }
    const updated = this.index.updatedAt(position);
    if (after && (updated > after.updated || (updated === after.updated && !isAfterName))) return;
    const last = this.first.at(-1);
    if (this.first.length >= this.size && last && last.updated >= updated) return;
    let at = this.first.length;
    while (at > 0 && (this.first[at - 1]?.updated ?? 0) < updated) at -= 1;
    this.first.splice(at, 0, { position, updated });
    if (this.first.length > this.size) this.first.pop();
  }

  // Looks for beginnings of words only while they matter: most matches come after the page.
  private addRanked(position: number): void {
    const rank = this.tests.ofName(position) ?? (this.mayBegin ? this.rankOf(position) : LOWEST_RANK);
    const { after } = this.request;
    const list = this.ofRank[rank];
    if (!list || list.length >= this.size) return;
    if (after && (rank < after.rank || (rank === after.rank && position < this.afterPosition))) return;
    list.push({ position, updated: 0 });
    if (list.length === this.size && rank === Math.max(BEGINS_RANK, after?.rank ?? 0)) this.mayBegin = false;
  }

  private rankOf(position: number): number {
    return this.tests.ofName(position) ?? (this.tests.begins(position) ? BEGINS_RANK : LOWEST_RANK);
  }

  places(): FoundPlace[] {
    const found = this.request.sort === 'relevance' ? this.ofRank.flat().slice(0, this.size) : this.first;
    return found.map(({ position }) => ({
      type: this.index.typeAt(position),
      name: this.index.nameAt(position),
      partitionId: this.index.partitionAt(position),
      rank: this.rankOf(position),
      updated: this.index.updatedAt(position),
    }));
  }
}

type InSteps = (length: number, step: (from: number, to: number) => void, size?: number) => Promise<void>;

async function facetsOf(index: EntryIndex, counts: EntryCounts, inSteps: InSteps): Promise<string> {
  const texts = index.countedTexts;
  const facet = async (name: keyof typeof texts) =>
    `"${name}":${await facetOf(counts[name], texts[name], inSteps)}`;
  return `{${await facet('type')},${await facet('tag')},${await facet('transport')}}`;
}

interface Counted {
  readonly text: string;
  readonly bytes: Buffer;
  readonly count: number;
}

// Publishers choose the tags: there may be a million with the same count.
async function facetOf(
  counts: Uint32Array,
  text: (number: number) => string,
  inSteps: InSteps,
): Promise<string> {
  const largest: Counted[] = [];
  const add = (count: number, value: string) => {
    const last = largest.length === FACET_VALUES ? largest.at(-1) : undefined;
    const counted = { count, text: value, bytes: Buffer.from(value) };
    if (last && !comesBefore(counted, last)) return;
    const at = largest.findIndex((other) => comesBefore(counted, other));
    largest.splice(at < 0 ? largest.length : at, 0, counted);
    if (largest.length > FACET_VALUES) largest.pop();
  };
  const step = (from: number, to: number) => {
    for (let number = from; number < to; number += 1) {
      const count = counts[number] ?? 0;
      const least = largest.length === FACET_VALUES ? (largest.at(-1)?.count ?? 1) : 1;
      if (count >= least) add(count, text(number));
    }
  };
  await inSteps(counts.length, step, FACET_STEP);
  return `{${largest.map(({ text: value, count }) => `${JSON.stringify(value)}:${count}`).join()}}`;
}

/** The order of a facet: by count, then bytewise. */
function comesBefore(one: Counted, other: Counted): boolean {
  if (one.count !== other.count) return one.count > other.count;
  return Buffer.compare(one.bytes, other.bytes) < 0;
}
