import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { DataSource } from 'typeorm';
import { Semaphore } from '../limits/semaphore.js';
import { CONNECT_TIMEOUT_MS, type ServerConnections } from './connection.js';
import { isOutOfConnections } from './database-errors.js';

/** How long a pool uses only its existing connections after PostgreSQL refused it another. */
const SHORTAGE_MS = 5_000;
/** First pause of a caller when the pool has no connections; doubles with each attempt. */
const RETRY_MS = 250;

type Connected = (error: Error | undefined, client: pg.PoolClient | undefined, done: Release) => void;
type Release = (error?: Error | boolean) => void;

/**
 * A pool that keeps working with the connections that it has when PostgreSQL grants no more. Its callers fail only if
 * no connection becomes free within CONNECT_TIMEOUT_MS.
 */
export class ConnectionPool extends pg.Pool {
  private readonly size = this.options.max;
  // A pool may report more than once that it removed a connection.
  private readonly open = new Set<pg.PoolClient>();
  private shortage: NodeJS.Timeout | undefined;

  constructor(private readonly config: pg.PoolConfig & { readonly server?: ServerConnections }) {
    super(config);
    this.on('connect', (client) => this.open.add(client));
    this.on('remove', (client) => this.open.delete(client));
  }

  get isConnected(): boolean {
    return this.open.size > 0;
  }

  override connect(): Promise<pg.PoolClient>;
  override connect(callback: Connected): void;
  override connect(callback?: Connected): Promise<pg.PoolClient> | void {
    const connecting = this.config.server?.isSilent
      ? Promise.reject(new Error('Connection terminated: PostgreSQL does not respond'))
      : super.connect().catch((error: unknown) => this.share(error));
    if (!callback) return connecting;
    connecting.then(
      (client) => callback(undefined, client, (error) => client.release(error)),
      (error: Error) => callback(error, undefined, () => undefined),
    );
  }

  private async share(refused: unknown): Promise<pg.PoolClient> {
    const deadline = Date.now() + CONNECT_TIMEOUT_MS;
    let error = refused;
    for (let pause = RETRY_MS; isOutOfConnections(error) && Date.now() < deadline; pause *= 2) {
      this.beginShortage(error);
      if (this.open.size === 0) await sleep(Math.min(pause, deadline - Date.now()));
      const connecting = super.connect();
      const timeout = sleep(deadline - Date.now(), undefined, { ref: false });
      const client = await Promise.race([connecting, timeout]).catch(
        (again: unknown) => void (error = again),
      );
      if (client) return client;
      connecting.then(
        (late) => late.release(),
        () => undefined,
      );
    }
    throw error;
  }

  private beginShortage(error: unknown): void {
    this.options.max = Math.max(1, this.open.size);
    if (this.shortage) return;
    this.emit('error', error);
    this.shortage = setTimeout(() => {
      this.shortage = undefined;
      this.options.max = this.size;
    }, SHORTAGE_MS).unref();
  }
}

/** The pool of a data source; undefined while disconnected. */
export function poolOf({ driver }: DataSource): ConnectionPool | undefined {
  const { master } = (driver ?? {}) as { readonly master?: ConnectionPool };
  return master;
}

/** Shares of the pool's connections that each kind of work may use. */
const READS = 0.4;
const CHANGES = 0.2;
/** The number of versions that one statement reads. */
const VERSIONS = 16;

/**
 * Limits how many pool connections each kind of work uses. The remaining connections serve short statements that other
 * work waits for: loading views, resolving a request's resources, syncing.
 */
export class PoolSemaphores {
  /** Statements that read catalog pages. */
  readonly reads: Semaphore;
  /** Reads of single versions, which share statements. */
  readonly versions = new Semaphore(VERSIONS);
  readonly changes: Semaphore;
  /** Reads by callers who read large pages: decoding and sending a page of 1 MiB takes the event loop 10 ms. */
  readonly largeReads = new Semaphore(1);
  /** Complete lists of entries, which are built in memory. */
  readonly lists = new Semaphore(1);
  /** Long reads by consumers, which must not wait for `lists`. */
  readonly exports = new Semaphore(1);

  /** @param connections size of the pool. */
  constructor(connections: number) {
    this.reads = new Semaphore(Math.max(1, Math.floor(READS * connections)));
    this.changes = new Semaphore(Math.max(1, Math.floor(CHANGES * connections)));
  }
}
