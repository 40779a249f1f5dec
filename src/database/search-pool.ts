import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import pg from 'pg';
import { Semaphore } from '../limits/semaphore.js';
import {
  CONNECT_TIMEOUT_MS,
  type ConnectionConfig,
  poolConfig,
  type PoolUse,
  SEARCH_STATEMENT_TIMEOUT_MS,
  type ServerConnections,
  useOf,
} from './connection.js';
import { ConnectionPool } from './connection-pool.js';
import { isDatabaseUnreachable } from './database-errors.js';

/** Maximum number of concurrent searches across all callers. */
const CONNECTIONS = 3;
/** contract §3: a search waits up to two seconds. */
const PERMIT_TIMEOUT_MS = 2_000;
/** How long a cancelled statement may take to end before its connection is closed. */
const CANCEL_TIMEOUT_MS = 250;
const CANCELLED_STATE = '57014';

/** Identifies a connection to PostgreSQL (BackendKeyData). */
export interface BackendKey {
  readonly processID: number;
  readonly secretKey: number;
}

const CANCEL_REQUEST = 80_877_102;
const SSL_REQUEST = 80_877_103;
const CANCEL_REQUEST_TIMEOUT_MS = 1_000;

/**
 * Cancels a connection's running statement by sending a cancel request over a new connection (PostgreSQL manual,
 * "Canceling Requests in Progress"). Unlike pg_cancel_backend, it works through a pooler and occupies no pooled
 * connection.
 *
 * Resolves when PostgreSQL has processed the request, which then cannot affect a later statement.
 *
 * @throws Error if PostgreSQL may not have received the request.
 */
export function cancelStatement(connection: ConnectionConfig, backend: BackendKey): Promise<void> {
  const { host, port, ssl } = connection;
  const socket = host.startsWith('/') ? connectTcp(join(host, `.s.PGSQL.${port}`)) : connectTcp(port, host);
  return new Promise((resolve, reject) => {
    // PostgreSQL closes the connection without sending a response.
    const send = (over: Socket) => {
      over.once('error', reject).once('close', () => resolve());
      over.write(int32s(16, CANCEL_REQUEST, backend.processID, backend.secretKey));
    };
    socket.setTimeout(CANCEL_REQUEST_TIMEOUT_MS, () =>
      socket.destroy(new Error('PostgreSQL did not process the cancel request')),
    );
    if (!ssl || host.startsWith('/')) {
      send(socket);
      return;
    }
    const refuse = () => reject(new Error('PostgreSQL closed the connection before TLS'));
    socket.once('error', reject).once('close', refuse);
    socket.write(int32s(8, SSL_REQUEST));
    socket.once('data', (answer: Buffer) => {
      if (answer.toString('latin1') !== 'S') {
        socket.destroy();
        return;
      }
      socket.off('close', refuse);
      send(connectTls({ host, ...(isIP(host) ? {} : { servername: host }), ...ssl, socket }).resume());
    });
  });
}

function int32s(...numbers: number[]): Buffer {
  const bytes = Buffer.alloc(4 * numbers.length);
  numbers.forEach((number, index) => bytes.writeInt32BE(number | 0, 4 * index));
  return bytes;
}

export interface SearchContext {
  /** See `Client.callerKey`. */
  readonly callerKey: string;
  /** In milliseconds, on the `performance.now()` clock. */
  readonly deadline: number;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

export interface StatementRunner {
  query<Rows>(text: string, values: unknown[]): Promise<Rows>;
}

/** The connection of a search. */
export interface SearchStatements extends StatementRunner {
  run<Rows>(statement: pg.QueryConfig): Promise<Rows>;
}

/** Thrown when a search exceeds its deadline. */
export class SearchTimeout extends Error {
  override readonly name = 'SearchTimeout';
}

/**
 * Runs long searches on a few dedicated connections, so that they never exhaust the main pool. Cancels a statement at
 * its deadline or when the client disconnects.
 */
export class SearchPool {
  private readonly pool: pg.Pool;
  private readonly semaphore = new Semaphore(CONNECTIONS, PERMIT_TIMEOUT_MS);

