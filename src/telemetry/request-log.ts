import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { type HttpMetrics, routeOf } from './http-metrics.js';
import { tracing } from './tracing.js';

/** Error of a refused or failed request. */
export interface RequestRefusal {
  /** Error code of the response. */
  readonly code: string;
  /** Step of request processing that refused it. */
  readonly step?: string | undefined;
}

/** The logged parts of a caller. */
export interface RequestSubject {
  readonly subject: string | null;
  readonly claims: Readonly<Record<string, unknown>>;
}

declare module 'node:http' {
  interface IncomingMessage {
    /** Trace of the request, if traced. */
    traceId?: string;
    /** Runs work in the trace context of the request. */
    inTrace?: ((work: () => void) => void) | undefined;
    /** Set by the error filter. */
    refusal?: RequestRefusal;
  }
}

/**
 * Assigns each request an id, sent as `X-Request-Id`; logs and counts it when it ends. Headers and query strings are never
 * logged.
 *
 * @param subjectOf returns the caller of a request, once authenticated.
 * @param onRefused called at the end of each refused or failed request.
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
      const durationMs = performance.now() - began;
      const route = routeOf(request);
      const { refusal } = request;
      const status = response.headersSent ? response.statusCode : null;
      metrics.ended({ method, route, status, seconds: durationMs / 1_000, code: refusal?.code });
      if (refusal) onRefused(request, refusal);
      // The error filter logs the cause of a 5xx. A 501 is a client error.
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
          responseTime: Math.round(durationMs),
          ...(response.writableFinished ? {} : { aborted: true }),
        },
        'request',
      );
    });
    next();
  };
}

/** Restores the trace context after middleware that queues requests: another request's context dequeues them. */
export function resumeTrace(request: IncomingMessage, _response: ServerResponse, next: () => void): void {
  if (request.inTrace) request.inTrace(next);
  else next();
}
