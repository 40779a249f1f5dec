import pg from 'pg';
import { Semaphore } from '../limits/semaphore.js';
import {
  CONNECT_TIMEOUT_MS,
  type ConnectionConfig,
  poolConfig,
  type PoolUse,
  type ServerConnections,
  useOf,
} from './connection.js';
import { ConnectionPool } from './connection-pool.js';
import { isCanceled } from './database-errors.js';

/** Maximum number of concurrent searches across all callers. */
const CONNECTIONS = 3;
/** reference/search: a search waits up to two seconds. */
const PERMIT_TIMEOUT_MS = 2_000;

export interface SearchContext {
  /** See `Client.callerKey`. */
  readonly callerKey: string;
  /** Milliseconds on the `performance.now()` clock. */
  readonly deadline: number;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

export interface StatementRunner {
  query<Rows>(text: string, values: unknown[]): Promise<Rows>;
}

/** Thrown when a search exceeds its deadline. */
export class SearchTimeout extends Error {
  override readonly name = 'SearchTimeout';
}

/** Runs long searches on a few dedicated connections, so that they never exhaust the main pool. */
export class SearchPool {
  private readonly pool: pg.Pool;
  private readonly semaphore = new Semaphore(CONNECTIONS, PERMIT_TIMEOUT_MS);

  /** @param onError called when an idle connection breaks. */
  constructor(connection: ConnectionConfig, onError: (error: Error) => void, server?: ServerConnections) {
    this.pool = new ConnectionPool({
      ...poolConfig(connection, server),
      max: CONNECTIONS,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      application_name: 'registry-server-search',
    });
    this.pool.on('error', onError);
  }

  /**
   * Runs the statements of a search one after the other in a transaction, until the deadline. Waiting for the
   * connection does not count toward it. If the client disconnects, no further statement begins.
   *
   * @throws SemaphoreTimeout if all connections stay busy, SearchTimeout after the deadline, or `signal.reason` if the
   *   signal aborts.
   */
  async run<Result>(
    { callerKey, deadline, signal }: SearchContext,
    search: (statements: StatementRunner) => Promise<Result>,
  ): Promise<Result> {
    const duration = deadline - performance.now();
    return this.semaphore.run(callerKey, signal, async () => {
      const client = await this.pool.connect();
      let broken: Error | undefined;
      try {
        await client.query('begin read only');
        return await search(statementsOf(client, performance.now() + duration, signal));
      } finally {
        await client.query('rollback').catch((error: Error) => (broken = error));
        client.release(broken);
      }
    });
  }

  get use(): PoolUse {
    return useOf(this.pool);
  }

  close(): Promise<void> {
    return this.pool.end();
  }
}

function statementsOf(client: pg.PoolClient, deadline: number, signal: AbortSignal): StatementRunner {
  return {
    async query<Rows>(text: string, values: unknown[]) {
      signal.throwIfAborted();
      const left = Math.ceil(deadline - performance.now());
      if (left <= 0) throw new SearchTimeout();
      try {
        await client.query(`set local statement_timeout = ${left}`);
        return (await client.query(text, values)).rows as Rows;
      } catch (error) {
        throw isCanceled(error) ? new SearchTimeout() : error;
      }
    },
  };
}
