import { member } from '../../json/json-values.js';
import { AnswerTooLarge, ClusterError } from './cluster-error.js';
import type { Answer, Cluster } from './cluster.js';
import { describeCollection, type ResourceCollection } from './custom-resources.js';

/** Few enough that parsing a page does not hold the event loop up. */
const MAX_OBJECTS = 250;
const FIRST_OBJECTS = 50;
/** The same in bytes: what pages aim at, and what is read of one before it is asked for again with fewer objects. */
const AIMED_BYTES = 4 * 1024 * 1024;
const MAX_PAGE_BYTES = 8 * 1024 * 1024;
/** A cluster keeps objects of 1.5 MiB at most, unless its etcd is set up otherwise. */
const MAX_OBJECT_BYTES = 16 * 1024 * 1024;
const SHRINKING = 4;
const GROWING = 2;

export interface ObjectPage {
  readonly items: readonly unknown[];
  /** From where a watch goes on after this list: the same on all of its pages. */
  readonly resourceVersion: string;
}

/**
 * The objects of a collection, in pages of one list: the larger the objects, the fewer in a page.
 *
 * @throws ClusterError
 */
export async function* listObjects(
  cluster: Cluster,
  collection: ResourceCollection,
  signal: AbortSignal,
): AsyncGenerator<ObjectPage> {
  let limit = FIRST_OBJECTS;
  let next = '';
  for (;;) {
    const answer = await readPage(cluster, collection, { limit, next }, signal);
    if (answer === null) limit = Math.max(1, Math.floor(limit / SHRINKING));
    else {
      const page = parsePage(collection, answer.json);
      yield page;
      if (page.next === '') return;
      next = page.next;
      limit = nextLimit(limit, page.items.length, answer.bytes);
    }
  }
}

/** Null when the page is too large, and there may be a smaller one. */
async function readPage(
  cluster: Cluster,
  collection: ResourceCollection,
  { limit, next }: { limit: number; next: string },
  signal: AbortSignal,
): Promise<Answer | null> {
  const query = { limit: String(limit), ...(next === '' ? {} : { continue: next }) };
  try {
    return await cluster.list(collection, query, signal, limit === 1 ? MAX_OBJECT_BYTES : MAX_PAGE_BYTES);
  } catch (error) {
    if (!(error instanceof AnswerTooLarge)) throw error;
    if (limit === 1) throw objectTooLarge(collection);
    return null;
  }
}

/** The resource version of a collection as it is now, at the price of one object without its specification. */
export async function readNewestVersion(
  cluster: Cluster,
  collection: ResourceCollection,
  signal: AbortSignal,
): Promise<string> {
  const metadataOnly = { ...collection, needsSpec: false };
  const { json } = await cluster.list(metadataOnly, { limit: '1' }, signal, MAX_OBJECT_BYTES);
  return parsePage(collection, json).resourceVersion;
}

/**
 * How many objects to ask for after a page: as many as would have made up what pages aim at, but never many more at once,
 * for those that follow may be larger.
 */
export function nextLimit(limit: number, objects: number, bytes: number): number {
  if (objects === 0) return limit;
  const fitting = Math.floor((AIMED_BYTES * objects) / bytes);
  return Math.max(1, Math.min(fitting, limit * GROWING, MAX_OBJECTS));
}

function parsePage(collection: ResourceCollection, value: unknown): ObjectPage & { readonly next: string } {
  const items = member(value, 'items');
  const metadata = member(value, 'metadata');
  const next = member(metadata, 'continue');
  const resourceVersion = member(metadata, 'resourceVersion');
  if (!Array.isArray(items) || typeof resourceVersion !== 'string')
    throw new ClusterError(
      `The API server answered a list of ${describeCollection(collection)} with something that is no list`,
    );
  return { items, next: typeof next === 'string' ? next : '', resourceVersion };
}

function objectTooLarge(collection: ResourceCollection): ClusterError {
  return new ClusterError(
    `The list of ${describeCollection(collection)} can't be read: an object of it has more than ${MAX_OBJECT_BYTES} bytes`,
  );
}

/** An object of 1.5 MiB, the most that a cluster keeps, with room for what is escaped. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;
const MAX_QUOTED = 300;
const NEWLINE = 0x0a;

export interface WatchEvent {
  readonly type: unknown;
  readonly object: unknown;
}

/**
 * The events of a watch, one per line. What follows the last line break was cut off, and is none.
 *
 * @throws ClusterError for what is no event; whatever else it throws, the connection broke.
 */
export async function* watchEvents(
  collection: ResourceCollection,
  stream: AsyncIterable<Buffer>,
): AsyncGenerator<WatchEvent> {
  for await (const line of wholeLines(collection, stream)) yield parseEvent(collection, line);
}

/** What an event of type ERROR says: its object is a Status. */
export function statusError(collection: ResourceCollection, status: unknown): ClusterError {
  const code = member(status, 'code');
  const message = member(status, 'message');
  const seconds = member(member(status, 'details'), 'retryAfterSeconds');
  return new ClusterError(
    `The API server ended the watch of ${describeCollection(collection)}: ${typeof message === 'string' ? message.slice(0, MAX_QUOTED) : String(code)}`,
    typeof code === 'number' ? code : undefined,
    typeof seconds === 'number' ? seconds * 1_000 : null,
  );
}

async function* wholeLines(
  collection: ResourceCollection,
  stream: AsyncIterable<Buffer>,
): AsyncGenerator<string> {
  let parts: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      parts.push(chunk.subarray(start, end));
      const line = Buffer.concat(parts).toString().trim();
      if (line !== '') yield line;
      parts = [];
      length = 0;
      start = end + 1;
    }
    parts.push(chunk.subarray(start));
    length += chunk.length - start;
    if (length > MAX_LINE_BYTES)
      throw new ClusterError(
        `The API server sent an event in a watch of ${describeCollection(collection)} that has more than ${MAX_LINE_BYTES} bytes`,
      );
  }
}

function parseEvent(collection: ResourceCollection, line: string): WatchEvent {
  try {
    const event = JSON.parse(line) as unknown;
    return { type: member(event, 'type'), object: member(event, 'object') };
  } catch {
    throw new ClusterError(
      `The API server sent something in a watch of ${describeCollection(collection)} that is no event`,
    );
  }
}
