import { createHash } from 'node:crypto';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { DataSource } from 'typeorm';
import { BlockSweep } from '../admission/block-sweep.queries.js';
import { AuditTrail } from '../audit/audit-trail.js';
import type { WrittenEvent } from '../audit/audit.queries.js';
import type { Config, LimitsConfig } from '../config/config.js';
import { contentConfig, limitsConfig } from '../config/slices.js';
import { type KeptFolders, SourceFolders } from '../content/source-folders.js';
import { isDatabaseUnreachable, isStorageFull } from '../database/database-errors.js';
import type { VersionName } from '../documents/entry-types.js';
import { EntryWriter } from '../entries/writer/entry-writer.js';
import { ownShortage } from '../limits/own-resources.js';
import { FetchError } from '../outbound/fetch-error.js';
import { namedFiles } from '../source-kinds/named-files.js';
import type { SourceFormat } from '../source-kinds/source-formats.js';
import { setInheritedClaims } from '../sources/inherited-claims.queries.js';
import { retryInMs } from '../sources/retry.js';
import { type LeasedSource, SourceLeases } from '../sources/source-leases.queries.js';
import { SourceStates } from '../sources/source-states.queries.js';
import { inSpan } from '../telemetry/tracing.js';
import type { FetchState } from './fetcher.js';
import { Fetchers } from './fetchers.js';
import { type FormatContent, FormatError } from './formats/source-content.js';
import { FormatReaders } from './formats/format-readers.js';
import { type MemoryShare, ReadMemory, ReadMemoryError } from './read-memory.js';
import { readSource } from './read-source.js';
import { checkNotEmpty, checkNotShrunk, isGuarded } from './shrink-guard.js';
import { type RunOutcome, SyncMetrics } from './sync-metrics.js';
import {
  reportAfterChanges,
  reportOf,
  STORAGE_FULL,
  type SyncReport,
  withoutRefused,
} from './sync-report.js';
import { countLiveEntries } from './sync.queries.js';

const INTERNAL_FAILURE = 'The sync failed because of an internal error: see the log for the cause';

interface SyncContent {
  readonly content: FormatContent;
  /** The versions removed from the source if `content` contains only changes; null if `content` is complete. */
  readonly gone: readonly VersionName[] | null;
  readonly fetchState: object;
  readonly format: SourceFormat | null;
  readonly kept: KeptFolders | undefined;
}

/**
 * Stored instead of the rules' digest, so that the next run reads everything: there may be room then, and other
 * repositories may respond.
 */
const INCOMPLETE = 'incomplete';

/** Runs one sync of a leased source. */
@Injectable()
export class SyncRun {
  private readonly logger = new Logger('sync');

  constructor(
    private readonly dataSource: DataSource,
    private readonly leases: SourceLeases,
    private readonly states: SourceStates,
    private readonly writer: EntryWriter,
    private readonly blocks: BlockSweep,
    readonly fetchers: Fetchers,
    private readonly metrics: SyncMetrics,
    private readonly memory: ReadMemory,
    private readonly audit: AuditTrail,
    readonly formats: FormatReaders,
    readonly folders: SourceFolders,
    @Inject(limitsConfig.KEY) private readonly limits: ConfigType<typeof limitsConfig>,
    @Inject(contentConfig.KEY) private readonly content: ConfigType<typeof contentConfig>,
  ) {}

  /**
   * Fetches and validates outside any transaction, then writes the entries in a single transaction. A failed run leaves
   * the entries unchanged and stores the reason. If other runs hold the memory it needs, waits and starts over. Throws
   * only if PostgreSQL is unreachable or a signal aborts.
   *
   * @param stopping ends the wait for memory, but not a run that reads or writes.
   */
  async run(
    owner: string,
    source: LeasedSource,
    signal: AbortSignal,
    stopping: AbortSignal,
  ): Promise<RunOutcome> {
    const patience = AbortSignal.any([signal, stopping]);
    let memory = this.memory.begin();
    try {
      for (;;) {
        const outcome = await this.attempt(owner, source, signal, memory);
        if (outcome) return outcome;
        this.logger.log({ source: source.name }, 'Sync waits for memory that other syncs hold');
        memory = await this.memory.waitForPlace(source.owner, patience);
      }
    } finally {
      memory.end();
    }
  }

  /** Returns null if the run must wait for memory. */
  private async attempt(
    owner: string,
    source: LeasedSource,
    signal: AbortSignal,
    memory: MemoryShare,
  ): Promise<RunOutcome | null> {
    const started = performance.now();
    const rules = rulesDigest(source, this.limits, this.content);
    const before = previousState(source, rules);
    try {
      const read = await inSpan('fetch', {}, () => readSource(this, source, before, signal, memory));
      const { kept } = read;
      const isIncomplete = kept?.isFull || (read.kind === 'content' && read.content.isIncomplete);
      const fetchState = { rules: isIncomplete ? INCOMPLETE : rules, state: read.state };
      if (read.kind === 'unchanged') {
        const { manager } = this.dataSource;
        if (!(await this.states.complete(manager, owner, source.id, source.intervalMs, { fetchState })))
          return this.superseded(source);
        this.logger.debug({ source: source.name }, 'Source is unchanged');
        return 'unchanged';
      }
      const { content, gone, format } = read;
      signal.throwIfAborted();
      if (gone === null)
        await checkNotEmpty(source, content, () => countLiveEntries(this.dataSource.manager, source.id));
      const written = { content, gone, fetchState, format, kept };
      return await inSpan('write', { 'registry.sync.entries': content.entries.length }, () =>
        this.write(owner, source, written, started),
      );
    } catch (error) {
      if (isDatabaseUnreachable(error)) throw error;
      if (signal.aborted) throw new Error('The sync was aborted', { cause: error });
      if (memory.mustWait) return null;
      return await this.fail(owner, source, memory.refusal ?? error);
    }
  }

