import { Injectable } from '@nestjs/common';
import { Gauge } from 'prom-client';
import type { SkippedEntry, VersionName } from '../documents/incoming-version.js';
import type { WriteCounts } from '../entries/writer/entry-writer.js';
import type { SourceReport } from '../sources/source-states.queries.js';
import { Metrics } from '../telemetry/metrics.js';
import type { ReadEntries } from './entry-reader.js';
import { SyncQueries } from './sync.queries.js';

const MAX_LISTED = 1_000;

/** What the state of a source reports of its content: `added` to `unchanged` of the last run, the rest of all it holds. */
export interface SyncReport extends SourceReport {
  readonly counts: Readonly<Record<keyof WriteCounts | 'entries' | 'skipped' | 'filtered', number>>;
}

/** The report of a run that has read everything. */
export function reportOf(
  { entries, skipped, unlisted = 0, filtered }: ReadEntries,
  counts: WriteCounts,
): SyncReport {
  return {
    counts: { ...counts, entries: entries.length, skipped: skipped.length + unlisted, filtered },
    skipped,
  };
}

/** The report of a run that has read what had changed: what it did not read is as it was. */
export function reportAfterChanges(
  before: SourceReport,
  content: ReadEntries,
  gone: readonly VersionName[],
  counts: WriteCounts,
): SyncReport {
  const run = reportOf(content, counts);
  const again = new Set([...content.entries, ...gone, ...run.skipped].map(keyOf));
  const kept = before.skipped.filter((entry) => entry.name === null || !again.has(keyOf(entry)));
  return {
    counts: {
      ...counts,
      entries: (before.counts['entries'] ?? 0) + counts.added - counts.removed,
      skipped: (before.counts['skipped'] ?? 0) - before.skipped.length + kept.length + run.counts.skipped,
      filtered: before.counts['filtered'] ?? 0,
    },
    skipped: [...kept, ...run.skipped].slice(0, MAX_LISTED),
  };
}

function keyOf({ type, name, version }: Pick<SkippedEntry, 'type' | 'name' | 'version'>): string {
  return JSON.stringify([type, name, version]);
}

/** A database that is not reachable, or slow, must not hold up the other metrics. */
const TIMEOUT_MS = 1_000;

type SourceGauge = Gauge<'source' | 'kind'>;

/**
 * How each source is doing, read from the database at each scrape: every replica reports the runs of all, and the metrics of
 * a source disappear with it. While the database does not answer there are none of them.
 */
@Injectable()
export class SourceMetrics {
  private readonly lastSuccess: SourceGauge;
  private readonly failures: SourceGauge;
  private readonly interval: SourceGauge;
  private readonly entries: SourceGauge;
  private readonly skipped: SourceGauge;
  private readonly sources: Gauge<'kind' | 'status'>;
  private refreshing: Promise<void> | undefined;

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
    this.lastSuccess = ofSource(
      'last_success_timestamp_seconds',
      'When the entries were last known to equal the source',
    );
    this.failures = ofSource('failures', 'Syncs of the source that have failed in a row');
    this.interval = ofSource('interval_seconds', 'How often the source is synced');
    this.entries = ofSource('entries', 'Versions that the source has');
    this.skipped = ofSource('skipped_entries', 'Versions of the source that are skipped as not valid');
    this.sources = new Gauge({
      name: 'registry_sources',
      help: 'Sources by the state of their syncs',
      labelNames: ['kind', 'status'],
      registers: [register],
    });
    metrics.refreshBy(() => this.refresh());
  }

  private async refresh(): Promise<void> {
    this.refreshing ??= this.read()
      .catch(() => this.reset())
      .finally(() => (this.refreshing = undefined));
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        this.reset();
        resolve();
      }, TIMEOUT_MS);
    });
    await Promise.race([this.refreshing, timeout]);
    clearTimeout(timer);
  }

  private async read(): Promise<void> {
    const sources = await this.queries.figures();
    this.reset();
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
    const { lastSuccess, failures, interval, entries, skipped, sources } = this;
    for (const gauge of [lastSuccess, failures, interval, entries, skipped, sources]) gauge.reset();
  }
}
