import pg from 'pg';
import { type ConnectionConfig, poolConfig, type PoolUse, useOf } from './connection.js';

const TIMEOUT_MS = 2_000;

/** One connection that is kept for asking whether PostgreSQL answers: however busy the others are, it is not taken by them. */
export class ReadinessPool {
  private readonly pool: pg.Pool;
  private asking: Promise<unknown> | undefined;

  /** @param onError is told when the connection breaks while idle. */
  constructor(connection: ConnectionConfig, onError: (error: Error) => void) {
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

  /** Resolves when PostgreSQL answers; rejects when it is not reachable, or silent for seconds. */
  async ping(): Promise<void> {
    this.asking ??= this.pool.query('select 1').finally(() => (this.asking = undefined));
    await this.asking;
  }

  get use(): PoolUse {
    return useOf(this.pool);
  }

  close(): Promise<void> {
    return this.pool.end();
  }
}
