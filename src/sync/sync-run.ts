import { createHash } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { isDatabaseUnreachable } from '../database/unreachable.js';
import { EntryWriter } from '../entries/writer/entry-writer.js';
import { setInheritedClaims } from '../sources/inherited-claims.queries.js';
import { bumpRevision } from '../sources/source-revision.queries.js';
import { type RunOutcome, SyncMetrics } from '../telemetry/sync-metrics.js';
import type { ReadEntries } from './entry-reader.js';
import { FetchError, type FetchState, type VersionName } from './fetcher.js';
import { Fetchers } from './fetchers.js';
import { readRegistryFile, RegistryFileError } from './file/registry-file.js';
import { retryInMs } from './retry.js';
import { type LeasedSource, SyncQueries } from './sync.queries.js';
import { reportAfterChanges, reportOf } from './sync-report.js';

/** Goes up when the reader or the document rules change, so that unchanged content is read again with the new ones. */
const READER_VERSION = 'reader-2';

/** One run of one leased source. */
@Injectable()
export class SyncRun {
  private readonly logger = new Logger('sync');

  constructor(
    private readonly dataSource: DataSource,
    private readonly queries: SyncQueries,
    private readonly writer: EntryWriter,
    private readonly fetchers: Fetchers,
    private readonly metrics: SyncMetrics,
  ) {}

  /**
   * Fetches and validates first, outside any transaction; then makes the rows equal in one (design, "Tables"). A run
   * that fails leaves the entries as they were and says why. Throws only when the database is away, or the signal aborts.
   */
  async run(owner: string, source: LeasedSource, signal: AbortSignal): Promise<RunOutcome> {
    const started = performance.now();
    const rules = rulesDigest(source);
    try {
      const fetched = await this.fetchers.fetch(source, stateOf(source, rules), signal);
      const fetchState = { rules, state: fetched.state };
      const contentDigest = fetched.kind === 'file' ? withRules(fetched.digest, rules) : null;
      const isKnown = contentDigest !== null && source.contentDigest?.equals(contentDigest);
      if (fetched.kind === 'unchanged' || isKnown) {
        const isOurs = await this.queries.completeUnchanged(owner, source.id, fetchState, source.intervalMs);
        if (!isOurs) return this.superseded(source);
        this.logger.debug({ source: source.name }, 'Source is unchanged');
        return 'unchanged';
      }
      const content =
        fetched.kind === 'file' ? await readRegistryFile(fetched.bytes, source.filter) : fetched.content;
      signal.throwIfAborted();
      const gone = fetched.kind === 'changes' ? fetched.gone : null;
      return await this.write(owner, source, { content, gone, contentDigest, fetchState }, started);
    } catch (error) {
      if (isDatabaseUnreachable(error)) throw error;
      if (signal.aborted) throw new Error('The sync was cut off', { cause: error });
      return this.fail(owner, source, error);
    }
  }

  private async write(
    owner: string,
    source: LeasedSource,
    { content, gone, contentDigest, fetchState }: Found,
    started: number,
  ): Promise<RunOutcome> {
    const writing = this.dataSource.transaction(async (manager) => {
      const claimSetId = await this.queries.lockForWrite(manager, owner, source);
      if (claimSetId === undefined) return undefined;
      const counts = gone
        ? await this.writer.applyChanges(manager, source.id, claimSetId, content.entries, gone)
        : await this.writer.replaceAll(manager, source.id, claimSetId, content.entries);
      // New claims that came with new settings have waited for this.
      const relabeled =
        source.fetchState === null ? await setInheritedClaims(manager, source.id, claimSetId) : 0;
      if (counts.added + counts.changed + counts.removed + relabeled > 0)
        await bumpRevision(manager, source.id);
      const report = gone
        ? reportAfterChanges(await this.queries.lastReport(manager, source.id), content, gone, counts)
        : reportOf(content, counts);
      const outcome = { contentDigest, fetchState, ...report };
      if (!(await this.queries.complete(manager, owner, source.id, outcome, source.intervalMs)))
        throw new LeaseLost();
      return report;
    });
    const written = await writing.catch((error: unknown) => {
      if (error instanceof LeaseLost) return undefined;
      throw error;
    });
    if (!written) return this.superseded(source);
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
    const expected = error instanceof FetchError || error instanceof RegistryFileError;
    const sentence = expected ? error.message : 'The sync failed inside the server; its log has the cause';
    const asked = error instanceof FetchError ? error.retryAfterMs : null;
    const pause = retryInMs(source.attempts, source.intervalMs, asked);
    if (!(await this.queries.fail(owner, source.id, sentence, pause))) return this.superseded(source);
    const report = { source: source.name, attempts: source.attempts, retryInMs: pause };
    if (expected) this.logger.warn({ ...report, error: sentence }, 'Sync failed; the earlier entries stay');
    else this.logger.error({ ...report, err: error }, 'Sync failed; the earlier entries stay');
    return 'failed';
  }
}

/** Takes back what was written: somebody else has read the source since, and may have found nothing to write. */
class LeaseLost extends Error {}

/** What is to be written. */
interface Found {
  readonly content: ReadEntries;
  /** What left the source, when the content is only what has changed; null when it is everything. */
  readonly gone: readonly VersionName[] | null;
  readonly contentDigest: Buffer | null;
  readonly fetchState: object;
}

// What was read also depends on the filter and on the rules that read it.
function rulesDigest(source: LeasedSource): string {
  return createHash('sha256')
    .update(JSON.stringify([READER_VERSION, source.filter]))
    .digest('base64url');
}

function withRules(digest: Buffer, rules: string): Buffer {
  return createHash('sha256').update(rules).update(digest).digest();
}

function stateOf({ fetchState }: LeasedSource, rules: string): FetchState | null {
  const kept = fetchState as { rules: string; state: FetchState } | null;
  return kept?.rules === rules ? kept.state : null;
}
