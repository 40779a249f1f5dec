import type { IncomingMessage } from 'node:http';
import { context, trace } from '@opentelemetry/api';
import type { W3CTraceContextPropagator } from '@opentelemetry/core';
import type { Instrumentation } from '@opentelemetry/instrumentation';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { PgInstrumentation } from '@opentelemetry/instrumentation-pg';
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici';
import { routeOf } from '../requests.js';

/** Polled by probes and Prometheus on the internal port (reference/commands); never traced. */
const INTERNAL_PATHS = new Set(['/health', '/readiness', '/version', '/metrics']);

interface Choices {
  /**
   * Hosts to which outgoing requests carry `traceparent`. That header lets the receiver correlate requests, so it is
   * not sent to third parties such as identity providers.
   */
  readonly traceparentHosts: ReadonlySet<string>;
  readonly propagator: W3CTraceContextPropagator;
}

/**
 * Instruments incoming requests, SQL statements and outgoing requests. Statements and outgoing requests need a parent
 * span: otherwise polling every half second would flood the collector.
 */
export function instrumentations({ traceparentHosts, propagator }: Choices): Instrumentation[] {
  return [
    new HttpInstrumentation({
      disableOutgoingRequestInstrumentation: true,
      ignoreIncomingRequestHook: ({ url }) => INTERNAL_PATHS.has(url?.split('?', 1)[0] ?? ''),
      applyCustomAttributesOnSpan: (span, request) => {
        if (!span.isRecording()) return;
        const incoming = request as IncomingMessage;
        const route = routeOf(incoming);
        if (route !== undefined) {
          span.setAttribute('http.route', route);
          span.updateName(`${incoming.method} ${route}`);
        }
        if (incoming.refusal) span.setAttribute('registry.error.code', incoming.refusal.code);
      },
    }),
    new PgInstrumentation({
      requireParentSpan: true,
      // By default the span is named after the prepared statement, whose name is a hash.
      requestHook: (span, { query, connection }) => {
        if (!span.isRecording()) return;
        const [operation = ''] = /[a-z]+/i.exec(query.text) ?? [];
        span.setAttribute('db.operation.name', operation.toUpperCase());
        span.updateName(`${operation.toUpperCase()} ${connection.database}`);
      },
    }),
    new UndiciInstrumentation({
      requireParentforSpans: true,
      requestHook: (span, request) => {
        if (!traceparentHosts.has(new URL(request.origin).hostname)) return;
        propagator.inject(trace.setSpan(context.active(), span), request, {
          set: ({ addHeader }, name, value) => addHeader.call(request, name, value),
        });
      },
    }),
  ];
}
