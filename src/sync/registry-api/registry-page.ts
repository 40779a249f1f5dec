import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { toStorable } from '../../validation/storable-text.js';
import { type DocumentProblem, unreadableProblem } from '../../documents/document-check.js';
import { MAX_DOCUMENT_BYTES, toProse } from '../../documents/document-problem.js';
import {
  BARE_TYPES,
  type BareType,
  ENTRY_TYPES,
  type EntryType,
  type ListKey,
} from '../../documents/entry-types.js';
import { type Status, statusesOf } from '../../documents/statuses.js';
import { JsonSliceError, JsonSlicer, type Slice } from '../../json/json-slices.js';
import {
  countKeys,
  memberText,
  parseSkeleton,
  parseText,
  repeatedKey,
  withMember,
} from '../../json/json-text.js';
import { isObject, member } from '../../json/json-values.js';
import type { StoredFilter } from '../../sources/entry-filter.js';
import { type UncheckedDocument, checkCandidate, type CheckedCandidate } from '../entry-validator.js';

/** Maximum size of a list item around its document. */
export const ENVELOPE = { bytes: 64 * 1024, depth: 1, values: 1_000 };
const MAX_CURSOR_LENGTH = 8_192;
const MAX_MESSAGE_LENGTH = 2_000;
const OFFICIAL = 'io.modelcontextprotocol.registry/official';
const TIMESTAMP = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

export interface Page {
  readonly versions: readonly UpstreamVersion[];
  readonly nextCursor: string | null;
  /** SHA-256 of all documents, in base64url. */
  readonly digest: string;
}

export interface UpstreamVersion {
  readonly checked: CheckedCandidate;
  /** Length of the list item in UTF-8. */
  readonly bytes: number;
  /** The upstream's `updatedAt` in milliseconds; null if absent. */
  readonly updatedAt: number | null;
  /** The path of the item's name, relative to the list, in a list without envelopes; null if it has no valid name. */
  readonly path: string | null;
  /** A key that equal versions share, in a list without envelopes. */
  readonly key: string;
}

/**
 * Parses the body of a list: `{ <list>: [...], metadata: { nextCursor | next_cursor } }`. The last page has no cursor.
 *
 * @param onVersion receives the versions in order.
 * @throws JsonSliceError if the body is malformed.
 */
export function readPage(
  bytes: Buffer,
  list: ListKey,
  filter: StoredFilter | null,
  onVersion: (version: UpstreamVersion) => void,
): Omit<Page, 'versions'> {
  if (!isUtf8(bytes)) throw new JsonSliceError('it is not UTF-8 text');
  const slicer = new JsonSlicer(bytes, [list], MAX_DOCUMENT_BYTES + ENVELOPE.bytes, 'root');
  const digest = createHash('sha256');
  const type = BARE_TYPES.find((each) => ENTRY_TYPES[each].listKey === list);
  for (const element of slicer.slices()) {
    digest.update(`${element.text}\n`);
    onVersion(type ? readBare(type, element, filter) : readServerItem(element, filter));
  }
  const body = parseSkeleton(slicer);
  // Some servers send null for an empty list.
  if (!isObject(body) || (body[list] !== null && !Array.isArray(body[list])))
    throw new JsonSliceError(`it is not an object with a list "${list}"`);
  return { nextCursor: cursorOf(body['metadata']), digest: digest.digest('base64url') };
}

function readServerItem(slice: Slice, filter: StoredFilter | null): UpstreamVersion {
  const isTooLarge = unreadableProblem(slice, ENVELOPE) !== null;
  const item = isTooLarge ? null : parseText(slice.text ?? '', `servers[${slice.index}]`);
  return {
    checked: checkCandidate(listedServer(slice, item), filter),
    bytes: slice.bytes,
    updatedAt: timeOf(officialOf(item)['updatedAt'])?.getTime() ?? null,
    path: null,
    key: '',
  };
}

/**
 * Reads an item `{ server, _meta? }` of a server list.
 *
 * @param item the parsed text of the slice; meaningless if the slice must not be parsed.
 */
export function listedServer(slice: Slice, item: unknown): UncheckedDocument {
  const official = officialOf(item);
  const readProblem = unreadableProblem(slice, ENVELOPE) ?? envelopeProblem(item, slice, official);
  const document = member(item, 'server');
  return {
    type: 'server',
    index: slice.index,
    document,
    // `envelopeProblem` has already checked the entire item for repeated keys.
    written: {
      text: readProblem ? '' : copyOf(memberText(slice.text ?? '', 'server') ?? ''),
      keys: countKeys(document),
    },
    readProblem,
    upstreamMeta: readProblem ? {} : upstreamMetaOf(official),
  };
}

