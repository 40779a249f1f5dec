import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  type IncomingMessage,
  maxHeaderSize,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Logger } from '@nestjs/common';
import type { Address } from '../config/environment.js';
import { openFilesLimit } from '../limits/own-resources.js';
import { Quota, RESERVE } from '../limits/quota.js';
import { Semaphore } from '../limits/semaphore.js';
import { pauseIfDue } from '../limits/time-slice.js';
import { ApiError, errorBody, type ErrorCode } from './errors.js';
import { clientNetwork } from './request-context.js';

/**
 * Length of the listening socket's accept queue. When it is full, the kernel drops new connections, and their clients
 * retry after a second, so it must exceed the number that one client opens simultaneously. Linux caps it at
 * `net.core.somaxconn`, 4,096 by default.
 */
const BACKLOG = 4_096;

const logger = new Logger('http');

export async function listen(server: Server, { host, port }: Address): Promise<number> {
  await once(server.listen({ port, host, backlog: BACKLOG }), 'listening');
  // No connection can be accepted without file descriptors.
  server.on('error', (error) => logger.warn({ err: error }, 'A connection could not be accepted'));
  return (server.address() as AddressInfo).port;
}

/** reference/limits: how long the headers and body of a request may take to arrive. */
const ARRIVAL_TIMEOUT_MS = 10_000;

/** How often Node checks the arrival timeout. */
const ARRIVAL_CHECK_MS = 1_000;

/** Closes connections without traffic, for example when a client does not read. Longer than any statement timeout. */
const IDLE_TIMEOUT_MS = 120_000;

/** Maximum number of pipelined requests that wait on one connection; with more, the connection is closed. */
const MAX_PIPELINED = 10;

/** Maximum bytes of complete responses that wait to be read, across all connections. */
const MAX_UNREAD_BYTES = 64 * 1_024 * 1_024;

/** Maximum number of requests that start in one turn of the event loop. */
const STARTS_PER_TURN = 8;

export interface ServerLimits {
  /** Concurrent connections, plus a reserve (see Quota); further connections are closed immediately. */
  readonly connections: number;
  /** Concurrent requests, plus a reserve; further requests get 503 `overloaded`. */
  readonly requestsInFlight: number;
  /** How long an idle connection stays open. */
  readonly keepAliveMs: number;
}

export type Middleware = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void;

/** Descriptors for everything else: PostgreSQL, identity providers, upstreams, git and files. */
const OTHER_DESCRIPTORS = 256;

/**
 * Returns how many of the configured connections the server can accept, in addition to Quota's reserve, so that
 * descriptors remain for everything else.
 *
 * @param descriptors how many files the process may open.
 */
export function connectionsThatFit(connections: number, descriptors: number): number {
  return Math.max(1, Math.min(connections, Math.floor((descriptors - OTHER_DESCRIPTORS) / (1 + RESERVE))));
}

/** Limits the number of connections and how long requests may take to arrive. Call before the server listens. */
export function limitConnections(
  server: Server,
  { connections: configured, keepAliveMs }: Omit<ServerLimits, 'requestsInFlight'>,
): void {
  const descriptors = openFilesLimit();
  const connections = connectionsThatFit(configured, descriptors);
  if (connections < configured)
    logger.warn(
      `The process may open ${descriptors} files, so it accepts ${connections} connections instead of ${configured} ` +
        '(limits.connections): raise the limit of open files (ulimit -n, LimitNOFILE)',
    );
  server.headersTimeout = ARRIVAL_TIMEOUT_MS;
  server.requestTimeout = ARRIVAL_TIMEOUT_MS;
  Object.assign(server, { connectionsCheckingInterval: ARRIVAL_CHECK_MS });
  server.setTimeout(IDLE_TIMEOUT_MS);
  server.keepAliveTimeout = keepAliveMs;
  const limit = new Quota({ total: connections, reserve: true });
  server.maxConnections = limit.max;
  server.prependListener('connection', (socket: Socket) => {
    const client = clientNetwork(socket.remoteAddress);
    if (!limit.tryAcquire(client)) return void socket.destroy();
    socket.once('close', () => limit.release(client));
  });
}

/**
 * Handles the requests of a connection one at a time, even if the client pipelines them (RFC 9112 §9.3.2): when such a
 * connection breaks, Node emits no `close` for responses that have not begun.
 */
export function limitPipelining(): Middleware {
  const waiting = new WeakMap<Socket, (() => void)[]>();
  return ({ socket }, response, next) => {
    const start = () => {
      response.once('close', () => {
        const following = socket.destroyed ? undefined : waiting.get(socket)?.shift();
        if (following) following();
        else waiting.delete(socket);
      });
      next();
    };
    const others = waiting.get(socket);
    if (!others) {
      waiting.set(socket, []);
      start();
    } else if (others.push(start) > MAX_PIPELINED) socket.destroy();
  };
}

