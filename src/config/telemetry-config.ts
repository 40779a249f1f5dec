import { parseHost, parseHttpUrl } from '../validation/urls.js';
import type { TelemetrySettings } from './config-file.dto.js';
import { DEFAULTS } from './defaults.js';

export const OTLP_PROTOCOLS = ['http/protobuf', 'http/json'] as const;
export type OtlpProtocol = (typeof OTLP_PROTOCOLS)[number];

/** Where one kind of telemetry is sent. Headers, timeouts and the like are read by the exporter, from OTEL_… variables. */
export interface OtlpTarget {
  readonly url: string;
  readonly protocol: OtlpProtocol;
}

/** What is sent by OTLP, and how much of it. */
export interface TelemetryConfig {
  /** Null: no traces. */
  readonly traces: OtlpTarget | null;
  /** Null: metrics are at /metrics alone. */
  readonly metrics: OtlpTarget | null;
  /** How often metrics are sent. */
  readonly metricIntervalMs: number;
  /** How many of the traces that begin here are recorded; null: OTEL_TRACES_SAMPLER says. */
  readonly sampleRatio: number | null;
  /** Does a request continue the trace that its `traceparent` names, and do ours carry one? OTEL_PROPAGATORS=none: neither. */
  readonly propagates: boolean;
  /** Hosts that requests of ours send `traceparent` to. */
  readonly traceparentHosts: readonly string[];
}

/**
 * What the section `telemetry` and the OTEL_… variables say together; a variable wins (contract §2). The variables are those of
 * the OpenTelemetry specification, https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/. One that
 * asks for something this server does not have is a warning, as that specification wants it, and no reason not to start.
 */
export function telemetryOf(
  { otlpEndpoint, sampleRatio, traceparentHosts = [] }: TelemetrySettings = {},
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
      metricIntervalMs:
        Number(environment['OTEL_METRIC_EXPORT_INTERVAL']) || DEFAULTS.telemetry.metricIntervalMs,
      sampleRatio: environment['OTEL_TRACES_SAMPLER']
        ? null
        : (sampleRatio ?? DEFAULTS.telemetry.sampleRatio),
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
    if (exporter !== 'none')
      warn(`OTEL_${upper}_EXPORTER: "otlp" and "none" are known here: no ${signal} are sent`);
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
  warn(`OTEL_EXPORTER_OTLP_PROTOCOL: ${OTLP_PROTOCOLS.join(' and ')} are known here: no ${signal} are sent`);
  return null;
}

// The endpoint of all signals is a base, that of one signal the whole URL.
function below(endpoint: string | undefined, signal: string): string | undefined {
  return endpoint ? `${endpoint.replace(/\/+$/, '')}/v1/${signal}` : undefined;
}

function propagates(propagators: string | undefined, warn: (warning: string) => void): boolean {
  const names = (propagators || 'tracecontext').split(',').map((name) => name.trim());
  const unknown = names.filter((name) => !['tracecontext', 'baggage', 'none'].includes(name));
  if (unknown.length > 0) warn('OTEL_PROPAGATORS: "tracecontext" and "none" are known here');
  return names.includes('tracecontext');
}
