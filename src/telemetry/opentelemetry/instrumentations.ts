import { EventEmitter } from 'node:events';
import { type IncomingMessage, Server } from 'node:http';
import { type Attributes, type AttributeValue, context, type Context, trace } from '@opentelemetry/api';
import type { W3CTraceContextPropagator } from '@opentelemetry/core';
import type { Instrumentation } from '@opentelemetry/instrumentation';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { PgInstrumentation } from '@opentelemetry/instrumentation-pg';
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici';
import type { ReadableSpan, Span, SpanProcessor } from '@opentelemetry/sdk-trace-node';
import { LRUCache } from 'lru-cache';
import { pathWithoutKeys } from '../../config/registry-keys.js';
import { withoutQuery } from '../../outbound/http-client.js';
import { routeOf } from '../http-metrics.js';

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

/**
 * Lets requests that are in no trace go past the instrumentation of HTTP, which would make a context for each of them and bind the
 * request and its answer to it. To be called once, when the instrumentation is there.
 *
 * @param isUntraced is asked once for each request.
 */
export function passUntraced(isUntraced: (request: IncomingMessage) => boolean): void {
  const traced = Reflect.get(Server.prototype, 'emit') as typeof EventEmitter.prototype.emit;
  const untraced = Reflect.get(EventEmitter.prototype, 'emit') as typeof traced;
  Server.prototype.emit = function (this: Server, event: string | symbol, ...args: unknown[]) {
    const goesPast = event === 'request' && isUntraced(args[0] as IncomingMessage);
    return (goesPast ? untraced : traced).call(this, event, ...args);
  };
}

/** Statements are few and long: each is cleaned once. */
const MAX_KNOWN = 500;
const MAX_LENGTH = 4_000;

const known = new LRUCache<string, string>({ max: MAX_KNOWN });

/**
 * A statement without its literals: strings, dollar-quoted ones too, and numbers become `?`; comments go. What is passed as a
 * parameter (`$1`) is not in the text at all. https://opentelemetry.io/docs/specs/semconv/db/database-spans/#sanitization-of-dbquerytext
 */
export function withoutLiterals(statement: string): string {
  const before = known.get(statement);
  if (before !== undefined) return before;
  const text = statement
    .slice(0, 4 * MAX_LENGTH)
    .replaceAll(LITERALS, (found) =>
      /^(--|\/\*)/.test(found) ? ' ' : /^["$]\d*$|^"/.test(found) ? found : '?',
    )
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, MAX_LENGTH);
  known.set(statement, text);
  return text;
}

/** Comments, quoted names, parameters, strings and numbers, whichever comes first; one that is cut off reaches to the end. */
const LITERALS =
  /--[^\n]*|\/\*[^]*?(?:\*\/|$)|"(?:[^"]|"")*(?:"|$)|\$\d+|(\$\w*\$)[^]*?(?:\1|$)|(?:\b[exb]|\bu&)?'(?:[^'\\]|''|\\[^])*(?:'|$)|(?<![\w$.])\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?\b/gi;

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
