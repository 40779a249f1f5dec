import { formatDuration } from '../validation/duration.js';
import { contentTag } from '../http/preconditions.js';
import type { SourceRow } from './sources.queries.js';
import type { SourceAnswer } from './sources.responses.js';

/** A source as the admin API shows it (contract §7). Secrets are never in the settings: those name files. */
export function describeSource(row: SourceRow): SourceAnswer {
  return {
    name: row.name,
    kind: row.kind,
    [row.kind]: row.settings,
    ...(row.intervalMs === null ? {} : { syncPolicy: { interval: formatDuration(row.intervalMs) } }),
    ...(row.filter ? { filter: row.filter } : {}),
    claims: row.claims,
    origin: row.origin,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
    ...(row.kind === 'managed' ? {} : { sync: describeSync(row) }),
  };
}

/** What of a source a PUT may change. */
export function sourceTag({ kind, settings, filter, intervalMs, claims }: SourceRow): string {
  return contentTag([kind, settings, filter, intervalMs, claims]);
}

function describeSync(row: SourceRow): SourceAnswer['sync'] {
  return {
    status: row.status,
    lastAttemptAt: row.lastAttemptAt?.toISOString() ?? null,
    lastSuccessAt: row.lastSuccessAt?.toISOString() ?? null,
    nextRunAt: row.nextRunAt?.toISOString() ?? null,
    attempts: row.attempts,
    ...(row.error === null ? {} : { error: row.error }),
    counts: row.counts,
    skipped: row.skipped,
  };
}
