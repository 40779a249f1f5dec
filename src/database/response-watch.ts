import type { PoolClient, ServerConnections } from './connection.js';
import type { ReadinessPool } from './readiness-pool.js';

const EVERY_MS = 500;
/** With the timeout of a ping, statements wait four seconds at most (contract §3). */
const UNANSWERED_PINGS = 2;
const BEAT_MS = 250;
/** Fewer beats during an unanswered ping mean that the event loop was blocked. */
const BEATS_PER_PING = 4;

/**
 * Detects a PostgreSQL server that has stopped responding without closing its connections, such as a stopped process
 * or a network that drops packets. Statements and new connections then fail instead of waiting, until it responds.
 * Statements of any length may run while PostgreSQL responds to pings.
 */
export class ResponseWatch {
  private timer: NodeJS.Timeout | undefined;
  private unanswered = 0;

  constructor(
    private readonly server: ServerConnections,
    private readonly readiness: ReadinessPool,
    private readonly log: (message: string) => void,
  ) {}

  begin(): void {
    const isInDoubt = this.unanswered > 0 && !this.server.isSilent;
    const again = () => void this.check().then(() => this.timer && this.begin());
    this.timer = setTimeout(again, isInDoubt ? 0 : EVERY_MS).unref();
  }

  end(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private async check(): Promise<void> {
    const { server } = this;
    if (!server.isSilent && ![...server.clients].some(isWaiting)) return;
    const responds = await this.isAnswered();
    if (responds === undefined) return;
    this.unanswered = responds ? 0 : this.unanswered + 1;
    const isSilent = this.unanswered >= UNANSWERED_PINGS;
    if (isSilent !== server.isSilent)
      this.log(
        isSilent ? 'PostgreSQL does not respond: closing its connections' : 'PostgreSQL responds again',
      );
    server.isSilent = isSilent;
    if (isSilent) for (const client of server.clients) client.break();
  }

  /** Returns undefined if this process was blocked, so that it may have missed the answer. */
  private async isAnswered(): Promise<boolean | undefined> {
    let beats = 0;
    const heart = setInterval(() => (beats += 1), BEAT_MS);
    try {
      await this.readiness.ping();
      return true;
    } catch (error) {
      // Any other error is a response, or comes from a connection that is closed.
      if (!/timeout/i.test((error as Error).message)) return true;
      return beats < BEATS_PER_PING ? undefined : false;
    } finally {
      clearInterval(heart);
    }
  }
}

// node-postgres sets this when PostgreSQL has answered the last statement.
function isWaiting(client: PoolClient & { readonly readyForQuery?: boolean }): boolean {
  return client.readyForQuery !== true;
}
