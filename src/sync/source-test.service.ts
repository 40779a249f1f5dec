import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { type Caller, callerKeyOf } from '../auth/caller.js';
import type { SourceConfig } from '../config/config.js';
import { ApiError } from '../http/errors.js';
import type { Client, RequestContext } from '../http/request-context.js';
import { withinQuota } from '../http/server-limits.js';
import { ownShortage } from '../limits/own-resources.js';
import { Quota } from '../limits/quota.js';
import { FetchError } from '../outbound/fetch-error.js';
import { KINDS, type SyncedKind } from '../source-kinds/kinds.js';
import type { SourceBody } from '../source-kinds/source-settings.dto.js';
import type { LeasedSource } from '../sources/source-leases.queries.js';
import { SourcesService } from '../sources/sources.service.js';
import { Fetchers } from './fetchers.js';
import { FormatError, type SourceContent } from './formats/source-content.js';
import { FormatReaders } from './formats/format-readers.js';
import { ReadMemory, ReadMemoryError } from './read-memory.js';
import { readOnce, unsavedSource } from './read-source.js';
import type { SourceTestAnswer } from './source-test.responses.js';

/** Limits for tests: like syncs, they use connections and memory, but a person waits for them. */
const MAX_TESTS = 4;
const MAX_TESTS_PER_CALLER = 1;
const MAX_TEST_MS = 20_000;
const MAX_SHOWN_SKIPPED = 20;
const TOO_SLOW =
  `Reading the source took more than ${MAX_TEST_MS / 1_000} seconds, the maximum for a test: ` +
  'a sync may take longer';
const INTERNAL_FAILURE = 'The test failed because of an internal error: see the log for the cause';

/** Reads sources once, with settings that are not stored yet. */
@Injectable()
export class SourceTests implements OnApplicationShutdown {
  private readonly logger = new Logger('sync');
  private readonly running = new Quota({ total: MAX_TESTS, perKey: MAX_TESTS_PER_CALLER, reserve: true });
  private readonly stopping = new AbortController();

  constructor(
    private readonly sources: SourcesService,
    readonly fetchers: Fetchers,
    readonly formats: FormatReaders,
    private readonly memory: ReadMemory,
  ) {}

  /** @throws ApiError as for a PUT with these settings; 400 `not_synced`; 429 and 503 beyond the limits. */
  async test(
    caller: Caller,
    client: Client,
    name: string,
    body: SourceBody,
    context: RequestContext,
  ): Promise<SourceTestAnswer> {
    const declared = await this.sources.declare(caller, name, body);
    if (!isSynced(declared)) throw new ApiError('not_synced');
    const source = unsavedSource(declared, 'api');
    return withinQuota(this.running, callerKeyOf(caller, client), () => {
      const gone = client.abortSignal();
      const run = () => this.read(source, AbortSignal.any([gone, this.stopping.signal]));
      // A test lasts longer than a change and holds no connection to the database.
      return context.permit?.doWithout(run) ?? run();
    });
  }

  onApplicationShutdown(): void {
    this.stopping.abort();
  }

  private async read(source: LeasedSource, ended: AbortSignal): Promise<SourceTestAnswer> {
    const memory = this.memory.begin();
    const timeout = AbortSignal.timeout(MAX_TEST_MS);
    const signal = AbortSignal.any([ended, timeout]);
    try {
      return answerOf(await readOnce(this, source, signal, memory));
    } catch (thrown) {
      ended.throwIfAborted();
      return {
        status: 'failed',
        error: timeout.aborted ? TOO_SLOW : this.sentenceOf(memory.refusal ?? thrown),
        counts: {},
        skipped: [],
      };
    } finally {
      memory.end();
    }
  }

  private sentenceOf(error: unknown): string {
    if (error instanceof FetchError) return error.shown;
    if (error instanceof FormatError || error instanceof ReadMemoryError) return error.message;
    this.logger.error({ err: error }, 'The test of a source failed');
    return ownShortage(error) ?? INTERNAL_FAILURE;
  }
}

function answerOf({ content, format }: SourceContent & { kind: 'content' }): SourceTestAnswer {
  const { entries, skipped, unlisted = 0, filtered } = content;
  return {
    status: 'complete',
    ...(format === null ? {} : { format }),
    counts: { entries: entries.length, skipped: skipped.length + unlisted, filtered },
    skipped: skipped
      .slice(0, MAX_SHOWN_SKIPPED)
      .map(({ name, version, reasons }) => ({ name, version, reasons: [...reasons] })),
  };
}

function isSynced(declared: SourceConfig): declared is SourceConfig<SyncedKind> {
  return KINDS[declared.kind].filledBy === 'sync';
}
