import pg from 'pg';
import { type ConnectionConfig, poolConfig, type PoolUse, useOf } from './connection.js';
import { isOutOfConnections } from './database-errors.js';
import { ON_PRIMARY } from './primary.js';

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
