import type { IncomingMessage, ServerResponse } from 'node:http';

const CONSUMER_PATH = /^(\/registry(?:\/[^?]*[^/?])?)\/(?=\?|$)/;

/** contract §6: one trailing slash is accepted by the consumer API. Comes before anything that looks at the path. */
export function dropTrailingSlash(request: IncomingMessage, _: ServerResponse, next: () => void): void {
  request.url = request.url?.replace(CONSUMER_PATH, '$1');
  next();
}
