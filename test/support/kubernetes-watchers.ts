import type { ServerResponse } from 'node:http';

export interface ClusterObject {
  metadata: {
    namespace: string;
    name: string;
    uid: string;
    resourceVersion: string;
    annotations: Record<string, string>;
  };
  [member: string]: unknown;
}

export interface Change {
  readonly at: number;
  readonly plural: string;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: ClusterObject;
}

/** One watch that is open. */
export interface Watcher {
  readonly plural: string;
  readonly namespace: string | null;
  readonly version: string;
  readonly bookmarks: boolean;
  readonly metadataOnly: boolean;
  /** Nothing up to this revision is told, though it may be one that is still to come. */
  readonly from: number;
  readonly response: ServerResponse;
}

/** Tells of a change, if it is one of what is watched. */
export function tell(watcher: Watcher, { at, plural, type, object }: Change): void {
  if (plural !== watcher.plural || at <= watcher.from) return;
  if (watcher.namespace !== null && watcher.namespace !== object.metadata.namespace) return;
  write(watcher, { type, object: watcher.metadataOnly ? metadataOf(object) : object });
}

/** Tells of the newest revision. */
export function bookmark(watcher: Watcher, revision: number): void {
  if (!watcher.bookmarks || revision < watcher.from) return;
  write(watcher, {
    type: 'BOOKMARK',
    object: { kind: 'x', metadata: { resourceVersion: String(revision) } },
  });
}

/** What is left of an object for who asks for metadata. */
export function metadataOf({ metadata }: ClusterObject): object {
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata };
}

/** Writes an event as a line. Chunks end where they like, also inside a character. */
export function write({ response }: Watcher, event: object): void {
  const bytes = Buffer.from(`${JSON.stringify(event)}\n`);
  const middle = Math.floor(bytes.length / 2);
  response.write(bytes.subarray(0, middle));
  response.write(bytes.subarray(middle));
}

/** How an API server says what went wrong. */
export function status(code: number, message: string, retryAfterSeconds?: number): object {
  const details = retryAfterSeconds === undefined ? {} : { details: { retryAfterSeconds } };
  return { kind: 'Status', apiVersion: 'v1', status: 'Failure', message, ...details, code };
}