/**
 * Starts requests in turn by client address, a few in each turn of the event loop. Otherwise a client with a thousand
 * connections would delay all others (docs/decisions/013-runtime-tuning.md).
 */
export function startInTurn(): Middleware {
  const starts = new Semaphore(STARTS_PER_TURN);
  return ({ socket }, response, next) => {
    const start = (release: () => void) => {
      setImmediate(release);
      if (!response.destroyed) next();
    };
    const release = starts.tryAcquire();
    if (release) start(release);
    else
      starts.acquire(clientNetwork(socket.remoteAddress)).then(start, () => next(new ApiError('overloaded')));
  };
}

/** Responds with 503 `overloaded` while too many requests are in flight. */
export function limitRequests({ requestsInFlight }: Pick<ServerLimits, 'requestsInFlight'>): Middleware {
  const limit = new Quota({ total: requestsInFlight, reserve: true });
  return (request, response, next) => {
    const client = clientNetwork(request.socket.remoteAddress);
    if (!limit.tryAcquire(client)) {
      next(new ApiError('overloaded'));
      return;
    }
    response.once('close', () => limit.release(client));
    next();
  };
}

/**
 * Limits the bytes of complete responses that clients have not read yet. Above the limit, closes the connections that have
 * waited longest.
 */
export function limitUnreadBytes(): Middleware {
  // Oldest first.
  const unread = new Map<ServerResponse, number>();
  let total = 0;
  const forget = (response: ServerResponse) => {
    total -= unread.get(response) ?? 0;
    unread.delete(response);
  };
  const count = (response: ServerResponse) => {
    // Bytes that the kernel has accepted are not counted.
    const bytes = response.destroyed ? 0 : (response.socket?.writableLength ?? 0);
    if (bytes === 0) return;
    unread.set(response, bytes);
    total += bytes;
    for (const [oldest] of unread) {
      if (total <= MAX_UNREAD_BYTES) return;
      forget(oldest);
      oldest.destroy();
    }
  };
  return (_request, response, next) => {
    // Node passes data to the kernel after this event.
    response.once('prefinish', () => setImmediate(count, response));
    response.once('close', () => forget(response));
    next();
  };
}

/**
 * Uses the API's error format for responses that Node sends without calling the application: malformed HTTP, oversized
 * headers, request timeouts, CONNECT and unsupported Expect headers.
 */
export function answerConnectionErrors(server: Server): void {
  // Node would refuse a missing Host header with an empty body; `refuseUnclearHost` sends an API error instead.
  Object.assign(server, { requireHostHeader: false });
  const answered = new WeakSet<Duplex>();
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    answered.delete(socket);
    response.once('finish', () => answered.add(socket));
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    // Do not respond to a parse error if the request already has a response.
    if (error.code === 'ECONNRESET' || !socket.writable || answered.has(socket)) {
      socket.destroy();
      return;
    }
    // Node may report thousands of request timeouts in one turn of the event loop.
    void pauseIfDue().then(() => writeRaw(socket, codeOf(error)));
  });
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => socket.destroy());
    writeRaw(socket, 'route_not_found');
  });
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const error = new ApiError('expectation_failed');
    const body = JSON.stringify(errorBody(error, randomUUID()));
    response.writeHead(error.status, {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(body),
    });
    response.end(body);
  });
}

function codeOf(error: NodeJS.ErrnoException): ErrorCode {
  if (error.code === 'HPE_HEADER_OVERFLOW') return 'headers_too_large';
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request_timeout';
  return 'malformed_request';
}

function writeRaw(socket: Duplex, code: ErrorCode): void {
  if (!socket.writable) return void socket.destroy();
  const error = new ApiError(code);
  const requestId = randomUUID();
  // A token with many groups is the usual cause, and its owner sees only that requests fail.
  if (code === 'headers_too_large')
    logger.warn({ requestId, status: error.status, code, maxBytes: maxHeaderSize }, error.message);
  const body = JSON.stringify(errorBody(error, requestId));
  socket.end(
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n` +
      `Content-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `Connection: close\r\n\r\n${body}`,
  );
}

/**
 * Runs `work`, which counts toward a quota until it ends.
 *
 * @param tooMany sentence for a key that has used up its own limit.
 * @throws ApiError 429 `too_many_requests` for such a key; 503 `overloaded` if all keys together have used up the
 *   total.
 */
export async function withinQuota<Result>(
  quota: Quota,
  key: string,
  work: () => Promise<Result>,
  tooMany?: string,
): Promise<Result> {
  if (quota.isUsedUpBy(key)) throw new ApiError('too_many_requests', tooMany);
  if (!quota.tryAcquire(key)) throw new ApiError('overloaded');
  try {
    return await work();
  } finally {
    quota.release(key);
  }
}
