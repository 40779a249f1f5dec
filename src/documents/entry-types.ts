import { elements, isObject, member } from '../json/json-values.js';
import { MAX_NAME_LENGTH, type DocumentProblem } from './document-problem.js';
import { checkerOf, checkServer, PUBLISHER_PROVIDED } from './document-rules.js';
import { serverDocumentSchema } from './schemas/server-document.schema.js';
import { pluginDocumentSchema, skillDocumentSchema } from './schemas/skill-document.schema.js';
import { ENTRY_TYPE_NAMES, type EntryType, isStatus, type Status } from './statuses.js';

export { ENTRY_TYPE_NAMES, type EntryType };

/** A document that has passed the check for its type. */
export type Document = Readonly<Record<string, unknown>>;

/**
 * Everything that differs between entry types. Published bodies and list items hold a document under its type's name.
 */
interface EntryTypeRow {
  /** The key of the type's list in registry files and responses. */
  readonly listKey: string;
  /** The path of the type's list, below the version of the consumer API. */
  readonly path: string;
  /** Whether a registry file must have this list, even if empty. */
  readonly isInEveryFile: boolean;
  /** A JSON schema with the formats of `DOCUMENT_FORMATS`. */
  readonly schema: { readonly required: readonly string[]; readonly properties: object };
  readonly check: (document: unknown) => DocumentProblem[];
  /** The keys that form the entry's name: a skill's name is `namespace/name`. */
  readonly nameKeys: readonly string[];
  /** The status of a new version whose document has none. */
  readonly initialStatus: Status;
  /** Whether the status is a member of the document; otherwise it is only in `_meta`. */
  readonly hasStatusInDocument: boolean;
  /** Whether responses contain the bare document, without a wrapper that holds `_meta`. */
  readonly isShownBare: boolean;
  /** The default page size. */
  readonly perPage: number;
  /** Whether lists show only the latest version of each entry. */
  readonly listsLatestOnly: boolean;
  /** The tags that `filter.tags` matches. */
  readonly tagsOf: (document: Document) => string[];
}

const ROWS = {
  server: {
    listKey: 'servers',
    path: 'servers',
    isInEveryFile: true,
    schema: serverDocumentSchema,
    check: checkServer,
    nameKeys: ['name'],
    initialStatus: 'active',
    hasStatusInDocument: false,
    isShownBare: false,
    perPage: 30,
    listsLatestOnly: false,
    tagsOf: publisherTags,
  },
  skill: {
    listKey: 'skills',
    path: 'x/dev.toolhive/skills',
    isInEveryFile: false,
    schema: skillDocumentSchema,
    check: checkerOf(skillDocumentSchema),
    nameKeys: ['namespace', 'name'],
    initialStatus: 'active',
    hasStatusInDocument: true,
    isShownBare: true,
    perPage: 50,
    listsLatestOnly: true,
    tagsOf: statedTags,
  },
  plugin: {
    listKey: 'plugins',
    path: 'x/dev.toolhive/plugins',
    isInEveryFile: false,
    schema: pluginDocumentSchema,
    check: checkerOf(pluginDocumentSchema),
    nameKeys: ['namespace', 'name'],
    initialStatus: 'active',
    hasStatusInDocument: true,
    isShownBare: true,
    perPage: 50,
    listsLatestOnly: true,
    tagsOf: statedTags,
  },
} as const satisfies Record<EntryType, EntryTypeRow>;

/** The keys of the lists of all types. */
export type ListKey = (typeof ROWS)[EntryType]['listKey'];

/** The entry types that lists show as bare documents. */
export type BareType = {
  [T in EntryType]: (typeof ROWS)[T]['isShownBare'] extends true ? T : never;
}[EntryType];

export const ENTRY_TYPES: Readonly<Record<EntryType, EntryTypeRow & { readonly listKey: ListKey }>> = ROWS;

export const BARE_TYPES = ENTRY_TYPE_NAMES.filter((type): type is BareType => ROWS[type].isShownBare);

export function isBareType(type: string): type is BareType {
  return (BARE_TYPES as readonly string[]).includes(type);
}

export function isEntryType(text: unknown): text is EntryType {
  return typeof text === 'string' && Object.hasOwn(ROWS, text);
}

/** Returns the status of a new version. */
export function initialStatus(type: EntryType, document: Document): Status {
  const row = ENTRY_TYPES[type];
  const given = row.hasStatusInDocument ? document['status'] : undefined;
  return isStatus(given) ? given : row.initialStatus;
}

