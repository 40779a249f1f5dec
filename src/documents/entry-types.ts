import { isObject } from '../json/is-object.js';
import type { Problem } from './document-problem.js';
import { checkServer, checkSkill, PUBLISHER_PROVIDED } from './document-rules.js';

export type EntryType = 'server' | 'skill';

/** A document that has passed the check of its type. */
export type Document = Readonly<Record<string, unknown>>;

/** All that differs between the types of entries. A further type is one more row. */
interface EntryTypeRow {
  /** The key of its list, in registry files and in answers alike. */
  readonly listKey: 'servers' | 'skills';
  readonly check: (document: unknown) => Problem[];
  /** The keys that make up the entry's name; a skill's is `namespace/name`. */
  readonly nameKeys: readonly string[];
  /** The status a version begins with. */
  readonly statusOf: (document: Document) => string;
  /** What `filter.tags` looks at. */
  readonly tagsOf: (document: Document) => string[];
}

const MAX_NAME_LENGTH = 255;

export const ENTRY_TYPES: Record<EntryType, EntryTypeRow> = {
  server: {
    listKey: 'servers',
    check: checkServer,
    nameKeys: ['name'],
    statusOf: () => 'active',
    tagsOf: publisherTags,
  },
  skill: {
    listKey: 'skills',
    check: checkSkill,
    nameKeys: ['namespace', 'name'],
    statusOf: (document) => String(document['status'] ?? 'active'),
    tagsOf: publisherTags,
  },
};

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
    const tags = member(block, 'tags');
    return Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : [];
  });
}

function members(value: unknown): unknown[] {
  return isObject(value) ? Object.values(value) : [];
}

function member(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as Record<string, unknown>)[key];
}
