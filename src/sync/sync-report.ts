import type { SkippedEntry, VersionName } from '../documents/incoming-version.js';
import type { WriteCounts } from '../entries/writer/entry-writer.js';
import type { SourceReport } from '../sources/source-states.queries.js';
import type { ReadEntries } from './entry-reader.js';

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
