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
  useOf,
} from './connection.js';
import { isDatabaseUnreachable } from './database-errors.js';

/** What PostgreSQL told a connection about itself when it began (BackendKeyData). */
export interface BackendKey {
  readonly processID: number;
  readonly secretKey: number;
}

const CANCEL_REQUEST = 80_877_102;
const SSL_REQUEST = 80_877_103;
/** It takes milliseconds; PostgreSQL waits as little for the next one. */
const TIMEOUT_MS = 1_000;

/**
 * Asks PostgreSQL to cancel what a connection is doing, on a connection of its own (PostgreSQL manual, "Canceling Requests in
 * Progress"). Unlike pg_cancel_backend it works through a pooler, and takes no connection that others need.
 *
 * Resolves when the request has been dealt with: what that connection runs from then on is not meant.
 *
 * @throws Error when the request may not have arrived.
 */
export function cancelStatement(connection: ConnectionConfig, backend: BackendKey): Promise<void> {
  const { host, port, ssl } = connection;
  const socket = host.startsWith('/') ? connectTcp(join(host, `.s.PGSQL.${port}`)) : connectTcp(port, host);
  return new Promise((resolve, reject) => {
    // PostgreSQL answers nothing and closes.
    const send = (over: Socket) => {
      over.once('error', reject).once('close', () => resolve());
      over.write(int32s(16, CANCEL_REQUEST, backend.processID, backend.secretKey));
    };
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('PostgreSQL takes no request to cancel')));
    if (!ssl || host.startsWith('/')) {
      send(socket);
      return;
    }
    const refuse = () => reject(new Error('PostgreSQL does not begin TLS'));
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

/** Searches that run at a time, of all callers. */
const CONNECTIONS = 3;
/** How long a search waits for one of them. */
const PERMIT_TIMEOUT_MS = 1_000;
/** How long a statement may take to end when it is cancelled; its connection is closed then. */
const CANCEL_TIMEOUT_MS = 250;
const CANCELLED_STATE = '57014';

/** When a search ends, however far it has come. */
export interface SearchContext {
  /** Whose search it is, where callers take turns. */
  readonly callerKey: string;
  /** A moment of `performance.now()`. */
  readonly deadline: number;
  /** Aborts when nobody waits for the answer any more. */
  readonly abandoned: AbortSignal;
}

/** Runs SQL statements. */
export interface StatementRunner {
  query<Rows>(text: string, values: unknown[]): Promise<Rows>;
}

/** A search has not ended before its deadline. */
export class SearchTimeout extends Error {
  override readonly name = 'SearchTimeout';
}

/**
 * The few connections on which searches run, which may take long: all others are left to what does not. A statement is
 * cancelled when its time is over or when nobody waits for it any more.
 */
export class SearchPool {
  private readonly pool: pg.Pool;
  private readonly semaphore = new Semaphore(CONNECTIONS, PERMIT_TIMEOUT_MS);

  /** @param onError is told of connections that break while idle. */
  constructor(
    private readonly connection: ConnectionConfig,
    onError: (error: Error) => void,
  ) {
    this.pool = new pg.Pool({
      ...poolConfig(connection),
      max: CONNECTIONS,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      statement_timeout: SEARCH_STATEMENT_TIMEOUT_MS,
      application_name: 'registry-server-search',
    });
    this.pool.on('error', onError);
  }

  /**
   * Runs a search of one statement or several, one after the other, on one connection.
   *
   * @throws SemaphoreTimeout when as many others are under way, SearchTimeout, or the reason why the search was abandoned.
   */
  async run<Result>(
    { callerKey, deadline, abandoned }: SearchContext,
    search: (statements: StatementRunner) => Promise<Result>,
  ): Promise<Result> {
    const release = await this.semaphore.acquire(callerKey, abandoned);
    const end = new AbortController();
    const abandon = () => end.abort(abandoned.reason);
    const timeout = setTimeout(() => end.abort(new SearchTimeout()), deadline - performance.now());
    abandoned.addEventListener('abort', abandon, { once: true });
    if (abandoned.aborted) abandon();
    try {
      return await this.runUntil(end.signal, search);
    } finally {
      clearTimeout(timeout);
      abandoned.removeEventListener('abort', abandon);
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
    search: (statements: StatementRunner) => Promise<Result>,
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

/** Runs statements on one connection until it is told to end. */
class CancellableStatements implements StatementRunner {
  /** Whether the connection can't be used any more. */
  isBroken = false;

  constructor(
    private readonly client: pg.PoolClient,
    private readonly connection: ConnectionConfig,
    private readonly end: AbortSignal,
    private readonly ended: Promise<undefined>,
  ) {}

  async query<Rows>(text: string, values: unknown[]): Promise<Rows> {
    this.end.throwIfAborted();
    const statement = this.client.query(text, values);
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

  /** Whether the statement has ended, and nothing that follows it on its connection may be cancelled in its place. */
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
