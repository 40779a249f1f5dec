import type { IncomingMessage } from 'node:http';
import { Counter, Gauge, Histogram } from 'prom-client';
import type { Metrics } from './metrics.js';

/** The boundaries that OpenTelemetry recommends: https://opentelemetry.io/docs/specs/semconv/http/http-metrics/ */
const DURATIONS_S = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
/** The one label of all requests that no route has taken: their paths are whatever somebody sends. */
const NO_ROUTE = 'unmatched';
/** The client has gone before there was an answer: the status that proxies write for it. */
const CLIENT_GONE = 499;

/** A request that has been answered, or given up. */
export interface EndedRequest {
  readonly method: string | undefined;
  readonly route: string | undefined;
  /** Null: nothing was sent. */
  readonly status: number | null;
  readonly seconds: number;
  /** The code of the error that was answered. */
  readonly code: string | undefined;
}

/** Metrics of the requests of the public port. Names and labels are those of OpenTelemetry's HTTP conventions. */
export class HttpMetrics {
  private inFlight = 0;
  private readonly durations: Histogram<'http_request_method' | 'http_route' | 'http_response_status_code'>;
  private readonly errors: Counter<'code' | 'http_route'>;

  constructor({ register }: Metrics) {
    const registers = [register];
    this.durations = new Histogram({
      name: 'http_server_request_duration_seconds',
      help: 'How long requests took, from their headers to the last byte of the answer',
      labelNames: ['http_request_method', 'http_route', 'http_response_status_code'],
      buckets: DURATIONS_S,
      registers,
    });
    this.errors = new Counter({
      name: 'registry_errors_total',
      help: 'Requests that were refused or failed, by the code of the answer',
      labelNames: ['code', 'http_route'],
      registers,
    });
    const active: Gauge = new Gauge({
      name: 'http_server_active_requests',
      help: 'Requests that are under way',
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
      http_response_status_code: status ?? CLIENT_GONE,
    };
    this.durations.observe(labels, seconds);
    if (code !== undefined) this.errors.inc({ code, http_route: route });
  }
}

/**
 * The template of the route that has taken a request, such as `/registry/:registry/v0.1/servers`, and never its path: names
 * in paths are without number, and anybody may make some up. Undefined where no route has taken it.
 */
export function routeOf(request: IncomingMessage): string | undefined {
  // Express writes it when it has found the route.
  const { route } = request as IncomingMessage & { route?: { readonly path?: unknown } };
  const path: unknown = Array.isArray(route?.path) ? route.path[0] : route?.path;
  return typeof path === 'string' ? path : undefined;
}
