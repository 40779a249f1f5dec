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

/** An open watch. */
export interface Watcher {
  readonly plural: string;
  readonly namespace: string | null;
  readonly version: string;
  readonly bookmarks: boolean;
  readonly metadataOnly: boolean;
  /** No event up to this revision is sent; it may be in the future. */
  readonly from: number;
  readonly response: ServerResponse;
}

/** Sends a change, if the watch covers it. */
export function sendChange(watcher: Watcher, { at, plural, type, object }: Change): void {
  if (plural !== watcher.plural || at <= watcher.from) return;
  if (watcher.namespace !== null && watcher.namespace !== object.metadata.namespace) return;
  write(watcher, { type, object: watcher.metadataOnly ? metadataOf(object) : object });
}

/** Sends a bookmark with the newest revision. */
export function bookmark(watcher: Watcher, revision: number): void {
  if (!watcher.bookmarks || revision < watcher.from) return;
  write(watcher, {
    type: 'BOOKMARK',
    object: { kind: 'x', metadata: { resourceVersion: String(revision) } },
  });
}

/** The object reduced to its metadata. */
export function metadataOf({ metadata }: ClusterObject): object {
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata };
}

/** Writes an event as a line. Chunk boundaries are arbitrary, even within a character. */
export function write({ response }: Watcher, event: object): void {
  const bytes = Buffer.from(`${JSON.stringify(event)}\n`);
  const middle = Math.floor(bytes.length / 2);
  response.write(bytes.subarray(0, middle));
  response.write(bytes.subarray(middle));
}

/** A Status object, as an API server reports errors. */
export function status(code: number, message: string, retryAfterSeconds?: number): object {
  const details = retryAfterSeconds === undefined ? {} : { details: { retryAfterSeconds } };
  return { kind: 'Status', apiVersion: 'v1', status: 'Failure', message, ...details, code };
}