/** Returns the document's text with this status; reserializes it only if the status differs. */
export function withStatus(type: EntryType, text: string, status: Status): string {
  if (!ENTRY_TYPES[type].hasStatusInDocument) return text;
  const document = JSON.parse(text) as Document;
  return initialStatus(type, document) === status ? text : JSON.stringify({ ...document, status });
}

/** Returns the name of the document's entry; undefined only if the document would not pass its check. */
export function findName(type: EntryType, document: Document): string | undefined {
  const parts = ENTRY_TYPES[type].nameKeys.map((key) => document[key]);
  return parts.every((part) => typeof part === 'string' && part.length <= MAX_NAME_LENGTH)
    ? parts.join('/')
    : undefined;
}

/** Returns the text that `search` matches: name, title and description, in lower case. */
export function searchTextOf(type: EntryType, document: Document): string {
  const parts = [findName(type, document), document['title'], document['description']];
  return parts
    .filter((part) => typeof part === 'string')
    .join('\n')
    .toLowerCase()
    .replaceAll('\0', '');
}

/** Returns what publishers state about their images or URLs, such as a `tags` array; none for other shapes. */
export function publisherBlocks(document: Document): unknown[] {
  return members(member(document['_meta'], PUBLISHER_PROVIDED)).flatMap(members);
}

function publisherTags(document: Document): string[] {
  return publisherBlocks(document).flatMap((block) => {
    return elements(member(block, 'tags')).filter((tag) => typeof tag === 'string');
  });
}

/**
 * Skill and plugin documents derived by a source have labels in addition to the publisher block (reference/sources).
 */
function statedTags(document: Document): string[] {
  const stated = [...elements(document['tags']), ...elements(document['keywords'])];
  return [...publisherTags(document), ...stated.filter((tag) => typeof tag === 'string')];
}

function members(value: unknown): unknown[] {
  return isObject(value) ? Object.values(value) : [];
}

/** Identifies an entry within its source. */
export interface EntryName {
  readonly type: EntryType;
  readonly name: string;
}

/** One version of one entry, by name. */
export interface VersionName extends EntryName {
  readonly version: string;
}

/** One validated version that is about to be stored. */
export interface IncomingVersion extends VersionName {
  /** The served text in UTF-8. Any character beyond Latin-1 would make a string take twice the memory. */
  readonly document: Buffer;
  /** SHA-256 of the document. */
  readonly digest: Buffer;
  readonly status: Status;
  readonly searchText: string;
  /** This and the following members come from an upstream registry; absent ones are set on import. */
  readonly statusMessage?: string;
  readonly statusChangedAt?: Date;
  readonly publishedAt?: Date;
  /**
   * Whether the upstream registry marks this version as latest; it is then also the newest version here
   * (reference/catalog).
   */
  readonly isUpstreamLatest?: boolean;
  /** The digest of its content, if the content is already stored. */
  readonly contentTree?: string;
}

/** Returns the map key of an entry. Names and versions contain no NUL, so keys are unambiguous. */
export function entryMapKey({ type, name }: EntryName): string {
  return `${type}\0${name}`;
}

export function versionMapKey({ type, name, version }: VersionName): string {
  return `${type}\0${name}\0${version}`;
}

/** The maximum number of skipped versions that the admin API lists. It counts all of them. */
export const MAX_SHOWN_SKIPPED = 500;

/** A version that a sync skipped, as the admin API shows it. */
export interface SkippedVersion {
  readonly type: EntryType;
  /** Its index in the list; absent for cluster objects. */
  readonly index?: number;
  readonly name: string | null;
  readonly version: string | null;
  readonly reasons: string[];
}

/**
 * Facts about a version that come from the registry, not from the publisher. Times are dates, or RFC 3339 text in UTC.
 */
export interface OfficialFacts {
  readonly status: Status;
  readonly statusChangedAt: Date | string;
  readonly statusMessage: string | null;
  readonly publishedAt: Date | string;
  readonly updatedAt: Date | string;
  readonly isLatest: boolean;
}

/** Returns the `_meta` of a version (reference/catalog), as JSON. */
export function officialMeta(state: OfficialFacts): string {
  const official = {
    status: state.status,
    statusChangedAt: state.statusChangedAt,
    ...(state.statusMessage === null ? {} : { statusMessage: state.statusMessage }),
    publishedAt: state.publishedAt,
    updatedAt: state.updatedAt,
    isLatest: state.isLatest,
  };
  return `{"io.modelcontextprotocol.registry/official":${JSON.stringify(official)}}`;
}
