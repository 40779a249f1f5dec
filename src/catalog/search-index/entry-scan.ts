import type { EntryType } from '../../documents/entry-types.js';
import { type InSteps, stepping } from '../../limits/time-slice.js';
import { hasToken } from '../../members/members.js';
import { sourcesOf, type View, type VisibleSource } from '../../visibility/view.js';
import type { EntrySearch, Place } from '../entry-search.js';
import { type IndexedEntry, type Kind, mayBeListed } from './indexed-entry.js';
import { comparePlaces, Matcher, NO_MATCH, rankOf, type Tolerance } from './relevance.js';
import type { SearchWords } from './search-words.js';

/** Entries per step, about 0.1 ms. */
const STEP = 128;
/** Number of values in a facet (reference/search). */
const FACET_VALUES = 20;
/** Sorts entries without a known date last. */
const NO_DATE = -1e14;

/** An entry in a result. */
export interface FoundPlace extends Place {
  readonly sourceId: number;
  /** Tokens of the members of its content; absent for servers. */
  readonly members?: readonly string[] | null;
}

export interface ScanResult {
  /** One more entry than the page size, if there are that many. */
  readonly places: readonly FoundPlace[];
  /** JSON: see `SearchFacets`. */
  readonly facets: string;
  /** The corrected words, if any were corrected. */
  readonly corrected?: readonly string[];
  /** Set if the entries lack words of the query. */
  readonly partial?: true;
}

/** Decides which entries of an index a view contains. */
export class Sight {
  private readonly ranks: ReadonlyMap<number, number>;
  private readonly claimSets: readonly (ReadonlySet<number> | null)[];

  constructor(view: View) {
    this.ranks = new Map(sourcesOf(view).map((id, rank) => [id, rank]));
    this.claimSets = view.seesAll ? view.sourceIds.map(() => null) : view.visible.map(claimSetsOf);
  }

  /** Returns the position of the entry's source in the registry; undefined if the view does not contain the entry. */
  rankOf({ sourceId, claimSetId }: IndexedEntry): number | undefined {
    const rank = this.ranks.get(sourceId);
    if (rank === undefined) return undefined;
    const claimSets = this.claimSets[rank];
    return claimSets === null || claimSets?.has(claimSetId) ? rank : undefined;
  }

  /** Whether a visible entry is not shadowed by a visible entry of an earlier source (reference/catalog). */
  isFirst(entries: readonly IndexedEntry[], at: number, rank: number): boolean {
    return !this.isShadowed(entries, at, rank, -1) && !this.isShadowed(entries, at, rank, 1);
  }

  private isShadowed(entries: readonly IndexedEntry[], at: number, rank: number, step: number): boolean {
    const entry = entries[at];
    for (let next = at + step; ; next += step) {
      const other = entries[next];
      if (!other || other.name !== entry?.name || other.type !== entry.type) return false;
      if ((this.rankOf(other) ?? Infinity) < rank) return true;
    }
  }
}

const claimSets = new WeakMap<VisibleSource, ReadonlySet<number>>();

function claimSetsOf(source: VisibleSource): ReadonlySet<number> {
  const known = claimSets.get(source) ?? new Set(source.claimSetIds);
  claimSets.set(source, known);
  return known;
}

/**
 * Finds the entries that match a search. If there are none, searches again with corrected words, and then, if
 * requested, for entries with some of the words.
 *
 * @param entries in the order of `compareEntries`.
 * @param goOn throws when the search must end.
 */
export async function scanEntries(
  entries: readonly IndexedEntry[],
  sight: Sight,
  request: EntrySearch,
  words: SearchWords,
  goOn: () => void,
): Promise<ScanResult> {
  const inSteps = stepping(goOn);
  for (const tolerance of tolerancesOf(request, words)) {
    const scan = new Scan(entries, sight, request, words, tolerance);
    await scan.run(inSteps);
    if (scan.hasFound) return scan.result(inSteps);
  }
  return new Scan(entries, sight, request, words, EXACT).result(inSteps);
}

