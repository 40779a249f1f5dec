import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import { diag, type DiagLogger, DiagLogLevel, SpanKind } from '@opentelemetry/api';
import { parseTraceParent, setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
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
  AlwaysOnSampler,
  BatchSpanProcessor,
  NodeTracerProvider,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-node';
import type { Logger } from 'pino';
import type { OtlpTarget, TelemetryConfig } from '../../config/telemetry-config.js';
import type { Metrics } from '../metrics.js';
import { useTracing } from '../tracing.js';
import { contextManager } from './context-managers.js';
import { instrumentations, passUntraced, SpanRedaction } from './instrumentations.js';
import { MetricsProducer } from './metrics-producer.js';
import { spanTracing } from './span-tracing.js';

/** A collector that is away is away for longer than one export. */
const REPEAT_MS = 5 * 60_000;

/**
 * Where OpenTelemetry complains. Of what goes wrong with sending, the log gets one line in five minutes, with the kind of error
 * alone: messages may quote what the other side has answered.
 */
export class ExportProblems implements DiagLogger {
  private reportedAt = -Infinity;

  constructor(private readonly logger: Logger) {}

  report(problem: unknown): void {
    const now = performance.now();
    if (now - this.reportedAt < REPEAT_MS) return;
    this.reportedAt = now;
    this.logger.warn(
      { context: 'telemetry', error: kindOf(problem) },
      'Traces or metrics could not be sent; what the collector does not take is dropped',
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

/** Sends spans. Headers, certificates, compression and the timeout come from OTEL_EXPORTER_OTLP_… variables. */
export async function spanExporter({ url, protocol }: OtlpTarget): Promise<SpanExporter> {
  const { OTLPTraceExporter } =
    protocol === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto');
  return new OTLPTraceExporter({ url });
}

/** Sends metrics, likewise. */
export async function metricExporter({ url, protocol }: OtlpTarget): Promise<PushMetricExporter> {
  const { OTLPMetricExporter } =
    protocol === 'http/json'
      ? await import('@opentelemetry/exporter-metrics-otlp-http')
      : await import('@opentelemetry/exporter-metrics-otlp-proto');
  return new OTLPMetricExporter({ url });
}

/**
 * Records this share of the traces that begin here, and those that come recorded (contract §2). For a request that names no
 * trace it is decided before anything is done for tracing: nine requests out of ten are then as cheap as without.
 */
export class ShareSampling {
  readonly sampler: Sampler;

  /** @param continues do requests go on with the trace that they name? */
  constructor(
    private readonly ratio: number,
    private readonly continues: boolean,
  ) {
    const others = new TraceIdRatioBasedSampler(ratio);
    const chosen = new AlwaysOnSampler();
    const root: Sampler = {
      shouldSample: (...args) =>
        // A request that is here has been chosen.
        args[3] === SpanKind.SERVER ? chosen.shouldSample() : others.shouldSample(args[0], args[1]),
      toString: () => `ShareSampling{${ratio}}`,
    };
    this.sampler = new ParentBasedSampler({ root });
  }

  /** Is this request in no trace? */
  leavesOut({ headers }: IncomingMessage): boolean {
    return !this.namesTrace(headers['traceparent']) && Math.random() >= this.ratio;
  }

  private namesTrace(header: string | string[] | undefined): boolean {
    return this.continues && typeof header === 'string' && parseTraceParent(header) !== null;
  }
}

/** What is left is sent at the end of the process, if the collector takes it within this time. */
const LAST_EXPORT_MS = 2_000;
/** Asked every few seconds, by machines. None of them exists on the public port (contract §1). */
const INTERNAL_PATHS = new Set(['/health', '/readiness', '/version', '/metrics']);

export interface StartedOpenTelemetry {
  stop(): Promise<void>;
}

/**
 * Starts OpenTelemetry: traces, and the metrics of `/metrics` by OTLP. It is the only module that loads the SDK, and has to run
 * before the application is imported: `http` and `pg` are instrumented by changing their classes in place.
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

// OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES go before what is said here.
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
  const sampling = sampleRatio === null ? null : new ShareSampling(sampleRatio, propagates);
  const provider = new NodeTracerProvider({
    resource,
    // Otherwise the provider does what OTEL_TRACES_SAMPLER says.
    ...(sampling ? { sampler: sampling.sampler } : {}),
    spanProcessors: [new SpanRedaction(new BatchSpanProcessor(await spanExporter(traces)))],
  });
  const propagator = new W3CTraceContextPropagator();
  provider.register({
    contextManager: contextManager(),
    // Requests of ours are given theirs by the instrumentation of undici, which knows where they go.
    propagator: {
      inject: () => undefined,
      extract: (...args) => (propagates ? propagator.extract(...args) : args[0]),
      fields: () => propagator.fields(),
    },
  });
  registerInstrumentations({
    tracerProvider: provider,
    instrumentations: instrumentations({
      traceparentHosts: propagates ? new Set(traceparentHosts) : new Set(),
      propagator,
    }),
  });
  // Instrumentations hook into require(), and this program is imported: it gets the same classes all the same.
  const require = createRequire(import.meta.url);
  for (const name of ['http', 'pg']) require(name);
  passUntraced((request) => isAskedByMachines(request) || (sampling?.leavesOut(request) ?? false));
  useTracing(spanTracing(provider.getTracer('registry-server')));
  return provider;
}

function isAskedByMachines({ url }: IncomingMessage): boolean {
  return INTERNAL_PATHS.has(url?.split('?', 1)[0] ?? '');
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
