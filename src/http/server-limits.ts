import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
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
import { TimeSlice } from '../json/time-slice.js';
import { Quota, RESERVE } from '../limits/quota.js';
import { ApiError, errorBody, type ErrorCode } from './errors.js';
import { clientNetwork } from './request-context.js';

/**
 * Length of the listening socket's accept queue. When it is full, the kernel drops new connections, and their clients retry
 * after a second, so it must exceed the number that one client opens at once. Linux caps it at `net.core.somaxconn`, 4,096
 * by default.
 */
const BACKLOG = 4_096;

const logger = new Logger('http');

/** Resolves with the port once the server listens. */
export async function listen(server: Server, { host, port }: Address): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog: BACKLOG }, () => {
      server.off('error', reject);
      // Without file descriptors, a connection cannot be accepted.
      server.on('error', (error) => logger.warn({ err: error }, 'A connection could not be accepted'));
      resolve();
    });
  });
  return (server.address() as AddressInfo).port;
}

/** contract §3: how long the headers and body of a request may take to arrive. */
const ARRIVAL_TIMEOUT_MS = 10_000;

/** How often Node checks the arrival timeout. */
const ARRIVAL_CHECK_MS = 1_000;

/** Closes connections without traffic, for example when a client does not read. Longer than any statement timeout. */
const IDLE_TIMEOUT_MS = 120_000;

/** Maximum unread response bytes across all connections. */
const MAX_UNREAD_BYTES = 64 * 1_024 * 1_024;

/** Maximum pipelined requests waiting on one connection; a connection that exceeds it is closed. */
const MAX_PIPELINED = 16;

export interface ServerLimits {
  /** Concurrent connections, plus a reserve (see Quota); further connections are closed immediately. */
  readonly connections: number;
  /** Concurrent requests, plus a reserve; further requests get 503 `overloaded`. */
  readonly requestsInFlight: number;
  /** How long an idle connection stays open. */
  readonly keepAliveMs: number;
}

type Middleware = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void;

/** Descriptors for everything else: PostgreSQL, identity providers, upstreams, git and files. */
const OTHER_DESCRIPTORS = 256;

/**
 * Returns how many of the configured connections the server may have, besides the reserve of Quota, so that descriptors remain
 * for everything else: at least half of them, if there are few.
 *
 * @param descriptors how many files the process may open.
 */
export function connectionsThatFit(connections: number, descriptors: number): number {
  const most = Math.max(descriptors - OTHER_DESCRIPTORS, Math.floor(descriptors / 2));
  return Math.max(1, Math.min(connections, Math.floor(most / (1 + RESERVE))));
}

/** Returns how many files this process may open; Infinity where the system does not say. Node raises the soft limit to the hard one. */
function openFilesLimit(): number {
  try {
    const [, limit] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return limit === undefined ? Infinity : Number(limit);
  } catch {
    return Infinity;
  }
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
 * Handles a connection's pipelined requests (RFC 9112 §9.3.2) one at a time. When a connection breaks, Node emits no `close`
 * for responses queued behind another, so concurrent handling would leak requests in flight.
 */
export function limitPipelining({ requestsInFlight }: Pick<ServerLimits, 'requestsInFlight'>): Middleware {
  const queues = new WeakMap<Socket, (() => void)[]>();
  /** Requests waiting in memory, across all connections. */
  let total = 0;
  return ({ socket }, response, next) => {
    const begin = () => {
      response.once('close', advance);
      next();
    };
    const advance = () => {
      const queue = queues.get(socket) ?? [];
      const next = socket.destroyed ? undefined : queue.shift();
      if (next) {
        total -= 1;
        next();
      } else {
        total -= queue.length;
        queues.delete(socket);
      }
    };
    const queue = queues.get(socket);
    if (!queue) {
      queues.set(socket, []);
      begin();
    } else if (queue.length < MAX_PIPELINED && total < Math.max(requestsInFlight, MAX_PIPELINED)) {
      total += 1;
      queue.push(begin);
    } else socket.destroy();
  };
}

/** Emitted on a streamed response when the number of its unread bytes may have changed. */
export const UNREAD = 'unread';

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

/** Limits unread response bytes. Above the limit, closes the connections that have waited longest. */
export function limitUnreadBytes(maxBytes = MAX_UNREAD_BYTES): Middleware {
  // Ordered by when each response started waiting.
  const waiting = new Map<ServerResponse, number>();
  let total = 0;
  const forget = (response: ServerResponse) => {
    total -= waiting.get(response) ?? 0;
    waiting.delete(response);
  };
  const measure = (response: ServerResponse) => {
    forget(response);
    const bytes = response.socket?.writableLength ?? 0;
    if (bytes === 0 || response.writableFinished || response.destroyed) return;
    waiting.set(response, bytes);
    total += bytes;
    for (const [oldest] of waiting) {
      if (total <= maxBytes) return;
      forget(oldest);
      oldest.destroy();
    }
  };
  return (_request, response, next) => {
    // Node passes data to the kernel after this event; bytes that the kernel accepted are not counted.
    response.once('prefinish', () => setImmediate(measure, response));
    response.on(UNREAD, () => setImmediate(measure, response));
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
  const slice = new TimeSlice();
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
    void slice.pause().then(() => writeRaw(socket, codeOf(error)));
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

/** Maximum time that one turn of the event loop spends starting requests. */
const SLICE_MS = 3;

/** Maximum number of event loop turns that new connections may delay queued requests. */
const MAX_ACCEPTING_TURNS = 100;

/**
 * Starts requests round-robin by client. Otherwise a client with a thousand connections would delay all others
 * (docs/decisions/013-runtime-tuning.md). Accepts pending connections first, because their clients are unknown until then.
 */
export class RequestQueue {
  /** Queued requests by client, next client first. */
  private readonly queues = new Map<string, (() => void)[]>();
  /** When this turn of the event loop started its first request. */
  private sliceStart: number | undefined;
  private isScheduled = false;
  private hasAccepted = false;
  private acceptingTurns = 0;

  constructor(server: Server) {
    server.on('connection', () => {
      this.hasAccepted = true;
      this.schedule();
    });
  }

  readonly middleware = (request: IncomingMessage, response: ServerResponse, next: () => void): void => {
    this.schedule();
    if (this.queues.size === 0 && !this.hasAccepted && this.hasTime()) {
      next();
      return;
    }
    const client = clientNetwork(request.socket.remoteAddress);
    const queue = this.queues.get(client) ?? [];
    queue.push(() => {
      if (!response.destroyed) next();
    });
    this.queues.set(client, queue);
  };

  private hasTime(): boolean {
    const now = performance.now();
    this.sliceStart ??= now;
    return now - this.sliceStart < SLICE_MS;
  }

  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    setImmediate(this.turn);
  }

  private readonly turn = (): void => {
    this.isScheduled = false;
    const isAccepting = this.hasAccepted && this.acceptingTurns < MAX_ACCEPTING_TURNS;
    this.hasAccepted = false;
    this.acceptingTurns = isAccepting ? this.acceptingTurns + 1 : 0;
    if (!isAccepting) this.startRequests();
    if (this.queues.size > 0) this.schedule();
    this.sliceStart = undefined;
  };

  private startRequests(): void {
    for (const [client, queue] of this.queues) {
      if (!this.hasTime()) return;
      const start = queue.shift();
      // Requeue before starting: a request may finish immediately, and its connection's next request is then enqueued.
      this.queues.delete(client);
      if (queue.length > 0) this.queues.set(client, queue);
      start?.();
    }
  }
}
