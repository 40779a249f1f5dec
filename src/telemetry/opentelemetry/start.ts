import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import { diag, type DiagLogger, DiagLogLevel } from '@opentelemetry/api';
import { setGlobalErrorHandler } from '@opentelemetry/core';
import { type Instrumentation, registerInstrumentations } from '@opentelemetry/instrumentation';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { PgInstrumentation } from '@opentelemetry/instrumentation-pg';
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici';
import {
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import {
  MeterProvider,
  PeriodicExportingMetricReader,
  type PushMetricExporter,
} from '@opentelemetry/sdk-metrics';
import {
  BatchSpanProcessor,
  NodeTracerProvider,
  ParentBasedSampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-node';
import type { Logger } from 'pino';
import type { OtlpTarget, TelemetryConfig } from '../../config/telemetry-config.js';
import type { Metrics } from '../metrics.js';
import { routeOf } from '../requests.js';
import { useTracing } from '../tracing.js';
import { MetricsProducer } from './metrics-producer.js';
import { SpanRedaction, spanTracing } from './spans.js';
import { addTraceparentFor, receivedTraceparent } from './traceparent.js';

/** The minimum interval between log lines, because every export fails while a collector is down. */
const REPEAT_MS = 5 * 60_000;

/**
 * Logs OpenTelemetry's export errors, at most once every five minutes. Logs only the kind of error: messages may quote
 * the collector's response.
 */
class ExportProblems implements DiagLogger {
  private reportedAt = -Infinity;

  constructor(private readonly logger: Logger) {}

  report(problem: unknown): void {
    const now = performance.now();
    if (now - this.reportedAt < REPEAT_MS) return;
    this.reportedAt = now;
    this.logger.warn(
      { context: 'telemetry', error: kindOf(problem) },
      'Traces or metrics could not be sent and were dropped',
    );
  }

  error = (_message: string, ...args: unknown[]) => this.report(args[0]);
  warn = () => this.report('spans dropped');
  info = () => undefined;
  debug = () => undefined;
  verbose = () => undefined;
}

function kindOf(problem: unknown): string {
  if (!(problem instanceof Error))
    return typeof problem === 'string' && problem.length < 50 ? problem : 'unknown';
  const { code } = problem as Error & { code?: unknown };
  return code === undefined ? problem.name : String(code).slice(0, 50);
}

/** Headers, certificates, compression and the timeout come from OTEL_EXPORTER_OTLP_… variables. */
async function spanExporter({ url, protocol }: OtlpTarget): Promise<SpanExporter> {
  const { OTLPTraceExporter } =
    protocol === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto');
  return new OTLPTraceExporter({ url });
}

async function metricExporter({ url, protocol }: OtlpTarget): Promise<PushMetricExporter> {
  const { OTLPMetricExporter } =
    protocol === 'http/json'
      ? await import('@opentelemetry/exporter-metrics-otlp-http')
      : await import('@opentelemetry/exporter-metrics-otlp-proto');
  return new OTLPMetricExporter({ url });
}

/** Time limit for the final export at shutdown. */
const LAST_EXPORT_MS = 2_000;

export interface StartedOpenTelemetry {
  stop(): Promise<void>;
}

/**
 * Starts OpenTelemetry, which exports traces and the metrics of `/metrics` over OTLP. Only this module loads the SDK.
 * Call this function before importing the application, because instrumentation patches the classes of `http` and `pg`.
 */
export async function startOpenTelemetry(
  config: TelemetryConfig,
  version: string,
  metrics: Metrics,
  logger: Logger,
): Promise<StartedOpenTelemetry> {
  const problems = new ExportProblems(logger);
  diag.setLogger(problems, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  setGlobalErrorHandler((error) => problems.report(error));
  const resource = resourceOf(version);
  const traces = await startTraces(config, resource);
  const sentMetrics = await startMetrics(config, resource, metrics);
  return {
    stop: async () => {
      const ended = Promise.allSettled([traces?.shutdown(), sentMetrics?.shutdown()]);
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, LAST_EXPORT_MS).unref())]);
    },
  };
}

// OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES override these attributes.
function resourceOf(version: string): Resource {
  const own = resourceFromAttributes({
    'service.name': 'registry-server',
    'service.version': version,
    'service.instance.id': randomUUID(),
  });
  return own.merge(detectResources({ detectors: [envDetector] }));
}

async function startTraces(
  { traces, sampleRatio, propagates, traceparentHosts }: TelemetryConfig,
  resource: Resource,
): Promise<NodeTracerProvider | null> {
  if (!traces) return null;
  const provider = new NodeTracerProvider({
    resource,
    // The provider would otherwise read OTEL_TRACES_SAMPLER. Sampled traces of callers are continued
    // (reference/configuration).
    ...(sampleRatio === null
      ? {}
      : { sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sampleRatio) }) }),
    spanProcessors: [new SpanRedaction(new BatchSpanProcessor(await spanExporter(traces)))],
  });
  provider.register({ propagator: receivedTraceparent(propagates) });
  registerInstrumentations({
    tracerProvider: provider,
    instrumentations: instrumentations(propagates ? traceparentHosts : []),
  });
  // Instrumentation hooks into require(). Once a module has been required, even ES modules get its patched classes.
  const require = createRequire(import.meta.url);
  for (const name of ['http', 'pg']) require(name);
  useTracing(spanTracing(provider.getTracer('registry-server')));
  return provider;
}

async function startMetrics(
  { metrics: target, metricIntervalMs }: TelemetryConfig,
  resource: Resource,
  metrics: Metrics,
): Promise<MeterProvider | null> {
  if (!target) return null;
  const exporter = await metricExporter(target);
  return new MeterProvider({
    resource,
    readers: [
      new PeriodicExportingMetricReader({
        exporter,
        exportIntervalMillis: metricIntervalMs,
        exportTimeoutMillis: Math.min(metricIntervalMs, 30_000),
        metricProducers: [new MetricsProducer(metrics, resource)],
      }),
    ],
  });
}

/** Polled by probes and Prometheus on the internal port (reference/commands); never traced. */
const INTERNAL_PATHS = new Set(['/health', '/readiness', '/version', '/metrics']);

/**
 * Instruments incoming requests, SQL statements and outgoing requests. Statements and outgoing requests need a parent
 * span: otherwise polling every half second would flood the collector.
 */
function instrumentations(traceparentHosts: readonly string[]): Instrumentation[] {
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
      // The span would otherwise get the name of the prepared statement, which is a hash.
      requestHook: (span, { query, connection }) => {
        if (!span.isRecording()) return;
        const [operation = ''] = /[a-z]+/i.exec(query.text) ?? [];
        span.setAttribute('db.operation.name', operation.toUpperCase());
        span.updateName(`${operation.toUpperCase()} ${connection.database}`);
      },
    }),
    new UndiciInstrumentation({
      requireParentforSpans: true,
      requestHook: addTraceparentFor(traceparentHosts),
    }),
  ];
}
