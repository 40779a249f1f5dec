import { Injectable } from '@nestjs/common';
import { Counter, Gauge, Histogram } from 'prom-client';
import { ENTRY_TYPE_NAMES, type EntryType } from '../documents/entry-types.js';
import { KINDS, SOURCE_KINDS, type SourceKind } from '../source-kinds/kinds.js';
import { Metrics } from './metrics.js';

export type AuthOutcome = 'accepted' | 'refused' | 'incomplete' | 'unavailable' | 'limited';

/** Counts token verifications by identity provider. */
@Injectable()
export class AuthMetrics {
  private readonly outcomes: Counter<'provider' | 'outcome' | 'reason'>;

  constructor({ register }: Metrics) {
    this.outcomes = new Counter({
      name: 'registry_authentications_total',
      help: 'Verified tokens by identity provider, outcome and reason; a token refused by several providers counts once for each',
      labelNames: ['provider', 'outcome', 'reason'],
      registers: [register],
    });
  }

  /** @param provider name in the configuration. */
  accepted(provider: string): void {
    this.outcomes.inc({ provider, outcome: 'accepted', reason: '' });
  }

  /** @param reason a label from a fixed list: it never contains token data. */
  failed(provider: string, outcome: Exclude<AuthOutcome, 'accepted'>, reason: string): void {
    this.outcomes.inc({ provider, outcome, reason });
  }

  /** Counts a request without a verifiable token. */
  missing(reason: 'no_token' | 'unusable'): void {
    this.outcomes.inc({ provider: '', outcome: 'refused', reason });
  }
}

/** Counts page reads and publications on this replica. */
@Injectable()
export class CatalogMetrics {
  private readonly pages: Counter<'outcome'>;
  private readonly publications: Counter<'entry_type'>;

  constructor({ register }: Metrics) {
    const registers = [register];
    this.pages = new Counter({
      name: 'registry_page_cache_requests_total',
      help: 'Pages of the consumer API found in the cache (hit) or read from the database (miss)',
      labelNames: ['outcome'],
      registers,
    });
    this.publications = new Counter({
      name: 'registry_publications_total',
      help: 'Versions published through this replica',
      labelNames: ['entry_type'],
      registers,
    });
    // Prometheus sees increases only in series that it has scraped before.
    for (const outcome of ['hit', 'miss']) this.pages.inc({ outcome }, 0);
    for (const entry_type of ENTRY_TYPE_NAMES) this.publications.inc({ entry_type }, 0);
  }

  pageFound(): void {
    this.pages.inc({ outcome: 'hit' });
  }

  pageRead(): void {
    this.pages.inc({ outcome: 'miss' });
  }

  published(type: EntryType): void {
    this.publications.inc({ entry_type: type });
  }
}

/** Measures the webhooks that this replica sends for. */
@Injectable()
export class WebhookMetrics {
  private readonly attempts: Counter<'webhook' | 'outcome'>;
  private readonly lag: Gauge<'webhook'>;
  private readonly paused: Gauge<'webhook'>;

  constructor({ register }: Metrics) {
    const registers = [register];
    this.attempts = new Counter({
      name: 'registry_webhook_deliveries_total',
      help: 'Attempts of this replica to deliver a message',
      labelNames: ['webhook', 'outcome'],
      registers,
    });
    this.lag = new Gauge({
      name: 'registry_webhook_lag_seconds',
      help: 'Age of the oldest event that waits for its delivery; only on the replica that sends',
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

  /** Ends the gauges of a webhook that another replica sends for now. */
  forget(webhook: string): void {
    this.lag.remove({ webhook });
    this.paused.remove({ webhook });
  }
}

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

/** Excludes managed sources, which are never synced. */
const SYNCED_KINDS = SOURCE_KINDS.filter((kind) => KINDS[kind].filledBy !== 'publishing');
/**
 * Outcomes of a run. `superseded`: the lease or settings of the source changed during the run, so nothing was written.
 * `cut_off`: the server stopped, or PostgreSQL was unreachable.
 */
const OUTCOMES = ['complete', 'unchanged', 'failed', 'superseded', 'cut_off'] as const;
const CHANGES = ['added', 'changed', 'removed', 'skipped'] as const;
const DURATIONS_S = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800];

export type RunOutcome = (typeof OUTCOMES)[number];

/** Measures sync runs on this replica. For Kubernetes, a run is one write of cluster changes. */
@Injectable()
export class SyncMetrics {
  private readonly durations: Histogram<'kind' | 'outcome'>;
  private readonly runs: Counter<'kind' | 'outcome'>;
  private readonly entries: Counter<'kind' | 'change'>;
  private readonly running: Gauge<'kind'>;

  constructor({ register }: Metrics) {
    const registers = [register];
    this.durations = new Histogram({
      name: 'registry_sync_duration_seconds',
      help: "Duration of this replica's sync runs",
      labelNames: ['kind', 'outcome'],
      buckets: DURATIONS_S,
      registers,
    });
    this.runs = new Counter({
      name: 'registry_sync_runs_total',
      help: 'Finished sync runs on this replica',
      labelNames: ['kind', 'outcome'],
      registers,
    });
    this.entries = new Counter({
      name: 'registry_sync_entries_total',
      help: "Versions added, changed, removed, or skipped as invalid by this replica's sync runs",
      labelNames: ['kind', 'change'],
      registers,
    });
    this.running = new Gauge({
      name: 'registry_sync_running',
      help: 'Running syncs on this replica',
      labelNames: ['kind'],
      registers,
    });
    this.beginAtZero();
  }

  /** Counts the start of a run; the returned function counts its end. */
  begin(kind: SourceKind): (outcome: RunOutcome) => void {
    const started = performance.now();
    this.running.inc({ kind });
    return (outcome) => {
      this.running.dec({ kind });
      this.runs.inc({ kind, outcome });
      this.durations.observe({ kind, outcome }, (performance.now() - started) / 1_000);
    };
  }

  wrote(kind: SourceKind, counts: Readonly<Record<(typeof CHANGES)[number], number>>): void {
    for (const change of CHANGES) this.entries.inc({ kind, change }, counts[change]);
  }

  // Prometheus sees increases only in series that it has scraped before.
  private beginAtZero(): void {
    for (const kind of SYNCED_KINDS) {
      this.running.set({ kind }, 0);
      for (const outcome of OUTCOMES) this.runs.inc({ kind, outcome }, 0);
      for (const change of CHANGES) this.entries.inc({ kind, change }, 0);
    }
  }
}
