import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AuditTrail } from '../audit/audit-trail.js';
import type { WrittenEvent } from '../audit/audit.queries.js';
import { isDatabaseUnreachable } from '../database/database-errors.js';
import type { VersionName } from '../documents/incoming-version.js';
import { EntryWriter } from '../entries/writer/entry-writer.js';
import { isGuardedFromShrinking, KINDS } from '../source-kinds/kinds.js';
import { setInheritedClaims } from '../sources/inherited-claims.queries.js';
import { type LeasedSource, SourceLeases } from '../sources/source-leases.queries.js';
import { bumpRevision } from '../sources/source-registries.queries.js';
import { SourceStates } from '../sources/source-states.queries.js';
import { type RunOutcome, SyncMetrics } from '../telemetry/registry-metrics.js';
import { tracing } from '../telemetry/tracing.js';
import type { ReadEntries } from './entry-reader.js';
import { FetchError } from './fetcher.js';
import { Fetchers } from './fetchers.js';
import { RegistryFileReader } from './file/registry-file-reader.js';
import { RegistryFileError } from './file/registry-file.js';
import { ReadMemory, ReadMemoryError } from './read-memory.js';
import { rulesDigest, stateOf, withRules } from './reader-version.js';
import { reportAfterChanges, reportOf, type SyncReport } from './sync-report.js';
import { countLiveEntries } from './sync.queries.js';

const FIRST_MS = 5_000;
/** An upstream that asks for a longer pause is tried all the same: it may be wrong, or lie. */
const MAX_RETRY_AFTER_MS = 60 * 60 * 1_000;

/**
 * In how many milliseconds a source is tried again.
 *
 * @param attempts runs in a row that have failed, at least one: the pause doubles with each, and ends at the interval.
 * @param retryAfterMs the pause that the upstream asks for (RFC 9110 §10.2.3): it may exceed the interval, up to an hour.
 */
export function retryInMs(attempts: number, intervalMs: number, retryAfterMs: number | null): number {
  const backOff = Math.min(intervalMs, FIRST_MS * 2 ** Math.min(attempts - 1, 20));
  return Math.max(backOff, Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS));
}

/** A source of fewer entries may lose any number of them. */
const FEWEST_GUARDED = 20;

/** contract §7: has a source of 20 entries or more kept fewer than half of them? */
export function hasShrunk(before: number, after: number): boolean {
  return before >= FEWEST_GUARDED && after * 2 < before;
}

/** What has happened, and how it is allowed. */
export function shrunkSentence(before: number, after: number): string {
  return (
    `The content has shrunk from ${before} entries to ${after}, which is taken for an accident; if it is meant, ` +
    'sync once with the body {"allowShrink": true}, or set allowShrink: true for the source'
  );
}

/** What another server fills, and what was not read by other settings or another filter before: those are changed on purpose. */
export function isGuarded({ kind, settings, mayShrink, fetchState }: LeasedSource): boolean {
  return !mayShrink && fetchState !== null && isGuardedFromShrinking(kind, settings);
}

/**
 * contract §7: nothing at all is taken for an accident, whatever there was before: it would withdraw everything.
 *
 * @param countBefore how many entries there were.
 * @throws FetchError
 */
export async function checkHolds(
  source: LeasedSource,
  { entries, skipped, filtered }: ReadEntries,
  countBefore: () => Promise<number>,
): Promise<void> {
  if (entries.length + skipped.length + filtered > 0) return;
  if (source.mayShrink && isGuardedFromShrinking(source.kind, source.settings)) return;
  const before = isGuarded(source) ? await countBefore() : 0;
  if (hasShrunk(before, 0)) throw new FetchError(shrunkSentence(before, 0));
  throw new FetchError(`The ${KINDS[source.kind].content} holds no entries`);
}

/** One run of one leased source. */
@Injectable()
export class SyncRun {
  private readonly logger = new Logger('sync');

  constructor(
    private readonly dataSource: DataSource,
    private readonly leases: SourceLeases,
    private readonly states: SourceStates,
    private readonly writer: EntryWriter,
    private readonly fetchers: Fetchers,
    private readonly metrics: SyncMetrics,
    private readonly memory: ReadMemory,
    private readonly audit: AuditTrail,
    private readonly registryFiles: RegistryFileReader,
  ) {}

