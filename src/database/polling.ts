import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger, OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import { isDatabaseUnreachable } from './database-errors.js';

/** Log messages. The optional ones are omitted if another Polling already logs whether the database is reachable. */
export interface PollingMessages {
  readonly failed: string;
  readonly unreachable?: string;
  readonly reachable?: string;
}

/**
 * A service that polls the database while the application runs, with a pause after each poll. Keeps polling while the
 * database is unreachable, but logs the failure only once.
 */
export abstract class Polling implements OnApplicationBootstrap, OnApplicationShutdown {
  private timer: NodeJS.Timeout | undefined;
  private lastPoll: Promise<void> = Promise.resolve();
  private ended = false;
  private isAskedAgain = false;
  private isUnreachable = false;
  /** Polls are not part of the request that asks for one: its trace would never end. */
  private readonly inOwnContext = AsyncLocalStorage.snapshot();

  constructor(
    readonly everyMs: number,
    protected readonly logger: Logger,
    private readonly messages: PollingMessages,
  ) {}

  protected abstract poll(): Promise<void>;

  onApplicationBootstrap(): void {
    this.begin();
  }

  onApplicationShutdown(): Promise<void> {
    return this.end();
  }

  get hasEnded(): boolean {
    return this.ended;
  }

  begin(): void {
    this.tick();
  }

  /** Works like `begin`, but starts with a pause. */
  beginLater(): void {
    this.timer = setTimeout(() => this.tick(), this.everyMs);
  }

  /** Skips the rest of the current pause, or the pause after the current poll. */
  pollNow(): void {
    this.isAskedAgain = this.timer === undefined;
    if (this.ended || this.timer === undefined) return;
    clearTimeout(this.timer);
    this.inOwnContext(() => this.tick());
  }

  /** Stops polling; resolves when the current poll, if any, has ended. */
  async end(): Promise<void> {
    this.ended = true;
    clearTimeout(this.timer);
    await this.lastPoll;
  }

  private tick(): void {
    this.timer = undefined;
    this.lastPoll = this.poll()
      .then(() => {
        if (this.isUnreachable && this.messages.reachable !== undefined)
          this.logger.log(this.messages.reachable);
        this.isUnreachable = false;
      })
      .catch((error: unknown) => {
        const { failed, unreachable } = this.messages;
        if (!isDatabaseUnreachable(error)) this.logger.error({ err: error }, failed);
        else if (!this.isUnreachable && unreachable !== undefined) this.logger.warn(unreachable);
        this.isUnreachable ||= isDatabaseUnreachable(error);
      })
      .finally(() => {
        if (!this.ended) this.timer = setTimeout(() => this.tick(), this.isAskedAgain ? 0 : this.everyMs);
        this.isAskedAgain = false;
      });
  }
}

/** Pause between slices, so that other statements can run. */
const PAUSE_MS = 20;

/**
 * Deletes rows in slices until a slice is not full or polling ends.
 *
 * @param slice deletes at most `rows` rows and returns how many; null if another replica is deleting.
 * @returns how many rows it deleted.
 */
export async function deleteInSlices(
  polling: Polling,
  rows: number,
  slice: (rows: number) => Promise<number | null>,
): Promise<number> {
  for (let total = 0; ; await sleep(PAUSE_MS)) {
    const deleted = await slice(rows);
    total += deleted ?? 0;
    if (deleted !== rows || polling.hasEnded) return total;
  }
}
