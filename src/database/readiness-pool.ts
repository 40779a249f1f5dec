import pg from 'pg';
import {
  type ConnectionConfig,
  poolConfig,
  type PoolUse,
  type ServerConnections,
  useOf,
} from './connection.js';
import { isOutOfConnections } from './database-errors.js';
import { ON_PRIMARY } from './sql-expressions.js';

const TIMEOUT_MS = 1_750;

/** One connection reserved for readiness checks, so that they work while the other pools are exhausted. */
export class ReadinessPool {
  private readonly pool: pg.Pool;
  private pending: Promise<unknown> | undefined;

  /**
   * @param onError called when the idle connection breaks.
   * @param isConnected whether the main pool has a connection.
   */
  constructor(
    connection: ConnectionConfig,
    onError: (error: Error) => void,
    private readonly isConnected: () => boolean,
  ) {
    this.pool = new pg.Pool({
      ...poolConfig(connection),
      max: 1,
      idleTimeoutMillis: 0,
      connectionTimeoutMillis: TIMEOUT_MS,
      query_timeout: TIMEOUT_MS,
      application_name: 'registry-server-readiness',
    });
    this.pool.on('error', onError);
  }

  /**
   * Rejects when PostgreSQL is unreachable, does not respond within TIMEOUT_MS, or grants this server no connection at all.
   * Concurrent calls share one query.
   */
  async ping(): Promise<void> {
    this.pending ??= this.pool
      .query(`select ${ON_PRIMARY}`)
      .catch((error: unknown) => {
        if (!isOutOfConnections(error) || !this.isConnected()) throw error;
      })
      .finally(() => (this.pending = undefined));
    await this.pending;
  }

  get use(): PoolUse {
    return useOf(this.pool);
  }

  close(): Promise<void> {
    return this.pool.end();
  }
}

const EVERY_MS = 500;
/** Together with the timeout of a ping, this limits the wait for a statement to four seconds (reference/errors). */
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

// Any other error is a response from PostgreSQL, which has a code, or means that the connection was closed.
function isClientTimeout(error: Error): boolean {
  return !('code' in error) && /timeout/i.test(error.message);
}
