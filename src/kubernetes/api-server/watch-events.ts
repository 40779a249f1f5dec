import { member } from '../../json/json-values.js';
import { describeCollection, type ResourceCollection } from '../custom-resources.js';
import { ClusterError } from './cluster-error.js';

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
