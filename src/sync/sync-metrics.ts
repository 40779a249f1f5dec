import { Injectable } from '@nestjs/common';
import { Counter, Gauge, Histogram } from 'prom-client';
import { KINDS, SOURCE_KINDS, type SourceKind } from '../source-kinds/kinds.js';
import { Metrics } from '../telemetry/metrics.js';
import { SyncQueries } from './sync.queries.js';

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

type SourceGauge = Gauge<'source' | 'kind'>;

/**
 * Metrics about sources. Each scrape reads them from the database, so every replica reports all sources and the metrics
 * of a deleted source disappear. The metrics are absent while the database does not respond.
 */
@Injectable()
export class SourceMetrics {
  private readonly lastSuccess: SourceGauge;
  private readonly failures: SourceGauge;
  private readonly interval: SourceGauge;
  private readonly entries: SourceGauge;
  private readonly skipped: SourceGauge;
  private readonly sources: Gauge<'kind' | 'status'>;
  private readonly held: SourceGauge;
  private readonly due: SourceGauge;
  private readonly oldest: SourceGauge;

  constructor(
    metrics: Metrics,
    private readonly queries: SyncQueries,
  ) {
    const { register } = metrics;
    // All processes would read the same figures from the database.
    const ofSource = (name: string, help: string): SourceGauge =>
      new Gauge({
        name: `registry_source_${name}`,
        help,
        labelNames: ['source', 'kind'],
        registers: [register],
      });
    this.lastSuccess = ofSource(
      'last_success_timestamp_seconds',
      'When the entries were last known to match the source',
    );
    this.failures = ofSource('failures', 'Consecutive failed syncs of the source');
    this.interval = ofSource('interval_seconds', 'How often the source is synced');
    this.entries = ofSource('entries', 'Versions in the source');
    this.skipped = ofSource('skipped_entries', 'Invalid versions of the source, which are skipped');
    this.sources = new Gauge({
      name: 'registry_sources',
      help: 'Sources by sync status',
      labelNames: ['kind', 'status'],
      registers: [register],
    });
    const ofAdmission = (name: string, help: string): SourceGauge =>
      new Gauge({
        name: `registry_admission_${name}`,
        help,
        labelNames: ['source', 'kind'],
        registers: [register],
      });
    this.held = ofAdmission('held_items', 'Versions and changes that admission holds');
    this.due = ofAdmission('due_items', 'Held versions that are due');
    this.oldest = ofAdmission('oldest_age_seconds', 'Age of the oldest held item that needs a decision');
    metrics.refreshWithin(
      () => this.read(),
      () => this.reset(),
    );
  }

  private async read(): Promise<void> {
    const [sources, admission] = await Promise.all([this.queries.figures(), this.queries.heldFigures()]);
    this.reset();
    for (const { source, kind, ...figures } of admission)
      for (const figure of ['held', 'due', 'oldest'] as const)
        this[figure].set({ source, kind }, figures[figure]);
    for (const { source, kind, status, ...figures } of sources) {
      this.sources.inc({ kind, status });
      this.failures.set({ source, kind }, figures.failures);
      for (const figure of ['lastSuccess', 'interval', 'entries', 'skipped'] as const) {
        const value = figures[figure];
        if (value !== null) this[figure].set({ source, kind }, value);
      }
    }
  }

  private reset(): void {
    const { lastSuccess, failures, interval, entries, skipped, sources, held, due, oldest } = this;
    for (const gauge of [lastSuccess, failures, interval, entries, skipped, sources, held, due, oldest])
      gauge.reset();
  }
}
