import { Injectable } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { Metrics } from '../telemetry/metrics.js';
import { SyncQueries } from './sync.queries.js';

/** A database that is away, or slow, must not keep the other figures from being told. */
const PATIENCE_MS = 1_000;

type SourceGauge = Gauge<'source' | 'kind'>;

/**
 * How each source is doing, looked up when it is asked for: whichever replica is asked knows of all runs, and what is told of
 * a source goes with it. While the database does not answer, nothing is told of them.
 */
@Injectable()
export class SourceMetrics {
  private readonly lastSuccess: SourceGauge;
  private readonly failures: SourceGauge;
  private readonly interval: SourceGauge;
  private readonly entries: SourceGauge;
  private readonly skipped: SourceGauge;
  private readonly sources: Gauge<'kind' | 'status'>;
  private looking: Promise<void> | undefined;

  constructor(
    metrics: Metrics,
    private readonly queries: SyncQueries,
  ) {
    const { register } = metrics;
    const ofSource = (name: string, help: string): SourceGauge =>
      new Gauge({
        name: `registry_source_${name}`,
        help,
        labelNames: ['source', 'kind'],
        registers: [register],
      });
    this.lastSuccess = ofSource('last_success_timestamp_seconds', 'When the source was last known as it is');
    this.failures = ofSource('failures', 'Syncs of the source that have failed in a row');
    this.interval = ofSource('interval_seconds', 'How often the source is synced');
    this.entries = ofSource('entries', 'Versions that the source has');
    this.skipped = ofSource('skipped_entries', 'Versions of the source that are left out as not valid');
    this.sources = new Gauge({
      name: 'registry_sources',
      help: 'Sources by the state of their syncs',
      labelNames: ['kind', 'status'],
      registers: [register],
    });
    metrics.refreshBy(() => this.refresh());
  }

  private async refresh(): Promise<void> {
    this.looking ??= this.look()
      .catch(() => this.forget())
      .finally(() => (this.looking = undefined));
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        this.forget();
        resolve();
      }, PATIENCE_MS);
    });
    await Promise.race([this.looking, patience]);
    clearTimeout(timer);
  }

  private async look(): Promise<void> {
    const found = await this.queries.figures();
    this.forget();
    for (const { source, kind, status, ...figures } of found) {
      this.sources.inc({ kind, status });
      this.failures.set({ source, kind }, figures.failures);
      for (const figure of ['lastSuccess', 'interval', 'entries', 'skipped'] as const) {
        const value = figures[figure];
        if (value !== null) this[figure].set({ source, kind }, value);
      }
    }
  }

  private forget(): void {
    const { lastSuccess, failures, interval, entries, skipped, sources } = this;
    for (const gauge of [lastSuccess, failures, interval, entries, skipped, sources]) gauge.reset();
  }
}
