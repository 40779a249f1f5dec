import type { Logger } from 'pino';
import type { TelemetryConfig } from '../config/telemetry-config.js';
import type { Metrics } from '../telemetry/metrics.js';

export interface Telemetry {
  stop(): Promise<void>;
}

/** Loads OpenTelemetry. Call this before importing the application, because it instruments the application's imports. */
export async function startTelemetry(
  telemetry: TelemetryConfig,
  version: string,
  metrics: Metrics,
  logger: Logger,
): Promise<Telemetry | null> {
  if (!telemetry.traces && !telemetry.metrics) return null;
  const { startOpenTelemetry } = await import('../telemetry/opentelemetry/start.js');
  return startOpenTelemetry(telemetry, version, metrics, logger);
}
