import { MAX_SHOWN_SKIPPED } from '../documents/incoming-version.js';
import { contentTag } from '../http/preconditions.js';
import { withoutQuery } from '../outbound/http-client.js';
import { KINDS } from '../source-kinds/kinds.js';
import { formatDuration } from '../validation/value-checks.js';
import type { Source } from './source.entity.js';
import type { SourceAnswer } from './sources.responses.js';

/** A source as it is declared (contract §7), for the audit trail; of URLs what may be shown. */
export function declaredForm(source: Source): object {
  const text = JSON.stringify(declarationOf(source), (_key, value: unknown) =>
    typeof value === 'string' && /^https?:/i.test(value) && URL.canParse(value) ? withoutQuery(value) : value,
  );
  return JSON.parse(text) as object;
}

/** A source as the admin API shows it (contract §7). Secrets are never in the settings: those name files. */
export function describeSource(source: Source): SourceAnswer {
  return {
    name: source.name,
    ...declarationOf(source),
    origin: source.origin,
    createdAt: source.createdAt.toISOString(),
    updatedAt: source.updatedAt.toISOString(),
    ...(KINDS[source.kind].filledBy === 'publishing' ? {} : { sync: describeSync(source) }),
  };
}

function declarationOf(source: Source) {
  return {
    kind: source.kind,
    [source.kind]: source.settings,
    ...(source.intervalMs === null ? {} : { syncPolicy: { interval: formatDuration(source.intervalMs) } }),
    ...(source.filter ? { filter: source.filter } : {}),
    ...(source.allowShrink ? { allowShrink: true } : {}),
    claims: source.shownClaims,
  };
}

/** The ETag of a source: of what a PUT may change. */
export function sourceTag({ kind, settings, filter, intervalMs, allowShrink, shownClaims }: Source): string {
  return contentTag([kind, settings, filter, intervalMs, allowShrink, shownClaims]);
}

function describeSync({ state }: Source): SourceAnswer['sync'] {
  return {
    status: state.status,
    lastAttemptAt: state.lastAttemptAt?.toISOString() ?? null,
    lastSuccessAt: state.lastSuccessAt?.toISOString() ?? null,
    nextRunAt: state.nextRunAt?.toISOString() ?? null,
    attempts: state.attempts,
    ...(state.error === null ? {} : { error: state.error }),
    counts: state.counts,
    skipped: state.skipped.slice(0, MAX_SHOWN_SKIPPED),
  };
}
