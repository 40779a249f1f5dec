import { LRUCache } from 'lru-cache';
import type { EntryName } from '../../documents/entry-types.js';
import { isRetired, isShown, type Status } from '../../documents/statuses.js';
import type { Summary } from '../../entry-store/entry-summary.js';
import { memberNames } from '../../members/members.js';
import {
  ABSENT,
  findCorrected,
  findForm,
  type Form,
  folded,
  isQuery,
  MIN_INSIDE,
  type SearchWords,
  WHOLE,
} from './search-words.js';

/** Number of characters of a description, or of tags and tools, that are searched. */
const MAX_TEXT = 4_096;
/** Longer lists of tags, tools and transports are not shared between entries. */
const MAX_SHARED_KIND = 4_096;
/** Approximate size of an entry without its texts. */
const ENTRY_BYTES = 300;
/** First two labels of namespaces on hosts that give each user one. */
const HOSTS = new Set(
  'io.github com.github io.gitlab com.gitlab org.bitbucket org.codeberg app.vercel app.netlify dev.pages dev.workers'.split(
    ' ',
  ),
);
/** Second labels of domains such as `acme.co.uk`. */
const SECOND_LEVEL = new Set(['ac', 'co', 'com', 'gov', 'net', 'org']);

/** The tags, transports and the names of tools and members of entries; equal ones are shared. */
export interface Kind {
  readonly tags: readonly string[];
  readonly transports: readonly string[];
  /** Tags and names of tools and members, folded. */
  readonly text: string;
}

/** Returns the same object for equal kinds. */
export class KindPool {
  private readonly kinds = new LRUCache<string, Kind>({ max: 2_000 });

  /** @param members names of members */
  of({ tags, transports, tools = [] }: Summary, members: readonly string[]): Kind {
    const key = JSON.stringify([tags, transports, tools, members]);
    const text = () => folded([...tags, ...tools, ...members].join('\n').slice(0, MAX_TEXT));
    const kind = this.kinds.get(key) ?? { tags, transports, text: text() };
    if (key.length < MAX_SHARED_KIND) this.kinds.set(key, kind);
    return kind;
  }
}

/** Identifies an entry in the index. */
export interface EntryKey extends EntryName {
  readonly sourceId: number;
}

/** The order of the index: entries with the same name and type are adjacent. */
export function compareEntries(one: EntryKey, other: EntryKey): number {
  return compareNames(one, other) || one.sourceId - other.sourceId;
}

export function compareNames(one: EntryName, other: EntryName): number {
  if (one.name !== other.name) return one.name < other.name ? -1 : 1;
  if (one.type !== other.type) return one.type < other.type ? -1 : 1;
  return 0;
}

/** An entry with its latest version, as read from the database. */
export interface LatestRow extends EntryKey {
  readonly claimSetId: number;
  readonly status: Status;
  /** Milliseconds since 1970. Counts only if the document states no date. */
  readonly changedAt: number;
  /** When it was published, in milliseconds since 1970; null if unknown. */
  readonly publishedAt: number | null;
  readonly summary: Summary;
  /** The distinct searchable texts of its versions; null if they are too long. */
  readonly texts: readonly string[] | null;
  /** Tokens of the members of its content; null if it has no content. */
  readonly members: readonly string[] | null;
}

/** The latest version of an entry in the form that searches compare and count. */
export interface IndexedEntry extends EntryKey {
  readonly claimSetId: number;
  readonly isShown: boolean;
  /** Whether it sorts after others of equal relevance. */
  readonly isRetired: boolean;
  readonly isInstallable: boolean;
  readonly updated: number;
  /** The date that the document states, or else of its publication; undefined if `updated` may be the time of a sync. */
  readonly dated: number | undefined;
  readonly kind: Kind;
  /** Tokens of the members of the content, or of the server's packages and remotes; undefined if there are none. */
  readonly members: readonly string[] | undefined;
  /** Name, title and description on separate lines, folded. */
  readonly text: string;
  /** Offsets in `text` of the namespace without its host, the last segment and the description. */
  readonly hostEnd: number;
  readonly segmentAt: number;
  readonly descriptionAt: number;
  /** The text that lists search; undefined if it equals `text`, null if it is too long. */
  readonly texts: readonly string[] | null | undefined;
  /** Approximate size in memory. */
  readonly bytes: number;
}

