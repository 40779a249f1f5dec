import type { ServerConnections } from './connection.js';
import type { ReadinessPool } from './readiness-pool.js';

const EVERY_MS = 500;
/** Together with the timeout of a ping, statements wait at most four seconds (reference/errors). */
const UNANSWERED_PINGS = 2;

/**
 * Detects a PostgreSQL server that has stopped responding without closing its connections, such as a stopped process
 * or a network that drops packets. Statements and new connections then fail instead of waiting, until it responds.
 * Statements of any length may run while PostgreSQL responds to pings (docs/decisions/020-silent-postgresql.md).
 */
export class ResponseWatch {
  private timer: NodeJS.Timeout | undefined;
  private unanswered = 0;

  /** @param isInUse whether a connection is in use. */
  constructor(
    private readonly server: ServerConnections,
    private readonly readiness: ReadinessPool,
    private readonly isInUse: () => boolean,
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
    if (!server.isSilent && !this.isInUse()) return;
    const responds = await this.readiness.ping().then(
      () => true,
      (error: Error) => !isClientTimeout(error),
    );
    this.unanswered = responds ? 0 : this.unanswered + 1;
    const isSilent = this.unanswered >= UNANSWERED_PINGS;
    if (isSilent !== server.isSilent)
      this.log(
        isSilent ? 'PostgreSQL does not respond: closing its connections' : 'PostgreSQL responds again',
      );
    server.isSilent = isSilent;
    if (isSilent) for (const socket of server.sockets) socket.destroy();
  }
}

// Any other error is a response of PostgreSQL, which has a code, or means that the connection was closed.
function isClientTimeout(error: Error): boolean {
  return !('code' in error) && /timeout/i.test(error.message);
}
