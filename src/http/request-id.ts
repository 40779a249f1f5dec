import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

declare module 'node:http' {
  interface IncomingMessage {
    /** In the log, in errors and in `X-Request-Id`. */
    id: string;
  }
}

/** An id from a proxy in front is kept when it looks like this; otherwise the request gets one of ours. */
const PLAIN_ID = /^[A-Za-z0-9_-]{8,64}$/;

/** The id by which a request is found again: that of its `X-Request-Id`, if it may be kept, or a new one. */
export function requestIdFor({ headers }: IncomingMessage): string {
  const sent = headers['x-request-id'];
  return typeof sent === 'string' && PLAIN_ID.test(sent) ? sent : randomUUID();
}
