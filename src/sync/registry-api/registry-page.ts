import { isUtf8 } from 'node:buffer';
import { toStorable } from '../../validation/storable-text.js';
import { type Problem, unreadableProblem } from '../../documents/document-check.js';
import { MAX_DOCUMENT_BYTES, toProse } from '../../documents/document-problem.js';
import { type BareType, ENTRY_TYPES, type EntryType, type ListKey } from '../../documents/entry-types.js';
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
import { isObject } from '../../json/json-values.js';
import type { Candidate } from '../entry-validator.js';

/** Maximum size of a list item around its document. */
const ENVELOPE = { bytes: 64 * 1024, depth: 1, values: 1_000 };
const MAX_CURSOR_LENGTH = 8_192;
const MAX_MESSAGE_LENGTH = 2_000;
const OFFICIAL = 'io.modelcontextprotocol.registry/official';
const TIMESTAMP = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

/** One page of a list; the elements are unparsed. */
export interface Page {
  readonly elements: Slice[];
  readonly nextCursor: string | null;
}

/** A version in a list. */
export interface ListedVersion {
  readonly candidate: Candidate;
  /** The upstream's `updatedAt` in milliseconds; null if absent. */
  readonly updatedAt: number | null;
}

/**
 * Parses the body of a list: `{ <list>: [...], metadata: { nextCursor | next_cursor } }`. The last page has no cursor.
 *
 * @throws JsonSliceError if the body is malformed.
 */
export async function readPage(bytes: Buffer, list: ListKey): Promise<Page> {
  if (!isUtf8(bytes)) throw new JsonSliceError('it is not UTF-8 text');
  const slicer = new JsonSlicer(bytes, [list], MAX_DOCUMENT_BYTES + ENVELOPE.bytes, 'root');
  const elements: Slice[] = [];
  for await (const element of slicer.slices()) elements.push(element);
  const body = parseSkeleton(slicer);
  // Some servers send null for an empty list.
  if (!isObject(body) || (body[list] !== null && !Array.isArray(body[list])))
    throw new JsonSliceError(`it is not an object with a list "${list}"`);
  return { elements, nextCursor: cursorOf(body['metadata']) };
}

/**
 * Parses an item `{ server, _meta? }` of a server list.
 *
 * @throws JsonSliceError if it is malformed.
 */
export function readServerItem(slice: Slice, index: number): ListedVersion {
  const tooLarge = unreadableProblem(slice, ENVELOPE);
  const text = slice.text ?? '';
  const item = tooLarge ? null : parseText(text, `servers[${slice.index}]`);
  const document = isObject(item) ? item['server'] : undefined;
  const meta = isObject(item) && isObject(item['_meta']) ? item['_meta'][OFFICIAL] : undefined;
  const official = isObject(meta) ? meta : {};
  const readProblem = tooLarge ?? envelopeProblem(item, slice, official);
  return {
    candidate: {
      type: 'server',
      index,
      document,
      // `envelopeProblem` has already checked the entire item for repeated keys.
      written: {
        text: readProblem ? '' : copyOf(memberText(text, 'server') ?? ''),
        keys: countKeys(document),
      },
      readProblem,
      upstreamMeta: readProblem ? {} : upstreamMetaOf(official),
    },
    updatedAt: timeOf(official['updatedAt'])?.getTime() ?? null,
  };
}

/**
 * Parses an element of a list without envelopes, such as skills. Changes only the letter case of the status.
 *
 * @param isUpstreamLatest whether the registry lists it as the latest version of its name.
 * @throws JsonSliceError if it is malformed.
 */
export function readBare(type: BareType, slice: Slice, index: number, isUpstreamLatest: boolean): Candidate {
  const readProblem = unreadableProblem(slice);
  const written = { text: slice.text ?? '', keys: slice.keys };
  const parsed = readProblem ? null : parseText(written.text, `${ENTRY_TYPES[type].listKey}[${slice.index}]`);
  const upstreamMeta = isUpstreamLatest ? { isUpstreamLatest } : {};
  const candidate = { type, index, document: parsed, written, readProblem, upstreamMeta } as const;
  const original: unknown = isObject(parsed) ? parsed['status'] : undefined;
  const status = statusOf(type, original);
  // A document with a repeated key is skipped anyway.
  if (!isObject(parsed) || status === undefined || status === original || countKeys(parsed) !== slice.keys)
    return candidate;
  const text = withMember(written.text, 'status', JSON.stringify(status));
  return { ...candidate, document: { ...parsed, status }, written: { ...written, text } };
}

// Copies the text, because a substring would keep the entire string in memory.
function copyOf(text: string): string {
  return Buffer.from(text).toString();
}

function envelopeProblem(item: unknown, slice: Slice, official: Record<string, unknown>): Problem | null {
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

function upstreamMetaOf(official: Record<string, unknown>): Candidate['upstreamMeta'] {
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
