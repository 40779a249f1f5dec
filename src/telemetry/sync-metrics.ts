import { Injectable } from '@nestjs/common';
import { Counter, Gauge, Histogram } from 'prom-client';
import { KINDS, SOURCE_KINDS, type SourceKind } from '../source-kinds/kinds.js';
import { Metrics } from './metrics.js';

/** Published entries are not synced: there is nothing to count. */
const COUNTED = SOURCE_KINDS.filter((kind) => KINDS[kind].filledBy !== 'publishing');
/**
 * How a run may end. `superseded`: the source changed hands or settings meanwhile, and nothing was written. `cut_off`: by a
 * stop of the server, or because PostgreSQL was not reachable.
 */
const OUTCOMES = ['complete', 'unchanged', 'failed', 'superseded', 'cut_off'] as const;
const CHANGES = ['added', 'changed', 'removed', 'skipped'] as const;
const DURATIONS_S = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800];

export type RunOutcome = (typeof OUTCOMES)[number];

/** Metrics of the runs of this replica. For kubernetes, a run is one write of what has changed in the cluster. */
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
      help: 'How long the syncs of this replica took',
      labelNames: ['kind', 'outcome'],
      buckets: DURATIONS_S,
      registers,
    });
    this.runs = new Counter({
      name: 'registry_sync_runs_total',
      help: 'Syncs of this replica that have ended',
      labelNames: ['kind', 'outcome'],
      registers,
    });
    this.entries = new Counter({
      name: 'registry_sync_entries_total',
      help: 'Versions that the syncs of this replica have added, changed and removed, or skipped because they are not valid',
      labelNames: ['kind', 'change'],
      registers,
    });
    this.running = new Gauge({
      name: 'registry_sync_running',
      help: 'Syncs of this replica that are under way',
      labelNames: ['kind'],
      registers,
    });
    this.beginAtZero();
  }

  /** Counts a run that begins. @returns to be called with its outcome when it ends. */
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

  // Prometheus sees an increase only in a series that it has scraped before.
  private beginAtZero(): void {
    for (const kind of COUNTED) {
      this.running.set({ kind }, 0);
      for (const outcome of OUTCOMES) this.runs.inc({ kind, outcome }, 0);
      for (const change of CHANGES) this.entries.inc({ kind, change }, 0);
    }
  }
}