  /**
   * Fetches and validates first, outside any transaction; then makes the rows equal in one. A run
   * that fails leaves the entries as they were and keeps the reason. Throws only when PostgreSQL is not reachable, or the
   * signal aborts.
   */
  async run(owner: string, source: LeasedSource, signal: AbortSignal): Promise<RunOutcome> {
    const started = performance.now();
    const rules = rulesDigest(source);
    const memory = this.memory.begin();
    try {
      const until = AbortSignal.any([signal, memory.signal]);
      const fetched = await tracing.inSpan('fetch', {}, () =>
        this.fetchers.fetch(source, stateOf(source, rules), until, memory),
      );
      const fetchState = { rules, state: fetched.state };
      const contentDigest = fetched.kind === 'file' ? withRules(fetched.digest, rules) : null;
      const isKnown = contentDigest !== null && source.contentDigest?.equals(contentDigest);
      if (fetched.kind === 'unchanged' || isKnown) {
        const { manager } = this.dataSource;
        if (!(await this.states.completeUnchanged(manager, owner, source.id, source.intervalMs, fetchState)))
          return this.superseded(source);
        this.logger.debug({ source: source.name }, 'Source is unchanged');
        return 'unchanged';
      }
      const content =
        fetched.kind === 'file'
          ? await this.registryFiles.read(fetched.bytes, source.filter, memory, signal)
          : fetched.content;
      signal.throwIfAborted();
      if (fetched.kind !== 'changes')
        await checkHolds(source, content, () => countLiveEntries(this.dataSource.manager, source.id));
      const gone = fetched.kind === 'changes' ? fetched.gone : null;
      const written = { content, gone, contentDigest, fetchState };
      return await tracing.inSpan('write', { 'registry.sync.entries': content.entries.length }, () =>
        this.write(owner, source, written, started),
      );
    } catch (error) {
      if (isDatabaseUnreachable(error)) throw error;
      if (signal.aborted) throw new Error('The sync was cut off', { cause: error });
      return await this.fail(owner, source, memory.refusal ?? error);
    } finally {
      memory.end();
    }
  }

  private async write(
    owner: string,
    source: LeasedSource,
    { content, gone, contentDigest, fetchState }: SyncContent,
    started: number,
  ): Promise<RunOutcome> {
    const { id, name, intervalMs } = source;
    let events: WrittenEvent[] = [];
    const written = await this.leases.writeWhileHeld(owner, source, async (manager, claimSetId) => {
      const before = isGuarded(source) ? await countLiveEntries(manager, id) : 0;
      const counts = gone
        ? await this.writer.applyChanges(manager, id, claimSetId, content.entries, gone)
        : await this.writer.replaceAll(manager, id, claimSetId, content.entries);
      const after =
        counts.removed + counts.changed > 0 && before > 0 ? await countLiveEntries(manager, id) : before;
      if (hasShrunk(before, after)) throw new FetchError(shrunkSentence(before, after));
      // New claims that came with new settings have waited for this.
      const relabeled = source.fetchState === null ? await setInheritedClaims(manager, id, claimSetId) : 0;
      if (counts.added + counts.changed + counts.removed + relabeled > 0) await bumpRevision(manager, id);
      const report: SyncReport = gone
        ? reportAfterChanges(await this.states.lastReport(manager, id), content, gone, counts)
        : reportOf(content, counts);
      const changed = counts.changed + relabeled;
      const durationMs = Math.round(performance.now() - started);
      events = await this.audit.writeSync(manager, name, claimSetId, { ...counts, changed, durationMs });
      const result = { contentDigest, fetchState, ...report };
      return (await this.states.complete(manager, owner, id, intervalMs, result)) ? report : null;
    });
    if (!written) return this.superseded(source);
    this.audit.report(events);
    const { counts, skipped } = written;
    this.metrics.wrote(source.kind, { ...counts, skipped: reportOf(content, counts).counts.skipped });
    const report = { source: source.name, ...counts, ms: Math.round(performance.now() - started) };
    if (skipped.length === 0) this.logger.log(report, 'Source synced');
    else
      this.logger.warn(
        { ...report, firstSkipped: skipped.slice(0, 3) },
        'Source synced, some entries skipped',
      );
    return 'complete';
  }

  private superseded({ name }: LeasedSource): RunOutcome {
    this.logger.log(
      { source: name },
      'Source changed hands or settings during its sync; nothing was written',
    );
    return 'superseded';
  }

  private async fail(owner: string, source: LeasedSource, error: unknown): Promise<RunOutcome> {
    const expected =
      error instanceof FetchError || error instanceof RegistryFileError || error instanceof ReadMemoryError;
    const sentence = expected ? error.message : 'The sync failed inside the server; its log has the cause';
    const retryAfterMs = error instanceof FetchError ? error.retryAfterMs : null;
    const pause = retryInMs(source.attempts, source.intervalMs, retryAfterMs);
    if (!(await this.states.fail(this.dataSource.manager, owner, source.id, pause, sentence)))
      return this.superseded(source);
    const report = { source: source.name, attempts: source.attempts, retryInMs: pause };
    if (expected) this.logger.warn({ ...report, error: sentence }, 'Sync failed; the earlier entries stay');
    else this.logger.error({ ...report, err: error }, 'Sync failed; the earlier entries stay');
    return 'failed';
  }
}

/** What is to be written. */
interface SyncContent {
  readonly content: ReadEntries;
  /** What left the source, when the content is only what has changed; null when it is everything. */
  readonly gone: readonly VersionName[] | null;
  readonly contentDigest: Buffer | null;
  readonly fetchState: object;
}
