import type { EntrySearch, Place } from '../entry-search.js';
import { compareNames, type IndexedEntry, type Kind } from './indexed-entry.js';
import {
  ABSENT,
  BEGINS,
  findForm,
  findSplit,
  isQuery,
  MIN_INSIDE,
  type SearchWords,
  WHOLE,
  type Word,
} from './search-words.js';
import { findCorrected } from './spelling.js';

/** Tiers of relevance (reference/search). */
const TIER = { name: 0, segment: 1, head: 2, marked: 3, rest: 4 } as const;
const TIERS = Object.keys(TIER).length;
export const NO_MATCH = -1;
/** Number of possible distances, which count the words that are found only in the topics, or are minor and absent. */
const DISTANCES = 4;
/** Number of possible occurrences. */
const OCCURRENCES = 4;
/** More sources than a registry can have. */
const MAX_SOURCES = 2 ** 24;
const SECTIONS = { head: 0, others: 1, rest: 2 } as const;

/** How entries may differ from a query. */
export interface Tolerance {
  /** Words also match with one letter wrong. */
  readonly corrects: boolean;
  /** Whether one word of MIN_INSIDE letters is enough for a match. */
  readonly isPartial: boolean;
}

/** Compares entries with a query. */
export class Matcher {
  /** The corrected words of the last entry that matched, if `corrects` is set; undefined for words found as typed. */
  readonly corrected: (string | undefined)[] = [];
  private entry: IndexedEntry | undefined;
  /** The best occurrence of a word in each section. */
  private readonly best: [head: number, others: number, rest: number] = [ABSENT, ABSENT, ABSENT];
  private word: string | undefined;
  /** How each word occurs in the tags and tools of a kind, which entries share. */
  private readonly others: Map<Kind, number>[] = [];

  constructor(
    private readonly search: SearchWords,
    private readonly tolerance: Tolerance,
  ) {}

  /**
   * Returns the relevance of an entry, or NO_MATCH. Lower is better: ((weight of missing words × `TIERS` + tier) ×
   * `DISTANCES` + distance) × `OCCURRENCES` + the worst occurrence of a word.
   */
  match(entry: IndexedEntry): number {
    const { words, names, name, isEmpty } = this.search;
    if (isEmpty) return 0;
    const { text } = entry;
    for (const each of names) if (!text.startsWith(each)) return NO_MATCH;
    this.entry = entry;
    let tier: number = words.length === 0 ? TIER.rest : TIER.head;
    let head: number = WHOLE;
    let marked: number = WHOLE;
    let rest: number = WHOLE;
    let missing = 0;
    let longest = 0;
    let distance = 0;
    for (let at = 0; at < words.length; at += 1) {
      const word = words[at];
      if (!word) continue;
      const best = this.find(at, word);
      const { length } = word.forms[0].text;
      if (best[SECTIONS.head] === ABSENT && this.isTopic(word)) {
        if (this.isAbsent) distance += 1;
        best[SECTIONS.head] = BEGINS;
      }
      if (word.isMinor) {
        if (this.isAbsent) distance += 1;
        continue;
      }
      if (this.isAbsent) {
        if (!this.tolerance.isPartial) return NO_MATCH;
        missing += word.weight;
        continue;
      }
      longest = Math.max(longest, length);
      head = Math.max(head, best[SECTIONS.head]);
      const withOthers = Math.min(best[SECTIONS.head], best[SECTIONS.others]);
      marked = Math.max(marked, withOthers);
      rest = Math.max(rest, Math.min(withOthers, best[SECTIONS.rest]));
    }
    if (missing > 0 && longest < MIN_INSIDE) return NO_MATCH;
    let worst = head;
    if (head === ABSENT) {
      tier = marked === ABSENT ? TIER.rest : TIER.marked;
      worst = marked === ABSENT ? rest : marked;
    } else if (head === WHOLE && tier === TIER.head && this.isNamed(entry)) tier = TIER.segment;
    if (names.length > 0 && text.startsWith(name) && (text[name.length] ?? '\n') === '\n') tier = TIER.name;
    return ((missing * TIERS + tier) * DISTANCES + Math.min(distance, DISTANCES - 1)) * OCCURRENCES + worst;
  }

