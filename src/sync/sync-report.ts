import { MAX_SHOWN_SKIPPED, type SkippedVersion, type VersionName } from '../documents/entry-types.js';
import { isAmong, type RefusedVersion } from '../entry-store/entry-limits.queries.js';
import type { WriteCounts } from '../entries/writer/entry-writer.js';
import type { SourceReport } from '../sources/source-states.queries.js';
import type { ReadEntries } from './entry-validator.js';

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
export function reportOf({ skipped, unlisted = 0, filtered }: ReadEntries, counts: RunCounts): SyncReport {
  return {
    counts: {
      ...counts,
      entries: counts.added + counts.changed + counts.unchanged,
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

function keyOf({ type, name, version }: Pick<SkippedVersion, 'type' | 'name' | 'version'>): string {
  return JSON.stringify([type, name, version]);
}
