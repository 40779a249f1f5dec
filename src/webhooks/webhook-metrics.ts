import { Injectable } from '@nestjs/common';
import { Counter, Gauge } from 'prom-client';
import { Metrics } from '../telemetry/metrics.js';

/** Measures the webhooks that this replica sends. */
@Injectable()
export class WebhookMetrics {
  private readonly attempts: Counter<'webhook' | 'outcome'>;
  private readonly lag: Gauge<'webhook'>;
  private readonly paused: Gauge<'webhook'>;

  constructor({ register }: Metrics) {
    const registers = [register];
    this.attempts = new Counter({
      name: 'registry_webhook_deliveries_total',
      help: 'Delivery attempts by this replica',
      labelNames: ['webhook', 'outcome'],
      registers,
    });
    this.lag = new Gauge({
      name: 'registry_webhook_lag_seconds',
      help: 'Age of the oldest event awaiting delivery; only on the replica that sends',
      labelNames: ['webhook'],
      registers,
    });
    this.paused = new Gauge({
      name: 'registry_webhook_paused',
      help: 'Whether the webhook was paused after failing for too long; only on the replica that sends',
      labelNames: ['webhook'],
      registers,
    });
  }

  /** @param webhook name in the configuration. */
  attempted(webhook: string, outcome: 'delivered' | 'failed'): void {
    this.attempts.inc({ webhook, outcome });
  }

  observe(
    webhook: string,
    { lagMs, isPaused }: { readonly lagMs: number; readonly isPaused: boolean },
  ): void {
    this.lag.set({ webhook }, Math.max(0, lagMs) / 1_000);
    this.paused.set({ webhook }, isPaused ? 1 : 0);
    // Prometheus sees increases only in series that it has scraped before.
    for (const outcome of ['delivered', 'failed']) this.attempts.inc({ webhook, outcome }, 0);
  }

  /** Removes the gauges of a webhook that another replica now sends. */
  forget(webhook: string): void {
    this.lag.remove({ webhook });
    this.paused.remove({ webhook });
  }
}
