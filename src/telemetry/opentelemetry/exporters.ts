import type { PushMetricExporter } from '@opentelemetry/sdk-metrics';
import type { SpanExporter } from '@opentelemetry/sdk-trace-node';
import type { OtlpTarget } from '../../config/telemetry-config.js';

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
