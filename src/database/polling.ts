import type { Logger } from '@nestjs/common';
import { isDatabaseUnreachable } from './unreachable.js';

/** What the log says, in the words of who looks. Nothing of a database that is away where somebody else tells it. */
export interface PollingWords {
  readonly failed: string;
  readonly away?: string;
  readonly back?: string;
}

/** Looks at the database again and again, one look at a time; while the database is away that is told once, and looked for. */
export class Polling {
  /** Undefined while a look is under way. */
  private timer: NodeJS.Timeout | undefined;
  private looking: Promise<void> = Promise.resolve();
  private ended = false;
  private away = false;

  constructor(
    private readonly look: () => Promise<void>,
    private readonly everyMs: number,
    private readonly logger: Logger,
    private readonly words: PollingWords,
  ) {}

  get hasEnded(): boolean {
    return this.ended;
  }

  begin(): void {
    this.tick();
  }

  /** Does not wait for the next look, unless one is under way. */
  lookNow(): void {
    if (this.ended || this.timer === undefined) return;
    clearTimeout(this.timer);
    this.tick();
  }

  /** Resolves when the look under way, if any, has ended; there is none after it. */
  async end(): Promise<void> {
    this.ended = true;
    clearTimeout(this.timer);
    await this.looking;
  }

  private tick(): void {
    this.timer = undefined;
    this.looking = this.look()
      .then(() => {
        if (this.away && this.words.back !== undefined) this.logger.log(this.words.back);
        this.away = false;
      })
      .catch((error: unknown) => {
        if (!isDatabaseUnreachable(error)) this.logger.error({ err: error }, this.words.failed);
        else if (!this.away && this.words.away !== undefined) this.logger.warn(this.words.away);
        this.away ||= isDatabaseUnreachable(error);
      })
      .finally(() => {
        if (!this.ended) this.timer = setTimeout(() => this.tick(), this.everyMs);
      });
  }
}
