import type { Logger } from '@nestjs/common';
import { isDatabaseUnreachable } from './database-errors.js';

/** What the log says, in the words of what polls. Nothing about reachability where another polling reports it already. */
export interface PollingMessages {
  readonly failed: string;
  readonly unreachable?: string;
  readonly reachable?: string;
}

/**
 * Does the same work on the database again and again, one poll at a time, with a pause after each. While the database is not
 * reachable it goes on trying, and that is logged once.
 */
export class Polling {
  /** Undefined while a poll is under way. */
  private timer: NodeJS.Timeout | undefined;
  private polling: Promise<void> = Promise.resolve();
  private ended = false;
  private isUnreachable = false;

  constructor(
    private readonly poll: () => Promise<void>,
    private readonly everyMs: number,
    private readonly logger: Logger,
    private readonly messages: PollingMessages,
  ) {}

  get hasEnded(): boolean {
    return this.ended;
  }

  begin(): void {
    this.tick();
  }

  /** As `begin`, with a pause before the first poll too. */
  beginLater(): void {
    this.timer = setTimeout(() => this.tick(), this.everyMs);
  }

  /** Ends the pause before the next poll. Does nothing while one is under way. */
  pollNow(): void {
    if (this.ended || this.timer === undefined) return;
    clearTimeout(this.timer);
    this.tick();
  }

  /** Resolves when the poll under way, if any, has ended; there is none after it. */
  async end(): Promise<void> {
    this.ended = true;
    clearTimeout(this.timer);
    await this.polling;
  }

  private tick(): void {
    this.timer = undefined;
    this.polling = this.poll()
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
        if (!this.ended) this.timer = setTimeout(() => this.tick(), this.everyMs);
      });
  }
}
