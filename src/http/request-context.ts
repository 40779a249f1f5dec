import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP, isIPv6 } from 'node:net';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request, Response } from 'express';
import ipaddr from 'ipaddr.js';
import type { Permit } from '../limits/semaphore.js';
import { isLoopbackHost } from '../validation/urls.js';
import { ClientGone } from './errors.js';

const IPV4_IN_IPV6 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;
const NETWORK_GROUPS = 4;

/** Returns a client's key for rate limits: the peer's network. Ignores X-Forwarded-For, which anyone can send. */
export function clientKeyOf({ socket }: Request): string {
  return clientNetwork(socket.remoteAddress);
}

/** Returns the peer's full address; null when the connection is closed. */
function addressOf({ socket }: Request): string | null {
  const { remoteAddress } = socket;
  return remoteAddress === undefined ? null : (IPV4_IN_IPV6.exec(remoteAddress)?.[1] ?? remoteAddress);
}

/**
 * Returns an IPv4 address as it is, and an IPv6 address as its /64, the smallest block assigned to a site (RFC 6177 §2).
 * Closed connections share one key.
 */
export function clientNetwork(address: string | undefined): string {
  if (address === undefined) return 'unknown';
  const mapped = IPV4_IN_IPV6.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  const network = ipaddr.IPv6.parse(address).parts.slice(0, NETWORK_GROUPS);
  return `${network.map((group) => group.toString(16)).join(':')}::/64`;
}

/** The client that waits for the response to one request. */
export class Client {
  private gone: AbortSignal | undefined;

  constructor(
    private readonly request: Request,
    private readonly response: Response,
  ) {}

  /** Key for limits per client: see `clientKeyOf`. */
  get clientKey(): string {
    return clientKeyOf(this.request);
  }

  /** Returns a signal that aborts with ClientGone when the connection closes before the response is sent. */
  abortSignal(): AbortSignal {
    return (this.gone ??= signalOf(this.response));
  }
}

function signalOf(response: Response): AbortSignal {
  const gone = new AbortController();
  const close = () => {
    if (!response.writableFinished) gone.abort(new ClientGone('The client closed the connection'));
  };
  if (response.closed || response.destroyed) close();
  else response.once('close', close);
  return gone.signal;
}

/** The client of the current request. */
export function clientIn(context: ExecutionContext): Client {
  const http = context.switchToHttp();
  return new Client(http.getRequest<Request>(), http.getResponse<Response>());
}

/** Handler parameter: the client. */
export const CurrentClient = createParamDecorator((_: unknown, context: ExecutionContext) =>
  clientIn(context),
);

/** Identifies a request in the log and in the audit trail. */
export interface RequestContext {
  readonly requestId: string;
  /** The trace the request is part of, if any. */
  readonly traceId?: string;
  /** The peer address of the connection. */
  readonly sourceIp: string | null;
  /** The concurrency permits that the request holds. */
  readonly permit?: Permit;
}

export interface RequestWithPermit extends Request {
  permit?: Permit;
}

export function requestContextOf(request: RequestWithPermit): RequestContext {
  const { id, traceId, permit } = request;
  return {
    requestId: String(id),
    ...(permit === undefined ? {} : { permit }),
    ...(traceId === undefined ? {} : { traceId }),
    sourceIp: addressOf(request),
  };
}

export const CurrentRequest = createParamDecorator((_: unknown, context: ExecutionContext) =>
  requestContextOf(context.switchToHttp().getRequest<Request>()),
);

declare module 'node:http' {
  interface IncomingMessage {
    /** Shown in the log, in errors and in `X-Request-Id`. */
    id: string;
    /**
     * Identifies the caller again, for responses that take long. Throws or rejects if the caller would now be refused,
     * or has other claims. Set by the AuthGuard.
     */
    identifyAgain?: () => Promise<void>;
  }
}

/** An `X-Request-Id` from a proxy is kept if it matches. */
const PLAIN_ID = /^[A-Za-z0-9_-]{8,64}$/;

/** Returns the request's `X-Request-Id` if it is well-formed, otherwise a new id. */
export function requestIdFor({ headers }: IncomingMessage): string {
  const sent = headers['x-request-id'];
  return typeof sent === 'string' && PLAIN_ID.test(sent) ? sent : randomUUID();
}

/**
 * Returns the host and port that a request is for; undefined without a Host header. If the target is a whole URL, the Host
 * header is ignored (RFC 9112 §3.2.2).
 */
export function requestedHost({ url = '', headers }: IncomingMessage): string | undefined {
  return /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(url)?.[1] ?? headers.host;
}

/** Returns whether the request is for a loopback name or address. */
export function isForLoopback(request: IncomingMessage): boolean {
  return isLoopbackHost(withoutPort(requestedHost(request) ?? ''));
}

/** Returns whether the request is for an address. DNS rebinding needs a name. */
export function isForAddress(request: IncomingMessage): boolean {
  return isIP(withoutPort(requestedHost(request) ?? '').replace(/^\[(.*)\]$/, '$1')) !== 0;
}

/** Returns whether a socket's address is reachable only from this machine. */
export function isLoopbackAddress(address: string): boolean {
  const host = address.replace(/^::ffff:/i, '');
  return isLoopbackHost(host.includes(':') ? `[${host}]` : host);
}

function withoutPort(host: string): string {
  return /^(\[[^\]]*\]|[^:]*)(?::\d*)?$/.exec(host)?.[1] ?? '';
}