  private isTopic({ forms }: Word): boolean {
    const { topics = '' } = this.entry ?? {};
    if (topics === '' || !this.search.isTolerant) return false;
    let isFound = false;
    const note = (at: number, occurrence: number) => {
      isFound ||= occurrence <= BEGINS;
      return isFound ? Infinity : at + 1;
    };
    for (const form of forms) findForm(topics, form, note);
    return isFound;
  }

  private isNamed({ text, segmentAt, descriptionAt }: IndexedEntry): boolean {
    const [segment = '', title = ''] = text.slice(segmentAt, descriptionAt).split('\n');
    return isQuery(segment, this.search) || isQuery(title, this.search);
  }

  private find(at: number, word: Word): Matcher['best'] {
    const { best, entry } = this;
    const { forms } = word;
    best.fill(ABSENT);
    if (!entry) return best;
    this.word = undefined;
    for (const form of forms) findForm(entry.text, form, this.note);
    if (this.needsOthers) this.noteKind(entry.kind, at, forms);
    if (this.tolerance.corrects) {
      const [typed] = forms;
      if (this.isAbsent) {
        findCorrected(entry.text, typed, this.note);
        findSplit(entry.text, word, this.note);
        findSplit(entry.topics, word, this.noteOther);
        if (this.needsOthers) findCorrected(entry.kind.text, typed, this.noteOther);
      }
      this.corrected[at] = this.word;
    }
    return best;
  }

  private get isAbsent(): boolean {
    const { best } = this;
    return best[0] === ABSENT && best[1] === ABSENT && best[2] === ABSENT;
  }

  private noteKind(kind: Kind, at: number, forms: Word['forms']): void {
    const known = (this.others[at] ??= new Map<Kind, number>());
    const occurrence = known.get(kind);
    if (occurrence !== undefined) this.best[SECTIONS.others] = occurrence;
    else {
      for (const form of forms) findForm(kind.text, form, this.noteOther);
      known.set(kind, this.best[SECTIONS.others]);
    }
  }

  /**
   * Whether further occurrences may change the relevance. They cannot after a whole word in name or title, or for a
   * one-word query found there.
   */
  private get needsOthers(): boolean {
    const head = this.best[SECTIONS.head];
    return head === ABSENT || (head !== WHOLE && this.search.words.length > 1);
  }

  private readonly note = (at: number, occurrence: number, word?: string): number => {
    const { entry, best } = this;
    if (!entry) return Infinity;
    const { hostEnd, segmentAt, descriptionAt } = entry;
    if (at < hostEnd) return hostEnd;
    if (at >= descriptionAt && !this.needsOthers) return Infinity;
    const section = at >= segmentAt && at < descriptionAt ? SECTIONS.head : SECTIONS.rest;
    if (occurrence < best[section]) best[section] = occurrence;
    this.word ??= word;
    if (occurrence !== WHOLE) return at + 1;
    return at < segmentAt ? segmentAt : Infinity;
  };

  private readonly noteOther = (at: number, occurrence: number, word?: string): number => {
    const { best } = this;
    if (occurrence < best[SECTIONS.others]) best[SECTIONS.others] = occurrence;
    this.word ??= word;
    return occurrence === WHOLE ? Infinity : at + 1;
  };
}

/** Combines, in this order: tier, retired entries last, installable ones first, source, whole words before parts. */
export function rankOf(
  { isRetired, isInstallable }: IndexedEntry,
  relevance: number,
  source: number,
): number {
  const occurrence = relevance % OCCURRENCES;
  const tier = (relevance - occurrence) / OCCURRENCES;
  const group = tier * 4 + (isRetired ? 2 : 0) + (isInstallable ? 0 : 1);
  return (group * MAX_SOURCES + source) * OCCURRENCES + occurrence;
}

/**
 * Returns the part of a rank that can be compared with results of other registries: all but the source and what follows
 * it.
 */
export function relevanceOf({ rank }: Place): number {
  return Math.floor(rank / (MAX_SOURCES * OCCURRENCES));
}

export function comparePlaces(one: Place, other: Place, sort: EntrySearch['sort']): number {
  const first =
    sort === 'relevance' ? one.rank - other.rank : sort === 'name' ? 0 : other.updated - one.updated;
  if (first !== 0) return first;
  return compareNames(one, other);
}
