import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';

declare module 'node:http' {
  interface IncomingMessage {
    /** In the log, in errors and in `X-Request-Id`. */
    id: string;
  }
}

/** An id from a proxy in front is kept when it looks like this; otherwise the request gets one of ours. */
const PLAIN_ID = /^[A-Za-z0-9_-]{8,64}$/;

/**
 * Gives each request an id, in `X-Request-Id` and the log, and writes one line when it ends. No header is logged, nor the
 * query string.
 */
export function requestLog(
  logger: Logger,
): (request: IncomingMessage, response: ServerResponse, next: () => void) => void {
  return (request, response, next) => {
    const began = performance.now();
    const sent = request.headers['x-request-id'];
    const id = typeof sent === 'string' && PLAIN_ID.test(sent) ? sent : randomUUID();
    const { method } = request;
    request.id = id;
    response.setHeader('X-Request-Id', id);
    response.once('close', () => {
      const status = response.statusCode;
      // The error filter has logged the cause of a 5xx already. A 501 is no fault of ours.
      logger[status >= 500 && status !== 501 ? 'error' : 'info'](
        {
          req: { id, method, path: request.pathToLog },
          res: { status },
          responseTime: Math.round(performance.now() - began),
          ...(response.writableFinished ? {} : { aborted: true }),
        },
        'request',
      );
    });
    next();
  };
}
