import { createHash } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import { DataSource } from 'typeorm';
import { isDatabaseAway } from '../database/database-away.js';
import { ApiError } from '../http/errors.js';
import { checkAdminFile } from '../sources/admin-files.js';
import { EntryWriter } from '../entries/entry-writer.js';
import type { EntryFilter } from './entry-filter.js';
import { fetchFile, FetchError } from './file.fetcher.js';
import { readRegistryFile, RegistryFileError } from './registry-file.js';
import { type LeasedSource, SyncQueries } from './sync.queries.js';

/** Goes up when the reader or the document rules change, so that unchanged content is read again with the new ones. */
const READER_VERSION = 'reader-2';
const FIRST_RETRY_MS = 5_000;

/** One run of one leased source. */
@Injectable()
export class SyncRun {
  private readonly logger = new Logger('sync');
  private readonly adminFileRoot: string | null;

  constructor(
    private readonly dataSource: DataSource,
    private readonly queries: SyncQueries,
    private readonly writer: EntryWriter,
    config: ConfigService,
  ) {
    this.adminFileRoot = config.get<string | null>('adminFileRoot') ?? null;
  }

  /**
   * Fetches and validates first, outside any transaction; then makes the rows equal in one (design, "Tables"). A run
   * that fails leaves the entries as they were and says why. Throws only when the database is away.
   */
  async run(owner: string, source: LeasedSource): Promise<void> {
    const started = performance.now();
    try {
      const { bytes, digest } = await fetchFile(await this.readableFile(source));
      const contentDigest = digestOf(digest, source);
      if (source.contentDigest?.equals(contentDigest)) {
        await this.queries.completeUnchanged(owner, source.id, source.intervalMs);
        this.logger.debug({ source: source.name }, 'Source is unchanged');
        return;
      }
      const content = await readRegistryFile(bytes, source.filter as EntryFilter | null);
      await this.write(owner, source, contentDigest, content, started);
    } catch (error) {
      if (isDatabaseAway(error)) throw error;
      await this.fail(owner, source, error);
    }
  }

  // What the rules for sources made through the API allow may have changed since, and so may what is behind the path.
  private async readableFile({ settings, origin }: LeasedSource): Promise<string> {
    const path = String(settings['path']);
    if (origin === 'config') return path;
    return checkAdminFile(path, this.adminFileRoot).catch((error: unknown) => {
      throw error instanceof ApiError ? new FetchError(`${path} may not be read: ${error.message}`) : error;
    });
  }

  private async write(
    owner: string,
    source: LeasedSource,
    contentDigest: Buffer,
    content: Awaited<ReturnType<typeof readRegistryFile>>,
    started: number,
  ): Promise<void> {
    const { entries, skipped, filtered } = content;
    const written = await this.dataSource.transaction(async (manager) => {
      const claimSetId = await this.queries.lockForWrite(manager, owner, source);
      if (claimSetId === undefined) return undefined;
      const counts = await this.writer.replaceAll(manager, source.id, claimSetId, entries);
      if (counts.added + counts.changed + counts.removed > 0)
        await this.queries.moveRevision(manager, source.id);
      const outcome = {
        contentDigest,
        counts: { ...counts, entries: entries.length, skipped: skipped.length, filtered },
        skipped,
      };
      await this.queries.complete(manager, owner, source.id, outcome, source.intervalMs);
      return outcome.counts;
    });
    if (!written) {
      this.logger.log(
        { source: source.name },
        'Source changed hands or settings during its sync; nothing was written',
      );
      return;
    }
    const report = { source: source.name, ...written, ms: Math.round(performance.now() - started) };
    if (skipped.length === 0) this.logger.log(report, 'Source synced');
    else
      this.logger.warn(
        { ...report, firstSkipped: skipped.slice(0, 3) },
        'Source synced, some entries skipped',
      );
  }

  private async fail(owner: string, source: LeasedSource, error: unknown): Promise<void> {
    const expected = error instanceof FetchError || error instanceof RegistryFileError;
    const sentence = expected ? error.message : 'The sync failed inside the server; its log has the cause';
    const backOff = Math.min(source.intervalMs, FIRST_RETRY_MS * 2 ** Math.min(source.attempts - 1, 20));
    await this.queries.fail(owner, source.id, sentence, backOff);
    const report = { source: source.name, attempts: source.attempts, retryInMs: backOff };
    if (expected) this.logger.warn({ ...report, error: sentence }, 'Sync failed; the earlier entries stay');
    else this.logger.error({ ...report, err: error }, 'Sync failed; the earlier entries stay');
  }
}

// What was read also depends on the filter and on the rules that read it.
function digestOf(content: Buffer, source: LeasedSource): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([READER_VERSION, source.filter]))
    .update(content)
    .digest();
}
