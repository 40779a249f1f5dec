import { Injectable } from '@nestjs/common';
import { Histogram } from 'prom-client';
import { Metrics } from '../telemetry/metrics.js';

const ADMISSION_OUTCOMES = ['admit', 'hold', 'reject', 'failure'] as const;

const ADMISSION_DURATIONS_S = [0.01, 0.05, 0.1, 0.5, 1, 5, 30];

/** Measures the requests of this replica to admission webhooks. */
@Injectable()
export class AdmissionMetrics {
  private readonly durations: Histogram<'webhook' | 'outcome'>;

  constructor({ register }: Metrics) {
    this.durations = new Histogram({
      name: 'registry_admission_webhook_duration_seconds',
      help: 'Duration of requests to admission webhooks',
      labelNames: ['webhook', 'outcome'],
      buckets: ADMISSION_DURATIONS_S,
      registers: [register],
    });
  }

  /** @param webhook name in the configuration. */
  asked(webhook: string, outcome: (typeof ADMISSION_OUTCOMES)[number], ms: number): void {
    this.durations.observe({ webhook, outcome }, ms / 1_000);
  }

  // Prometheus sees increases only in series that it has scraped before.
  begin(webhooks: readonly { readonly name: string }[]): void {
    for (const { name: webhook } of webhooks)
      for (const outcome of ADMISSION_OUTCOMES) this.durations.zero({ webhook, outcome });
  }
}
