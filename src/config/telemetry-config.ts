import { parseHost, parseHttpUrl } from '../validation/urls.js';
import type { TelemetrySettings } from './config-file.dto.js';

const OTLP_PROTOCOLS = ['http/protobuf', 'http/json'] as const;
type OtlpProtocol = (typeof OTLP_PROTOCOLS)[number];

/** OTLP target for one signal. The exporter reads headers, timeouts etc. from OTEL_… variables. */
export interface OtlpTarget {
  readonly url: string;
  readonly protocol: OtlpProtocol;
}

export interface TelemetryConfig {
  /** Null if traces are disabled. */
  readonly traces: OtlpTarget | null;
  /** Null if metrics are served only at /metrics. */
  readonly metrics: OtlpTarget | null;
  readonly metricIntervalMs: number;
  /** The share of traces started by this server that are recorded. Null if OTEL_TRACES_SAMPLER decides. */
  readonly sampleRatio: number | null;
  /** Whether `traceparent` is read and sent; false with OTEL_PROPAGATORS=none. */
  readonly propagates: boolean;
  /** Hosts that receive `traceparent` in outbound requests. */
  readonly traceparentHosts: readonly string[];
}

/**
 * Combines the `telemetry` section with the OTEL_… variables, which take precedence (reference/configuration). The variables are
 * defined in https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/. As that page requires,
 * an unsupported value causes a warning but does not prevent startup.
 */
export function telemetryOf(
  { otlpEndpoint, sampleRatio, traceparentHosts }: TelemetrySettings,
  environment: NodeJS.ProcessEnv,
): { config: TelemetryConfig; warnings: string[] } {
  const warnings: string[] = [];
  const target = (signal: 'traces' | 'metrics') =>
    targetOf(signal, otlpEndpoint, environment, (warning) => warnings.push(warning));
  const isDisabled = environment['OTEL_SDK_DISABLED']?.toLowerCase() === 'true';
  return {
    config: {
      traces: isDisabled ? null : target('traces'),
      metrics: isDisabled ? null : target('metrics'),
      metricIntervalMs: Number(environment['OTEL_METRIC_EXPORT_INTERVAL']) || 60_000,
      sampleRatio: environment['OTEL_TRACES_SAMPLER'] ? null : sampleRatio,
      propagates: propagates(environment['OTEL_PROPAGATORS'], (warning) => warnings.push(warning)),
      traceparentHosts: traceparentHosts.flatMap((name) => parseHost(name) ?? []),
    },
    warnings,
  };
}

function targetOf(
  signal: 'traces' | 'metrics',
  configured: string | undefined,
  environment: NodeJS.ProcessEnv,
  warn: (warning: string) => void,
): OtlpTarget | null {
  const upper = signal.toUpperCase();
  const exporter = environment[`OTEL_${upper}_EXPORTER`];
  if (exporter && exporter !== 'otlp') {
    if (exporter !== 'none') warn(`OTEL_${upper}_EXPORTER: must be "otlp" or "none": no ${signal} are sent`);
    return null;
  }
  const endpoints: [name: string, url: string | undefined][] = [
    [`OTEL_EXPORTER_OTLP_${upper}_ENDPOINT`, environment[`OTEL_EXPORTER_OTLP_${upper}_ENDPOINT`]],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', below(environment['OTEL_EXPORTER_OTLP_ENDPOINT'], signal)],
    ['telemetry.otlpEndpoint', below(configured, signal)],
    [`OTEL_${upper}_EXPORTER`, exporter && below('http://localhost:4318', signal)],
  ];
  const [name, url] = endpoints.find(([, found]) => found) ?? [];
  if (!url) return null;
  if (!parseHttpUrl(url)) {
    warn(`${name}: must be an http:// or https:// URL: no ${signal} are sent`);
    return null;
  }
  const protocol =
    environment[`OTEL_EXPORTER_OTLP_${upper}_PROTOCOL`] ||
    environment['OTEL_EXPORTER_OTLP_PROTOCOL'] ||
    OTLP_PROTOCOLS[0];
  const known = OTLP_PROTOCOLS.find((one) => one === protocol);
  if (known) return { url, protocol: known };
  warn(`OTEL_EXPORTER_OTLP_PROTOCOL: must be ${OTLP_PROTOCOLS.join(' or ')}: no ${signal} are sent`);
  return null;
}

// The shared endpoint is a base URL; a signal-specific endpoint is a full URL.
function below(endpoint: string | undefined, signal: string): string | undefined {
  return endpoint ? `${endpoint.replace(/\/+$/, '')}/v1/${signal}` : undefined;
}

function propagates(propagators: string | undefined, warn: (warning: string) => void): boolean {
  const names = (propagators || 'tracecontext').split(',').map((name) => name.trim());
  const unknown = names.filter((name) => !['tracecontext', 'baggage', 'none'].includes(name));
  if (unknown.length > 0) warn('OTEL_PROPAGATORS: only "tracecontext" and "none" are supported');
  return names.includes('tracecontext');
}
