import { Injectable } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { MAX_SHOWN_SKIPPED, type SkippedEntry, type VersionName } from '../documents/entry-types.js';
import { isAmong, type RefusedVersion } from '../entries/entry-limits.js';
import type { WriteCounts } from '../entries/writer/entry-writer.js';
import type { SourceReport } from '../sources/source-states.queries.js';
import { Metrics } from '../telemetry/metrics.js';
import type { ReadEntries } from './entry-validator.js';
import { SyncQueries } from './sync.queries.js';

/** Error of a source whose entries PostgreSQL has no disk space for. */
export const STORAGE_FULL = 'The entries could not be stored: the disk of PostgreSQL is full or read-only';

const MAX_LISTED = 1_000;

/**
 * Counts and skipped entries of a source. `added` to `unchanged` cover the last run; other counts cover all content.
 */
export interface SyncReport extends SourceReport {
  readonly counts: Readonly<Record<keyof WriteCounts | 'entries' | 'skipped' | 'filtered' | 'held', number>>;
}

/** The counts of a run, and of the versions that are held after it. */
type RunCounts = WriteCounts & { readonly held: number };

/** Returns the content without the versions that the writer refused, which count as skipped. */
export function withoutRefused(content: ReadEntries, refused: readonly RefusedVersion[]): ReadEntries {
  if (refused.length === 0) return content;
  const { entries, skipped, unlisted = 0 } = content;
  const isRefused = isAmong(refused);
  const listed = refused.slice(0, Math.max(0, MAX_SHOWN_SKIPPED - skipped.length));
  return {
    ...content,
    entries: entries.filter((version) => !isRefused(version)),
    skipped: [...skipped, ...listed.map(({ reason, ...version }) => ({ ...version, reasons: [reason] }))],
    unlisted: unlisted + refused.length - listed.length,
  };
}

/** Returns the report of a run that read everything. */
export function reportOf(
  { entries, skipped, unlisted = 0, filtered }: ReadEntries,
  counts: RunCounts,
): SyncReport {
  return {
    counts: {
      ...counts,
      entries: entries.length - counts.held,
      skipped: skipped.length + unlisted,
      filtered,
    },
    skipped,
  };
}

/** Returns the report of a run that read only changes. */
export function reportAfterChanges(
  before: SourceReport,
  content: ReadEntries,
  gone: readonly VersionName[],
  counts: RunCounts,
): SyncReport {
  const run = reportOf(content, counts);
  const reread = new Set([...content.entries, ...gone, ...run.skipped].map(keyOf));
  const kept = before.skipped.filter((entry) => entry.name === null || !reread.has(keyOf(entry)));
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
    // All processes read the same figures from the database.
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
    this.due = ofAdmission('due_items', 'Held versions whose time has come');
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
