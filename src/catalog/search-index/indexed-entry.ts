import { LRUCache } from 'lru-cache';
import type { EntryName } from '../../documents/entry-types.js';
import { isRetired, isShown, type Status } from '../../documents/statuses.js';
import type { Summary } from '../../entry-store/entry-summary.js';
import { memberNames } from '../../members/members.js';
import { folded, topicsIn } from './search-words.js';

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
  /** Whether the entry sorts after others of equal relevance. */
  readonly isRetired: boolean;
  readonly isInstallable: boolean;
  readonly updated: number;
  /**
   * The date that the document states, or else the date of its publication; undefined if `updated` may be the time of a
   * sync.
   */
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
  /** Words by which people search for the products in the name and title; empty for most entries. */
  readonly topics: string;
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
  const topics = topicsIn([name.slice(hostEnd(name)), ...head.slice(1)].join('\n'));
  const lengths = [text, kind.text, topics, row.name, ...(texts ?? []), ...(members ?? [])].map(
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
    topics,
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
