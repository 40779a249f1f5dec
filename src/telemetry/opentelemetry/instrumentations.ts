import { context, trace } from '@opentelemetry/api';
import type { W3CTraceContextPropagator } from '@opentelemetry/core';
import type { Instrumentation } from '@opentelemetry/instrumentation';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { PgInstrumentation } from '@opentelemetry/instrumentation-pg';
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici';
import type { IncomingMessage } from 'node:http';
import { routeOf } from '../route.js';

interface Choices {
  /**
   * Where requests of ours carry `traceparent`. Nowhere else: it tells its receiver which requests of theirs belong together,
   * and identity providers and other registries are somebody else's.
   */
  readonly traceparentHosts: ReadonlySet<string>;
  readonly propagator: W3CTraceContextPropagator;
}

/**
 * What is traced: requests that come in, statements, and requests that go out. Only what belongs to a trace: what the server
 * asks the database of its own accord, every half second, would be all that one sees.
 */
export function instrumentations({ traceparentHosts, propagator }: Choices): Instrumentation[] {
  return [
    new HttpInstrumentation({
      disableOutgoingRequestInstrumentation: true,
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
      // The name of a prepared statement, which the span has for its own otherwise, tells nobody anything.
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
