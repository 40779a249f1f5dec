import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from './errors.js';

/** RFC 9112 §3.2: a request of HTTP/1.1 without a Host header is answered with 400, and so is any with more than one. */
export function refuseUnclearHost(
  { headers, httpVersion, rawHeaders }: IncomingMessage,
  _response: ServerResponse,
  next: (error?: unknown) => void,
): void {
  const isMissing = headers.host === undefined && httpVersion === '1.1';
  next(isMissing || hasTwoHosts(rawHeaders) ? new ApiError('malformed_request') : undefined);
}

// Node keeps the first one; a proxy in front may have looked at the other.
function hasTwoHosts(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  for (let position = 0; position < rawHeaders.length; position += 2)
    if (rawHeaders[position]?.length === 4 && rawHeaders[position]?.toLowerCase() === 'host') hosts += 1;
  return hosts > 1;
}
