import type { Attributes, AttributeValue, Context } from '@opentelemetry/api';
import type { ReadableSpan, Span, SpanProcessor } from '@opentelemetry/sdk-trace-node';
import { pathWithoutKeys } from '../../config/registry-keys.js';
import { withoutQuery } from '../../outbound/http-client.js';
import { withoutLiterals } from './statement-text.js';

type Kept = (value: AttributeValue) => AttributeValue;
const asItIs: Kept = (value) => value;

/** Everything a span may say: what is not named here does not leave the process. */
const KEPT: ReadonlyMap<string, Kept> = new Map(
  Object.entries<Kept>({
    'http.request.method': asItIs,
    'http.response.status_code': asItIs,
    'http.route': asItIs,
    'url.scheme': asItIs,
    'url.path': (value) => pathWithoutKeys(String(value)),
    // Of requests of ours. The query may hold what opens the address.
    'url.full': (value) => withoutQuery(String(value)),
    'server.address': asItIs,
    'server.port': asItIs,
    'network.protocol.version': asItIs,
    'error.type': asItIs,
    'db.system.name': asItIs,
    'db.namespace': asItIs,
    'db.operation.name': asItIs,
    'db.query.text': (value) => withoutLiterals(String(value)),
    'registry.error.code': asItIs,
    'registry.source.name': asItIs,
    'registry.source.kind': asItIs,
    'registry.sync.outcome': asItIs,
    'registry.sync.entries': asItIs,
  }),
);

/**
 * Passes spans on with what may be told of them: no headers, no query strings, no addresses of clients, no values of statements,
 * and of errors only that there was one, since messages quote what they are about.
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

// A copy, which waits for its turn to be sent: the span itself holds what the client has sent.
function redacted(span: ReadableSpan): ReadableSpan {
  const spanContext = span.spanContext();
  return {
    name: span.name,
    kind: span.kind,
    spanContext: () => spanContext,
    ...(span.parentSpanContext ? { parentSpanContext: span.parentSpanContext } : {}),
    startTime: span.startTime,
    endTime: span.endTime,
    duration: span.duration,
    ended: span.ended,
    resource: span.resource,
    instrumentationScope: span.instrumentationScope,
    attributes: keptOf(span.attributes),
    status: { code: span.status.code },
    events: [],
    links: [],
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

/** The attributes that may be told, each in the form in which it may be. */
export function keptOf(attributes: Attributes): Attributes {
  const kept: Attributes = {};
  for (const name in attributes) {
    const value = attributes[name];
    const keep = KEPT.get(name);
    if (keep && value !== undefined) kept[name] = keep(value);
  }
  return kept;
}