const EXACT: Tolerance = { corrects: false, isPartial: false };

/** Returns how to search, strictest first. A further page searches like the first. */
function tolerancesOf(request: EntrySearch, { words }: SearchWords): readonly Tolerance[] {
  const { after, isCorrected: corrects = false, isPartial = false, filter } = request;
  if (after) return [{ corrects, isPartial }];
  const all = words.length === 0 ? [EXACT] : [EXACT, { ...EXACT, corrects: true }];
  if (filter.partial === undefined || words.length < 2) return all;
  return [...all, ...all.map((each) => ({ ...each, isPartial: true }))];
}

class Scan {
  private readonly first: FoundPlace[] = [];
  private readonly types = new Map<string, number>();
  private readonly kinds = new Map<Kind, number>();
  /** How often each correction was found, for each word. */
  private readonly corrections: readonly Map<string, number>[];
  private readonly matcher: Matcher;

  constructor(
    private readonly entries: readonly IndexedEntry[],
    private readonly sight: Sight,
    private readonly request: EntrySearch,
    private readonly words: SearchWords,
    private readonly tolerance: Tolerance,
  ) {
    this.matcher = new Matcher(words, tolerance);
    this.corrections = words.words.map(() => new Map());
  }

  get hasFound(): boolean {
    return this.kinds.size > 0;
  }

  async run(inSteps: InSteps): Promise<void> {
    const { q } = this.request.filter;
    if (q !== undefined && this.words.isEmpty) return;
    const step = (from: number, to: number) => {
      for (let at = from; at < to; at += 1) this.consider(at);
    };
    await inSteps(this.entries.length, step, STEP);
  }

  async result(inSteps: InSteps): Promise<ScanResult> {
    const counts = { tags: new Map<string, number>(), transports: new Map<string, number>() };
    const kinds = [...this.kinds];
    await inSteps(
      kinds.length,
      (from, to) => {
        for (const [kind, count] of kinds.slice(from, to))
          for (const of of ['tags', 'transports'] as const)
            for (const value of kind[of]) counts[of].set(value, (counts[of].get(value) ?? 0) + count);
      },
      STEP,
    );
    const tag = await facetOf(counts.tags, inSteps);
    const transport = await facetOf(counts.transports, inSteps);
    const type = await facetOf(this.types, inSteps);
    const corrected = this.corrected();
    return {
      places: this.first,
      facets: `{"type":${type},"tag":${tag},"transport":${transport}}`,
      ...(corrected ? { corrected } : {}),
      ...(this.tolerance.isPartial ? { partial: true } : {}),
    };
  }

  private consider(at: number): void {
    const entry = this.entries[at];
    if (!entry?.isShown) return;
    const rank = this.sight.rankOf(entry);
    if (rank === undefined || !this.passes(entry)) return;
    const relevance = this.matcher.match(entry);
    if (relevance === NO_MATCH || !this.sight.isFirst(this.entries, at, rank)) return;
    this.types.set(entry.type, (this.types.get(entry.type) ?? 0) + 1);
    this.kinds.set(entry.kind, (this.kinds.get(entry.kind) ?? 0) + 1);
    if (this.tolerance.corrects)
      for (const [at, word] of this.matcher.corrected.entries()) {
        const counts = this.corrections[at];
        if (word !== undefined) counts?.set(word, (counts.get(word) ?? 0) + 1);
      }
    this.keep(entry, rankOf(entry, relevance, rank));
  }

  private passes({ type: own, kind, members, name, isInstallable, dated: date }: IndexedEntry): boolean {
    const { type, tag, transport, publisher, contains, installable, dated } = this.request.filter;
    return (
      (dated === undefined || date !== undefined) &&
      (type === undefined || own === type) &&
      (installable === undefined || isInstallable === installable) &&
      (publisher === undefined || (name.startsWith(publisher) && name[publisher.length] === '/')) &&
      // Servers are found by their packages and remotes only on request.
      (contains === undefined || (hasToken(members, contains) && (own !== 'server' || type === own))) &&
      (tag === undefined || kind.tags.includes(tag)) &&
      (transport === undefined || kind.transports.includes(transport))
    );
  }

