import {
  type Attributes,
  type AttributeValue,
  type Context,
  context,
  isSpanContextValid,
  ROOT_CONTEXT,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api';
import type { ReadableSpan, Span, SpanProcessor } from '@opentelemetry/sdk-trace-node';
import { pathWithoutKeys } from '../../validation/redaction.js';
import type { Tracing } from '../tracing.js';

type Redaction = (value: AttributeValue) => AttributeValue;

const unchanged: Redaction = (value) => value;

/** Exported span attributes. All others are dropped. */
const EXPORTED: ReadonlyMap<string, Redaction> = new Map(
  Object.entries<Redaction>({
    'http.request.method': unchanged,
    'http.response.status_code': unchanged,
    'http.route': unchanged,
    'url.scheme': unchanged,
    'url.path': (value) => pathWithoutKeys(String(value)),
    // Set on outgoing requests.
    'url.full': (value) => new URL(String(value)).origin,
    'server.address': unchanged,
    'server.port': unchanged,
    'network.protocol.version': unchanged,
    'error.type': unchanged,
    'db.system.name': unchanged,
    'db.namespace': unchanged,
    'db.operation.name': unchanged,
    // Values are parameters, which are not in the text.
    'db.query.text': unchanged,
    'registry.error.code': unchanged,
    'registry.source.name': unchanged,
    'registry.source.kind': unchanged,
    'registry.sync.outcome': unchanged,
    'registry.sync.entries': unchanged,
  }),
);

/**
 * Redacts spans before export: no headers, query strings, client addresses or statement values. Error messages may
 * quote data, so only the error status is exported.
 */
export class SpanRedaction implements SpanProcessor {
  constructor(private readonly next: SpanProcessor) {}

  onStart(span: Span, parent: Context): void {
    this.next.onStart(span, parent);
  }

  onEnd(span: ReadableSpan): void {
    this.next.onEnd(redacted(span));
  }

  forceFlush(): Promise<void> {
    return this.next.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.next.shutdown();
  }
}

function redacted(span: ReadableSpan): ReadableSpan {
  return Object.create(span, {
    attributes: { value: exportedAttributes(span.attributes) },
    status: { value: { code: span.status.code } },
    events: { value: [] },
    links: { value: [] },
  }) as ReadableSpan;
}

function exportedAttributes(attributes: Attributes): Attributes {
  const exported: Attributes = {};
  for (const name in attributes) {
    const value = attributes[name];
    const redact = EXPORTED.get(name);
    if (redact && value !== undefined) exported[name] = redact(value);
  }
  // The path of a webhook is a secret, as is the query of some other URLs.
  if ('url.full' in exported) delete exported['url.path'];
  return exported;
}

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
