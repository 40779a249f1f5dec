import { elements, isObject, member } from '../json/json-values.js';
import { MAX_NAME_LENGTH, type Problem } from './document-problem.js';
import { checkerOf, checkServer, PUBLISHER_PROVIDED } from './document-rules.js';
import { serverDocumentSchema } from './schemas/server-document.schema.js';
import {
  pluginDocumentSchema,
  SKILL_STATUSES,
  skillDocumentSchema,
} from './schemas/skill-document.schema.js';

/** A document that has passed the check of its type. */
export type Document = Readonly<Record<string, unknown>>;

/**
 * All that differs between the types of entries. A document stands in a member that is called like its type, in what is
 * published and in items of lists.
 */
interface EntryTypeRow {
  /** The key of its list, in registry files and in answers alike. */
  readonly listKey: string;
  /** Where its list is, below the version of the consumer API. */
  readonly path: string;
  /** Must a registry file have this list, and be it empty? */
  readonly isInEveryFile: boolean;
  /** A JSON schema: see document-formats.ts for its formats. */
  readonly schema: { readonly required: readonly string[]; readonly properties: object };
  readonly check: (document: unknown, bytes?: number) => Problem[];
  /** The keys that make up the entry's name; a skill's is `namespace/name`. */
  readonly nameKeys: readonly string[];
  /** The first is the default. */
  readonly statuses: readonly [string, ...string[]];
  /** Is the status a member of the document? Otherwise it stands beside it only. */
  readonly hasStatusInDocument: boolean;
  /** How lists and single answers show a version: the bare document, or an item with `_meta` around it. */
  readonly isShownBare: boolean;
  /** Versions on a page, unless the request says how many. */
  readonly perPage: number;
  /** Do lists show the latest version of each entry only? */
  readonly listsLatestOnly: boolean;
  /** What `filter.tags` looks at. */
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
    // Those of the MCP Registry.
    statuses: ['active', 'deprecated', 'deleted'],
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
    statuses: SKILL_STATUSES,
    hasStatusInDocument: true,
    isShownBare: true,
    perPage: 50,
    listsLatestOnly: true,
    tagsOf: publisherTags,
  },
  plugin: {
    listKey: 'plugins',
    path: 'x/dev.toolhive/plugins',
    isInEveryFile: false,
    schema: pluginDocumentSchema,
    check: checkerOf(pluginDocumentSchema),
    nameKeys: ['namespace', 'name'],
    statuses: SKILL_STATUSES,
    hasStatusInDocument: true,
    isShownBare: true,
    perPage: 50,
    listsLatestOnly: true,
    tagsOf: publisherTags,
  },
} as const satisfies Record<string, EntryTypeRow>;

export type EntryType = keyof typeof ROWS;

/** The keys of the lists of all types. */
export type ListKey = (typeof ROWS)[EntryType]['listKey'];

/** The types of entries that lists show as bare documents. */
export type BareType = {
  [T in EntryType]: (typeof ROWS)[T]['isShownBare'] extends true ? T : never;
}[EntryType];

/** The types of entries. A further type is one more row, and a migration that lets PostgreSQL have it. */
export const ENTRY_TYPES: Readonly<Record<EntryType, EntryTypeRow & { readonly listKey: ListKey }>> = ROWS;

export const ENTRY_TYPE_NAMES = Object.keys(ROWS) as readonly EntryType[];

export const BARE_TYPES = ENTRY_TYPE_NAMES.filter((type): type is BareType => ROWS[type].isShownBare);

/** The statuses of all types. */
export const STATUSES: readonly string[] = [
  ...new Set(ENTRY_TYPE_NAMES.flatMap((type) => ENTRY_TYPES[type].statuses)),
];

export function isEntryType(text: unknown): text is EntryType {
  return typeof text === 'string' && Object.hasOwn(ROWS, text);
}

/** The status a version begins with. */
export function initialStatus(type: EntryType, document: Document): string {
  const { hasStatusInDocument, statuses } = ENTRY_TYPES[type];
  return String((hasStatusInDocument ? document['status'] : undefined) ?? statuses[0]);
}

/** The text of a document after its version got this status; spelled anew only when that changes what it says. */
export function withStatus(type: EntryType, text: string, status: string): string {
  if (!ENTRY_TYPES[type].hasStatusInDocument) return text;
  const document = JSON.parse(text) as Document;
  return initialStatus(type, document) === status ? text : JSON.stringify({ ...document, status });
}

/** The name of the entry a document belongs to. Undefined only when the document would not pass its check. */
export function findName(type: EntryType, document: Document): string | undefined {
  const parts = ENTRY_TYPES[type].nameKeys.map((key) => document[key]);
  return parts.every((part) => typeof part === 'string' && part.length <= MAX_NAME_LENGTH)
    ? parts.join('/')
    : undefined;
}

/** What `search` looks through: name, title and description, in lower case. */
export function searchTextOf(type: EntryType, document: Document): string {
  const parts = [findName(type, document), document['title'], document['description']];
  return parts
    .filter((part) => typeof part === 'string')
    .join('\n')
    .toLowerCase()
    .replaceAll('\0', '');
}

// For every publisher, for every image or URL of its block, the `tags` array. Odd shapes hold no tags.
function publisherTags(document: Document): string[] {
  const blocks = members(member(document['_meta'], PUBLISHER_PROVIDED)).flatMap(members);
  return blocks.flatMap((block) => {
    return elements(member(block, 'tags')).filter((tag) => typeof tag === 'string');
  });
}

function members(value: unknown): unknown[] {
  return isObject(value) ? Object.values(value) : [];
}
