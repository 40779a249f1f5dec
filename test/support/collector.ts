import { createServer, type ServerResponse } from 'node:http';
import { close, listen, urlOf } from './loopback.js';

interface SentAttribute {
  readonly key: string;
  readonly value: Record<string, unknown>;
}

interface SentSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly attributes?: SentAttribute[];
}

export interface CapturedSpan {
  readonly traceId: string;
  readonly id: string;
  readonly parent: string | undefined;
  readonly name: string;
  readonly began: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
}

export interface SentMetric {
  readonly name: string;
  readonly unit: string;
  readonly sum?: { dataPoints: { attributes: SentAttribute[]; asDouble: number }[]; isMonotonic: boolean };
  readonly gauge?: { dataPoints: { attributes: SentAttribute[]; asDouble: number }[] };
  readonly histogram?: {
    dataPoints: {
      attributes: SentAttribute[];
      count: number;
      bucketCounts: number[];
      explicitBounds: number[];
    }[];
  };
}

/** How the collector responds: correctly, never, with garbage, or with errors. */
export type CollectorMood = 'good' | 'silent' | 'rubbish' | 'failing';

/** Receives traces and metrics by OTLP/HTTP as JSON and stores them. */
export class Collector {
  mood: CollectorMood = 'good';
  /** All received bodies, as text. */
  received = '';
  requests = 0;
  readonly spans: CapturedSpan[] = [];
  readonly metrics = new Map<string, SentMetric>();
  private readonly waiting = new Set<ServerResponse>();
  private readonly server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      this.requests += 1;
      const text = Buffer.concat(chunks).toString();
      this.received += `${JSON.stringify(request.headers)}\n${text}\n`;
      if (request.headers['content-type'] === 'application/json') this.take(request.url ?? '', text);
      this.answer(response);
    });
  });

  async start(): Promise<void> {
    await listen(this.server);
  }

  async stop(): Promise<void> {
    await close(this.server);
  }

  get url(): string {
    return urlOf(this.server);
  }

  /** Environment of a service that exports everything to this collector without delay. */
  get environment(): Record<string, string> {
    return {
      OTEL_EXPORTER_OTLP_ENDPOINT: this.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_TRACES_SAMPLER: 'always_on',
      OTEL_BSP_SCHEDULE_DELAY: '100',
      OTEL_METRIC_EXPORT_INTERVAL: '500',
    };
  }

  named(name: string): CapturedSpan[] {
    return this.spans.filter((span) => span.name === name);
  }

  /** The span and its descendants, one per line, in order of start. */
  tree(root: CapturedSpan, depth = 0): string[] {
    const below = this.spans
      .filter(({ parent, traceId }) => parent === root.id && traceId === root.traceId)
      .sort((one, other) => Number(one.began - other.began));
    return [`${'  '.repeat(depth)}${root.name}`, ...below.flatMap((span) => this.tree(span, depth + 1))];
  }

  private take(path: string, text: string): void {
    const sent = JSON.parse(text) as {
      resourceSpans?: { scopeSpans: { spans: SentSpan[] }[] }[];
      resourceMetrics?: { scopeMetrics: { metrics: SentMetric[] }[] }[];
    };
    if (path === '/v1/traces')
      for (const { scopeSpans } of sent.resourceSpans ?? [])
        for (const { spans } of scopeSpans) this.spans.push(...spans.map(captured));
    if (path === '/v1/metrics')
      for (const { scopeMetrics } of sent.resourceMetrics ?? [])
        for (const { metrics } of scopeMetrics)
          for (const metric of metrics) this.metrics.set(metric.name, metric);
  }

  private answer(response: ServerResponse): void {
    switch (this.mood) {
      case 'good':
        response.setHeader('Content-Type', 'application/json').end('{}');
        return;
      case 'silent':
        this.waiting.add(response);
        return;
      case 'rubbish':
        response.setHeader('Content-Type', 'application/json').end('\u0000<html>{"partialSuccess":');
        return;
      case 'failing':
        response.writeHead(503, { 'Retry-After': 'soon' }).end('no');
    }
  }
}

/** Attribute values by name. */
export function valuesOf(attributes: readonly SentAttribute[] = []): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}

function captured(span: SentSpan): CapturedSpan {
  return {
    traceId: span.traceId,
    id: span.spanId,
    parent: span.parentSpanId || undefined,
    name: span.name,
    began: BigInt(span.startTimeUnixNano),
    attributes: valuesOf(span.attributes),
  };
}