  /** Keeps an entry if it belongs on the page after the cursor. */
  private keep(entry: IndexedEntry, rank: number): void {
    const { first } = this;
    const { after, limit, sort } = this.request;
    const { type, name, sourceId } = entry;
    const updated = sort === 'dated' ? (entry.dated ?? NO_DATE) : entry.updated;
    const members = type === 'server' ? null : entry.members;
    const place = { type, name, sourceId, rank, updated, members };
    if (after && comparePlaces(place, after, sort) <= 0) return;
    const last = first[limit];
    if (last && comparePlaces(place, last, sort) >= 0) return;
    first.splice(
      countWhile(first, (other) => comparePlaces(other, place, sort) < 0),
      0,
      place,
    );
    if (first.length > limit + 1) first.pop();
  }

  private corrected(): readonly string[] | undefined {
    const { words } = this.words;
    if (!this.corrections.some(({ size }) => size > 0)) return undefined;
    return words.map(({ forms: [typed] }, at) => {
      const [mostFrequent] = [...(this.corrections[at] ?? [])].sort(byCount);
      return mostFrequent?.[0] ?? typed.text;
    });
  }
}

function byCount(
  [one, count]: readonly [string, number],
  [other, otherCount]: readonly [string, number],
): number {
  if (count !== otherCount) return otherCount - count;
  return one < other ? -1 : 1;
}

// Publishers choose the tags, so there may be a million.
async function facetOf(counts: ReadonlyMap<string, number>, inSteps: InSteps): Promise<string> {
  const all = [...counts];
  let largest: (readonly [string, number])[] = [];
  const step = (from: number, to: number) => {
    largest = [...largest, ...all.slice(from, to)].sort(byCount).slice(0, FACET_VALUES);
  };
  await inSteps(all.length, step, STEP);
  return `{${largest.map(([value, count]) => `${JSON.stringify(value)}:${count}`).join()}}`;
}

/** A range of the names in a list with a search text. */
export interface ListPart {
  readonly type: EntryType;
  /** The search text in lower case. */
  readonly search: string;
  /** Name at which the range begins; null for the first. */
  readonly name: string | null;
  /** Whether the range excludes `name` itself. */
  readonly isAfter: boolean;
  readonly limit: number;
}

export interface ListedNames {
  /** In order. */
  readonly names: readonly string[];
  /** Whether no names follow. */
  readonly isLast: boolean;
}

/** Finds the names that a list with a search text may show. Has the same parameters as `scanEntries`. */
export async function scanNames(
  entries: readonly IndexedEntry[],
  sight: Sight,
  { type, search, name, isAfter, limit }: ListPart,
  goOn: () => void,
): Promise<ListedNames> {
  const names: string[] = [];
  const start =
    name === null ? 0 : countWhile(entries, (other) => other.name < name || (isAfter && other.name === name));
  const step = (from: number, to: number) => {
    for (let at = start + from; at < start + to; at += 1) {
      const entry = entries[at];
      if (entry?.type !== type || !mayBeListed(entry, search)) continue;
      const rank = sight.rankOf(entry);
      if (rank !== undefined && sight.isFirst(entries, at, rank)) names.push(entry.name);
    }
    return names.length <= limit;
  };
  await stepping(goOn)(entries.length - start, step, STEP);
  return { names: names.slice(0, limit), isLast: names.length <= limit };
}

/** Returns how many items of an ordered list come before a position, of which at least `from` do. */
export function countWhile<Item>(
  items: readonly Item[],
  precedes: (item: Item) => boolean,
  from = 0,
): number {
  let [low, high] = [from, items.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const item = items[middle];
    if (item !== undefined && precedes(item)) low = middle + 1;
    else high = middle;
  }
  return low;
}
