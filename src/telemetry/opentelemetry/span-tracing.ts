import {
  context,
  isSpanContextValid,
  ROOT_CONTEXT,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api';
import type { Tracing } from '../tracing.js';

export function spanTracing(tracer: Tracer): Tracing {
  return {
    traceId: () => {
      const active = trace.getActiveSpan()?.spanContext();
      return active && isSpanContextValid(active) ? active.traceId : undefined;
    },
    capture: () => {
      const captured = context.active();
      return (work) => (context.active() === captured ? work() : context.with(captured, work));
    },
    outside: (work) => context.with(ROOT_CONTEXT, work),
    inSpan: (name, attributes, work, { newTrace = false } = {}) =>
      tracer.startActiveSpan(name, { attributes: { ...attributes }, root: newTrace }, async (span) => {
        try {
          return await work((more) => span.setAttributes({ ...more }));
        } catch (error) {
          span.setAttribute('error.type', error instanceof Error ? error.name : typeof error);
          span.setStatus({ code: SpanStatusCode.ERROR });
          throw error;
        } finally {
          span.end();
        }
      }),
  };
}