export function indexedEntry(row: LatestRow, kinds: KindPool): IndexedEntry {
  const { summary } = row;
  const stated = summary.updated === undefined ? undefined : Date.parse(summary.updated);
  const head = [row.name, ...(summary.title === undefined ? [] : [summary.title])].map(folded);
  const name = head[0] ?? '';
  const description =
    summary.description === undefined ? [] : [folded(summary.description.slice(0, MAX_TEXT))];
  const text = [...head, ...description].join('\n');
  const texts = row.texts?.length === 1 && row.texts[0] === text ? undefined : row.texts;
  const kind = kinds.of(summary, memberNames(row.members ?? []));
  const members = row.members ?? summary.packages;
  const lengths = [text, kind.text, row.name, ...(texts ?? []), ...(members ?? [])].map(
    ({ length }) => length,
  );
  return {
    sourceId: row.sourceId,
    type: row.type,
    name: row.name,
    claimSetId: row.claimSetId,
    isShown: isShown(row.status),
    isRetired: isRetired(row.status),
    isInstallable: summary.installable,
    updated: stated ?? row.changedAt,
    dated: stated ?? row.publishedAt ?? undefined,
    kind,
    members,
    text,
    hostEnd: hostEnd(name),
    segmentAt: name.lastIndexOf('/') + 1,
    descriptionAt: head.join('\n').length,
    texts,
    bytes: ENTRY_BYTES + lengths.reduce((sum, length) => sum + length, 0),
  };
}

/** Returns the offset at which the host part of a namespace ends: after its first label, or after two for HOSTS and SECOND_LEVEL. */
function hostEnd(name: string): number {
  const labels = name.slice(0, Math.max(0, name.lastIndexOf('/'))).split('.');
  const isLonger = HOSTS.has(labels.slice(0, 2).join('.')) || SECOND_LEVEL.has(labels[1] ?? '');
  const host = labels.slice(0, labels.length > 2 && isLonger ? 2 : 1);
  return labels.length < 2 ? 0 : host.join('.').length;
}

/** Whether a list with this search text may find a version of the entry. */
export function mayBeListed({ text, texts }: IndexedEntry, search: string): boolean {
  if (texts === null) return true;
  return texts ? texts.some((each) => each.includes(search)) : text.includes(search);
}

/** Tiers of relevance (reference/search). */
const TIER = { name: 0, segment: 1, head: 2, marked: 3, rest: 4 } as const;
const TIERS = Object.keys(TIER).length;
export const NO_MATCH = -1;
/** Number of values of an occurrence. */
export const OCCURRENCES = 4;
const SECTIONS = { head: 0, others: 1, rest: 2 } as const;

/** How entries may differ from a query. */
export interface Tolerance {
  /** Words also match with one letter wrong. */
  readonly corrects: boolean;
  /** One word of MIN_INSIDE letters is enough. */
  readonly isPartial: boolean;
}

/** Compares entries with a query. */
export class Matcher {
  /** With `corrects`, the corrected words of the last entry that matched; undefined for words found as typed. */
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
   * Returns the relevance of an entry, or NO_MATCH. Lower is better: (letters of missing words × `TIERS` + tier) ×
   * `OCCURRENCES` + the worst occurrence of a word.
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
    for (let at = 0; at < words.length; at += 1) {
      const best = this.find(at);
      const { length } = words[at]?.[0]?.text ?? '';
      if (Math.min(...best) === ABSENT) {
        if (!this.tolerance.isPartial) return NO_MATCH;
        missing += length;
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
    return (missing * TIERS + tier) * OCCURRENCES + worst;
  }

  private isNamed({ text, segmentAt, descriptionAt }: IndexedEntry): boolean {
    const [segment = '', title = ''] = text.slice(segmentAt, descriptionAt).split('\n');
    return isQuery(segment, this.search) || isQuery(title, this.search);
  }

  private find(at: number): Matcher['best'] {
    const { best, search, entry } = this;
    const forms = search.words[at];
    best.fill(ABSENT);
    if (!forms || !entry) return best;
    this.word = undefined;
    for (const form of forms) findForm(entry.text, form, this.note);
    if (this.needsOthers) this.noteKind(entry.kind, at, forms);
    if (this.tolerance.corrects) {
      const [typed] = forms;
      if (typed && Math.min(...best) === ABSENT) {
        findCorrected(entry.text, typed, this.note);
        if (this.needsOthers) findCorrected(entry.kind.text, typed, this.noteOther);
      }
      this.corrected[at] = this.word;
    }
    return best;
  }

  private noteKind(kind: Kind, at: number, forms: readonly Form[]): void {
    const known = (this.others[at] ??= new Map<Kind, number>());
    const occurrence = known.get(kind);
    if (occurrence !== undefined) this.best[SECTIONS.others] = occurrence;
    else {
      for (const form of forms) findForm(kind.text, form, this.noteOther);
      known.set(kind, this.best[SECTIONS.others]);
    }
  }

  /**
   * Whether further occurrences may change the relevance: not after a whole word in name or title, nor for a one-word
   * query found there.
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