function officialOf(item: unknown): Record<string, unknown> {
  const official = member(member(item, '_meta'), OFFICIAL);
  return isObject(official) ? official : {};
}

/** Reads an element of a list without envelopes, such as skills. Changes only the letter case of the status. */
function readBare(type: BareType, slice: Slice, filter: StoredFilter | null): UpstreamVersion {
  const readProblem = unreadableProblem(slice);
  const text = slice.text ?? '';
  const document = readProblem ? null : parseText(text, `${ENTRY_TYPES[type].listKey}[${slice.index}]`);
  const written = { text, keys: slice.keys };
  const candidate = withKnownStatus({ type, index: slice.index, document, written, readProblem });
  return {
    checked: checkCandidate(candidate, filter),
    bytes: slice.bytes,
    updatedAt: null,
    path: pathOf(document),
    key: versionKey(document, text),
  };
}

function withKnownStatus(candidate: UncheckedDocument): UncheckedDocument {
  const { type, document, written } = candidate;
  const original = member(document, 'status');
  const status = statusOf(type, original);
  if (!isObject(document) || status === undefined || status === original) return candidate;
  // A document with a repeated key is skipped anyway.
  if (countKeys(document) !== written.keys) return candidate;
  const text = withMember(written.text, 'status', JSON.stringify(status));
  return { ...candidate, document: { ...document, status }, written: { ...written, text } };
}

function pathOf(document: unknown): string | null {
  const [namespace, name] = [member(document, 'namespace'), member(document, 'name')];
  if (typeof namespace !== 'string' || typeof name !== 'string') return null;
  // A dot segment would leave the list's path.
  if (![namespace, name].every((segment) => /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(segment))) return null;
  return `${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

// Hashes the key, because names and texts can have any length. The text identifies a document without name or version.
function versionKey(document: unknown, text: string): string {
  const parts = ['namespace', 'name', 'version'].map((key) => member(document, key));
  const isNamed = parts.every((part) => typeof part === 'string');
  return createHash('sha256')
    .update(isNamed ? JSON.stringify(parts) : text)
    .digest()
    .toString('latin1');
}

// Copies the text, because a substring would keep the entire string in memory.
function copyOf(text: string): string {
  return Buffer.from(text).toString();
}

function envelopeProblem(
  item: unknown,
  slice: Slice,
  official: Record<string, unknown>,
): DocumentProblem | null {
  if (countKeys(item) !== slice.keys)
    return { path: repeatedKey(slice.text ?? '') ?? '', message: 'the key is given twice in one object' };
  if (!isObject(item) || !isObject(item['server'])) return { path: 'server', message: 'must be an object' };
  const { status } = official;
  if (status === undefined || statusOf('server', status) !== undefined) return null;
  return {
    path: `_meta["${OFFICIAL}"].status`,
    message: `must be one of ${statusesOf('server').join(', ')}`,
  };
}

/** Normalizes a status, because ToolHive's registry sends it in upper case. */
function statusOf(type: EntryType, status: unknown): Status | undefined {
  return typeof status === 'string'
    ? statusesOf(type).find((known) => known === status.toLowerCase())
    : undefined;
}

function upstreamMetaOf(official: Record<string, unknown>): UncheckedDocument['upstreamMeta'] {
  const { statusMessage, isLatest } = official;
  const status = statusOf('server', official['status']);
  const statusChangedAt = timeOf(official['statusChangedAt']);
  const publishedAt = timeOf(official['publishedAt']);
  return {
    ...(status === undefined ? {} : { status }),
    ...(typeof statusMessage === 'string' && statusMessage !== ''
      ? { statusMessage: toProse(toStorable(statusMessage.slice(0, MAX_MESSAGE_LENGTH))) }
      : {}),
    ...(statusChangedAt ? { statusChangedAt } : {}),
    ...(publishedAt ? { publishedAt } : {}),
    ...(isLatest === true ? { isUpstreamLatest: true } : {}),
  };
}

// Upstreams use a time before 1970 as a placeholder for an unknown time.
function timeOf(value: unknown): Date | undefined {
  if (typeof value !== 'string' || !TIMESTAMP.test(value)) return undefined;
  const time = new Date(value.toUpperCase());
  return time.getTime() > 0 && time.getUTCFullYear() <= 9999 ? time : undefined;
}

function cursorOf(metadata: unknown): string | null {
  if (!isObject(metadata)) return null;
  const cursor = metadata['nextCursor'] ?? metadata['next_cursor'] ?? '';
  if (typeof cursor !== 'string' || cursor.length > MAX_CURSOR_LENGTH)
    throw new JsonSliceError('its metadata.nextCursor is not a cursor');
  return cursor === '' ? null : cursor;
}
