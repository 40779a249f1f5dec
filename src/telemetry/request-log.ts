import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { type HttpMetrics, routeOf } from './http-metrics.js';
import { tracing } from './tracing.js';

/** Why a request was refused or failed. */
export interface RequestRefusal {
  /** That of the answer. */
  readonly code: string;
  /** Which of the steps that a request passes has said so. */
  readonly step?: string | undefined;
}

/** Who was found to have sent a request, as far as the log tells. */
export interface RequestSubject {
  readonly subject: string | null;
  readonly claims: Readonly<Record<string, unknown>>;
}

declare module 'node:http' {
  interface IncomingMessage {
    /** The trace that the request belongs to, when there is tracing. */
    traceId?: string;
    /** Does work as part of that trace, or of none. */
    inTrace?: ((work: () => void) => void) | undefined;
    /** Left here by what writes error answers. */
    refusal?: RequestRefusal;
  }
}

/**
 * Gives each request an id, in `X-Request-Id` and the log, and writes one line when it ends; what it says is counted too. No
 * header is logged, nor the query string.
 *
 * @param idFor the id of a request that has just come.
 * @param subjectOf who has sent the request, once that is known.
 * @param onRefused is told of each request that was refused or failed, when it ends.
 */
export function requestLog(
  logger: Logger,
  metrics: HttpMetrics,
  idFor: (request: IncomingMessage) => string,
  subjectOf: (request: IncomingMessage) => RequestSubject | undefined,
  onRefused: (request: IncomingMessage, refusal: RequestRefusal) => void = () => undefined,
): (request: IncomingMessage, response: ServerResponse, next: () => void) => void {
  return (request, response, next) => {
    const began = performance.now();
    const id = idFor(request);
    const { method } = request;
    const traceId = tracing.traceId();
    request.id = id;
    if (traceId !== undefined) request.traceId = traceId;
    request.inTrace = tracing.capture();
    response.setHeader('X-Request-Id', id);
    metrics.began();
    response.once('close', () => {
      const took = performance.now() - began;
      const route = routeOf(request);
      const { refusal } = request;
      const status = response.headersSent ? response.statusCode : null;
      metrics.ended({ method, route, status, seconds: took / 1_000, code: refusal?.code });
      if (refusal) onRefused(request, refusal);
      // The error filter has logged the cause of a 5xx already. A 501 is no fault of ours.
      const level = status !== null && status >= 500 && status !== 501 ? 'error' : 'info';
      if (!logger.isLevelEnabled(level)) return;
      const { subject, claims } = subjectOf(request) ?? {};
      const issuer = claims?.['iss'];
      logger[level](
        {
          requestId: id,
          ...(traceId === undefined ? {} : { traceId }),
          method,
          path: request.pathToLog,
          ...(route === undefined ? {} : { route }),
          status,
          ...(typeof subject === 'string' ? { subject } : {}),
          ...(typeof issuer === 'string' ? { issuer } : {}),
          ...refusal,
          responseTime: Math.round(took),
          ...(response.writableFinished ? {} : { aborted: true }),
        },
        'request',
      );
    });
    next();
  };
}

/** After whatever lets requests wait: what begins one of them is part of another's trace. */
export function resumeTrace(request: IncomingMessage, _response: ServerResponse, next: () => void): void {
  if (request.inTrace) request.inTrace(next);
  else next();
}