  /** @param onError called when an idle connection breaks. */
  constructor(
    private readonly connection: ConnectionConfig,
    onError: (error: Error) => void,
    server?: ServerConnections,
  ) {
    this.pool = new ConnectionPool({
      ...poolConfig(connection, server),
      max: CONNECTIONS,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      statement_timeout: SEARCH_STATEMENT_TIMEOUT_MS,
      application_name: 'registry-server-search',
    });
    this.pool.on('error', onError);
  }

  /**
   * Runs the statements of a search one after the other on one connection. Waiting for the connection does not count
   * towards the deadline.
   *
   * @throws SemaphoreTimeout if all connections stay busy, SearchTimeout after the deadline, or `signal.reason` if the
   *   signal aborts.
   */
  async run<Result>(
    { callerKey, deadline, signal }: SearchContext,
    search: (statements: SearchStatements) => Promise<Result>,
  ): Promise<Result> {
    const began = performance.now();
    const release = await this.semaphore.acquire(callerKey, signal);
    const end = new AbortController();
    const abort = () => end.abort(signal.reason);
    const timeout = setTimeout(() => end.abort(new SearchTimeout()), deadline - began);
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    try {
      return await this.runUntil(end.signal, search);
    } finally {
      clearTimeout(timeout);
      signal.removeEventListener('abort', abort);
      release();
    }
  }

  get use(): PoolUse {
    return useOf(this.pool);
  }

  close(): Promise<void> {
    return this.pool.end();
  }

  private async runUntil<Result>(
    end: AbortSignal,
    search: (statements: SearchStatements) => Promise<Result>,
  ): Promise<Result> {
    const ended = new Promise<undefined>((resolve) => {
      end.addEventListener('abort', () => resolve(undefined), { once: true });
    });
    end.throwIfAborted();
    const connecting = this.pool.connect();
    const client = await Promise.race([connecting, ended]);
    if (!client) {
      connecting.then(
        (late) => late.release(),
        () => undefined,
      );
      throw end.reason;
    }
    const statements = new CancellableStatements(client, this.connection, end, ended);
    try {
      return await search(statements);
    } finally {
      client.release(statements.isBroken);
    }
  }
}

/** Runs statements on one connection until `end` aborts. */
class CancellableStatements implements SearchStatements {
  /** Whether the connection must be closed. */
  isBroken = false;

  constructor(
    private readonly client: pg.PoolClient,
    private readonly connection: ConnectionConfig,
    private readonly end: AbortSignal,
    private readonly ended: Promise<undefined>,
  ) {}

  query<Rows>(text: string, values: unknown[]): Promise<Rows> {
    return this.run<Rows>({ text, values });
  }

  async run<Rows>(asked: pg.QueryConfig): Promise<Rows> {
    this.end.throwIfAborted();
    const statement = this.client.query(asked);
    try {
      const result = await Promise.race([statement, this.ended]);
      if (result) return result.rows as Rows;
    } catch (error) {
      this.isBroken ||= isDatabaseUnreachable(error);
      throw (error as { code?: unknown }).code === CANCELLED_STATE ? new SearchTimeout() : error;
    }
    this.isBroken = !(await this.cancel(statement));
    throw this.end.reason;
  }

  /** Returns whether the statement has ended and the cancel request can no longer hit a later statement. */
  private async cancel(statement: Promise<unknown>): Promise<boolean> {
    const backend = this.client as unknown as BackendKey;
    const cancelled = Promise.all([
      cancelStatement(this.connection, backend),
      statement.catch(() => undefined),
    ]).then(
      () => true,
      () => false,
    );
    return Promise.race([cancelled, pause(CANCEL_TIMEOUT_MS, false)]);
  }
}
