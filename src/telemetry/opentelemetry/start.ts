import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import { diag, DiagLogLevel } from '@opentelemetry/api';
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import {
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import type { Logger } from 'pino';
import type { TelemetryConfig } from '../../config/telemetry-config.js';
import type { Metrics } from '../metrics.js';
import { useTracing } from '../tracing.js';
import { contextManager } from './context-manager.js';
import { ExportProblems } from './export-problems.js';
import { metricExporter, spanExporter } from './exporters.js';
import { instrumentations } from './instrumentations.js';
import { MetricsProducer } from './metrics-producer.js';
import { ShareSampling } from './sampling.js';
import { SpanRedaction } from './span-redaction.js';
import { spanTracing } from './span-tracing.js';
import { passUntraced } from './untraced-requests.js';

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
