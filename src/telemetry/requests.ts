import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { Counter, Gauge, Histogram } from 'prom-client';
import type { Metrics } from './metrics.js';
import { tracing } from './tracing.js';

/** Bucket boundaries recommended by OpenTelemetry: https://opentelemetry.io/docs/specs/semconv/http/http-metrics/ */
const DURATIONS_S = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
/** Route label for requests that match no route: their paths are arbitrary input. */
const NO_ROUTE = 'unmatched';
/** nginx's status for a client that disconnected before the response. */
const CLIENT_CLOSED_REQUEST = 499;

export interface EndedRequest {
  readonly method: string | undefined;
  readonly route: string | undefined;
  /** Null when no response was sent. */
  readonly status: number | null;
  readonly seconds: number;
  /** Error code of the response. */
  readonly code: string | undefined;
}

/** Request metrics for the public port, named after OpenTelemetry's HTTP conventions. */
export class HttpMetrics {
  private inFlight = 0;
  private readonly durations: Histogram<'http_request_method' | 'http_route' | 'http_response_status_code'>;
  private readonly errors: Counter<'code' | 'http_route'>;

  constructor({ register }: Metrics) {
    const registers = [register];
    this.durations = new Histogram({
      name: 'http_server_request_duration_seconds',
      help: 'Duration of requests, from the headers to the last byte of the response',
      labelNames: ['http_request_method', 'http_route', 'http_response_status_code'],
      buckets: DURATIONS_S,
      registers,
    });
    this.errors = new Counter({
      name: 'registry_errors_total',
      help: 'Refused and failed requests by error code',
      labelNames: ['code', 'http_route'],
      registers,
    });
    const active: Gauge = new Gauge({
      name: 'http_server_active_requests',
      help: 'Requests in flight',
      registers,
      collect: () => active.set(this.inFlight),
    });
  }

  began(): void {
    this.inFlight += 1;
  }

  ended({ method = '', route = NO_ROUTE, status, seconds, code }: EndedRequest): void {
    this.inFlight -= 1;
    const labels = {
      http_request_method: METHODS.has(method) ? method : '_OTHER',
      http_route: route,
      http_response_status_code: status ?? CLIENT_CLOSED_REQUEST,
    };
    this.durations.observe(labels, seconds);
    if (code !== undefined) this.errors.inc({ code, http_route: route });
  }
}

/**
 * Returns the route template of a request, such as `/registry/:registry/v0.1/servers`; undefined without a matching
 * route. Unlike the path, the template has bounded cardinality as a label.
 */
export function routeOf(request: IncomingMessage): string | undefined {
  // Set by Express.
  const { route } = request as IncomingMessage & { route?: { readonly path?: unknown } };
  const path: unknown = Array.isArray(route?.path) ? route.path[0] : route?.path;
  return typeof path === 'string' ? path : undefined;
}

export interface RequestRefusal {
  /** Error code of the response. */
  readonly code: string;
  /** The processing step that refused the request. */
  readonly step?: string | undefined;
}

/** The parts of a caller that are logged. */
export interface RequestSubject {
  readonly subject: string | null;
  readonly issuer: string | null;
  readonly name?: string;
}

declare module 'node:http' {
  interface IncomingMessage {
    traceId?: string;
    /** Runs work in the trace context of the request. */
    inTrace?: ((work: () => void) => void) | undefined;
    /** Set by the error filter. */
    refusal?: RequestRefusal;
  }
}

/**
 * Assigns each request an id and sends it as `X-Request-Id`; logs and counts the request when it ends. Never logs
 * headers or query strings.
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
    const traceId = tracing?.traceId();
    request.id = id;
    if (traceId !== undefined) request.traceId = traceId;
    request.inTrace = tracing?.capture();
    response.setHeader('X-Request-Id', id);
    metrics.began();
    response.once('close', () => {
      const durationMs = performance.now() - began;
      const route = routeOf(request);
      const { refusal } = request;
      const status = response.headersSent ? response.statusCode : null;
      metrics.ended({ method, route, status, seconds: durationMs / 1_000, code: refusal?.code });
      if (refusal) onRefused(request, refusal);
      // The error filter logs the cause of a 5xx. A 501 counts as a client error.
      const level = status !== null && status >= 500 && status !== 501 ? 'error' : 'info';
      if (!logger.isLevelEnabled(level)) return;
      const { subject, issuer, name } = subjectOf(request) ?? {};
      logger[level](
        {
          requestId: id,
          ...(traceId === undefined ? {} : { traceId }),
          method,
          path: request.pathToLog,
          ...(route === undefined ? {} : { route }),
          status,
          ...(typeof subject === 'string' ? { subject } : {}),
          ...(name === undefined ? {} : { displayName: name }),
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

/** Restores the trace context after middleware that queues requests: they are dequeued in another request's context. */
export function resumeTrace(request: IncomingMessage, _response: ServerResponse, next: () => void): void {
  if (request.inTrace) request.inTrace(next);
  else next();
}
