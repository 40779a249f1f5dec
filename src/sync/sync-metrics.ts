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

/** The gauges of each source: their names and help texts. */
const SOURCE_GAUGES = {
  lastSuccess: [
    'registry_source_last_success_timestamp_seconds',
    'When the entries were last known to match the source',
  ],
  failures: ['registry_source_failures', 'Consecutive failed syncs of the source'],
  interval: ['registry_source_interval_seconds', 'How often the source is synced'],
  entries: ['registry_source_entries', 'Versions in the source'],
  skipped: ['registry_source_skipped_entries', 'Invalid versions of the source, which are skipped'],
  held: ['registry_admission_held_items', 'Versions and changes that admission holds'],
  due: ['registry_admission_due_items', 'Held versions that are due'],
  oldest: ['registry_admission_oldest_age_seconds', 'Age of the oldest held item that needs a decision'],
} as const;

type SourceFigure = keyof typeof SOURCE_GAUGES;

/**
 * Metrics about sources. Each scrape reads them from the database, so every replica reports all sources and the metrics
 * of a deleted source disappear. The metrics are absent while the database does not respond.
 */
@Injectable()
export class SourceMetrics {
  private readonly gauges: ReadonlyMap<string, Gauge<'source' | 'kind'>>;
  private readonly sources: Gauge<'kind' | 'status'>;

  constructor(
    metrics: Metrics,
    private readonly queries: SyncQueries,
  ) {
    const registers = [metrics.register];
    this.gauges = new Map(
      Object.entries(SOURCE_GAUGES).map(
        ([figure, [name, help]]) =>
          [figure, new Gauge({ name, help, labelNames: ['source', 'kind'], registers })] as const,
      ),
    );
    this.sources = new Gauge({
      name: 'registry_sources',
      help: 'Sources by sync status',
      labelNames: ['kind', 'status'],
      registers,
    });
    metrics.refreshWithin(
      () => this.read(),
      () => this.reset(),
    );
  }

  private async read(): Promise<void> {
    const [sources, admission] = await Promise.all([this.queries.figures(), this.queries.heldFigures()]);
    this.reset();
    for (const { source, kind, ...figures } of admission) this.set({ source, kind }, figures);
    for (const { source, kind, status, ...figures } of sources) {
      this.sources.inc({ kind, status });
      this.set({ source, kind }, figures);
    }
  }

  private set(
    labels: { readonly source: string; readonly kind: string },
    figures: { readonly [figure in SourceFigure]?: number | null },
  ): void {
    for (const [figure, value] of Object.entries(figures))
      if (typeof value === 'number') this.gauges.get(figure)?.set(labels, value);
  }

  private reset(): void {
    for (const gauge of [...this.gauges.values(), this.sources]) gauge.reset();
  }
}
