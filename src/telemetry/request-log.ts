import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { pinoHttp } from 'pino-http';

/** Ids of a proxy in front are kept when they are plain; anything else gets one of ours. */
const PLAIN_ID = /^[A-Za-z0-9_-]{8,64}$/;

/** Gives each request an id, in `X-Request-Id` and the log, and writes one line when it ends. No header is logged, nor the query string. */
export function requestLog(logger: Logger): ReturnType<typeof pinoHttp<IncomingMessage, ServerResponse>> {
  return pinoHttp<IncomingMessage, ServerResponse>({
    logger,
    genReqId: (request, response) => {
      const sent = request.headers['x-request-id'];
      const id = typeof sent === 'string' && PLAIN_ID.test(sent) ? sent : randomUUID();
      response.setHeader('X-Request-Id', id);
      return id;
    },
    serializers: {
      req: (request: { id: string; method: string; url: string }) => ({
        id: request.id,
        method: request.method,
        path: request.url.split('?', 1)[0],
      }),
      res: (response: { statusCode: number }) => ({ status: response.statusCode }),
      // The error filter has logged the cause already.
      err: () => undefined,
    },
    customLogLevel: (_request, response) => (response.statusCode >= 500 ? 'error' : 'info'),
    customSuccessMessage: () => 'request',
    customErrorMessage: () => 'request',
  });
}