  private async write(
    owner: string,
    source: LeasedSource,
    { content: read, gone, fetchState, format, kept }: SyncContent,
    started: number,
  ): Promise<RunOutcome> {
    const { id, name, intervalMs } = source;
    let events: WrittenEvent[] = [];
    let content = read;
    const written = await this.leases.writeWhileHeld(owner, source, async (manager, claimSetId) => {
      const before = isGuarded(source) ? await countLiveEntries(manager, id) : 0;
      const wrote = gone
        ? await this.writer.applyChanges(manager, id, claimSetId, read.entries, gone)
        : await this.writer.replaceAll(manager, id, claimSetId, read.entries, read.folders !== undefined);
      const { counts, held } = wrote;
      content = withoutRefused(read, wrote.refused);
      if (kept) await this.folders.link(manager, source, kept);
      const after =
        counts.removed + counts.changed > 0 && before > 0 ? await countLiveEntries(manager, id) : before;
      checkNotShrunk(before, after);
      // If the claims were changed together with the settings, they take effect now.
      const relabeled = source.fetchState === null ? await setInheritedClaims(manager, id, claimSetId) : 0;
      const report: SyncReport = gone
        ? reportAfterChanges(await this.states.lastReport(manager, id), content, gone, { ...counts, held })
        : reportOf(content, { ...counts, held });
      const changed = counts.changed + relabeled;
      const durationMs = Math.round(performance.now() - started);
      events = await this.audit.writeSync(manager, name, claimSetId, { ...counts, changed, durationMs });
      const result = { fetchState, format, ...report };
      if (!(await this.states.complete(manager, owner, id, intervalMs, result))) return null;
      await this.blocks.settle(manager, [id], wrote.blocks);
      return report;
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
      'Nothing was written: another replica took over the source, or its settings changed',
    );
    return 'superseded';
  }

  private async fail(owner: string, source: LeasedSource, error: unknown): Promise<RunOutcome> {
    const expected =
      error instanceof FetchError || error instanceof FormatError || error instanceof ReadMemoryError;
    const sentence = expected
      ? shownSentence(error, source)
      : (ownShortage(error) ?? (isStorageFull(error) ? STORAGE_FULL : INTERNAL_FAILURE));
    const retryAfterMs = error instanceof FetchError ? error.retryAfterMs : null;
    const pause = retryInMs(source.attempts, source.intervalMs, retryAfterMs);
    if (!(await this.states.fail(this.dataSource.manager, owner, source.id, pause, sentence)))
      return this.superseded(source);
    const report = { source: source.name, attempts: source.attempts, retryInMs: pause };
    if (expected)
      this.logger.warn({ ...report, error: error.message }, 'Sync failed; the previous entries stay');
    else this.logger.error({ ...report, err: error }, 'Sync failed; the previous entries stay');
    return 'failed';
  }
}

/** Returns the message for everybody who may see the source. The log has the paths of the operator's secret files. */
function shownSentence(error: Error, { kind, settings, origin }: LeasedSource): string {
  const shown = error instanceof FetchError ? error.shown : error.message;
  if (origin === 'api') return shown;
  return namedFiles(kind, settings).reduce(
    (text, { name, path, use }) =>
      use === 'credential' && typeof name === 'string'
        ? text.replaceAll(name, `${kind}.${path.join('.')}`)
        : text,
    shown,
  );
}

/** Increment this when the reader or the document rules change, so that unchanged content is read again. */
const READER_VERSION = 'reader-7';

/** Returns a digest of the rules that decide which content of a source is stored. */
function rulesDigest(
  { filter, admission }: LeasedSource,
  { versionsPerEntry, bytesPerEntry, publisherMeta }: LimitsConfig,
  { maxBytesPerVersion }: Pick<Config['content'], 'maxBytesPerVersion'>,
): string {
  return createHash('sha256')
    .update(
      JSON.stringify([
        ...[READER_VERSION, filter, admission, versionsPerEntry, bytesPerEntry, publisherMeta],
        maxBytesPerVersion,
      ]),
    )
    .digest('base64url');
}

/** Returns the state of the last run, if it used the same rules. */
function previousState({ fetchState }: LeasedSource, rules: string): FetchState | null {
  const previous = fetchState as { rules: string; state: FetchState } | null;
  return previous?.rules === rules ? previous.state : null;
}
