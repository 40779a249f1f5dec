import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { ApiError } from '../http/errors.js';
import { isLoopbackHost } from '../validation/urls.js';

type Middleware = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void;

/**
 * contract §3, anonymous mode: while the server listens on a loopback address, a request for another host is 400 `host_refused`.
 * Such a request is sent by a page whose name was made to resolve to this machine (DNS rebinding): for the browser the page and
 * this server are then of one origin, and without tokens nothing else would keep them apart.
 */
export function refuseForeignHosts(server: Server): Middleware {
  let onLoopback = false;
  server.once('listening', () => (onLoopback = listensOnLoopback(server)));
  return (request, _response, next) => {
    const host = requestedHost(request);
    const isForeign = onLoopback && !(host !== undefined && isLoopbackHost(withoutPort(host)));
    next(isForeign ? new ApiError('host_refused') : undefined);
  };
}

/**
 * contract §3, anonymous mode: a request that changes something and comes from a page of another origin is 403
 * `origin_refused`. Browsers name the origin on each of them; what is no browser sends none.
 *
 * @param origins those of `cors.origins`; `*` is about reading and allows nothing here.
 */
export function refuseForeignOrigins(origins: readonly string[]): Middleware {
  const named = new Set(origins.filter((origin) => origin !== '*'));
  return (request, _response, next) => {
    const { origin } = request.headers;
    const isForeign =
      !SAFE_METHODS.has(request.method ?? '') &&
      origin !== undefined &&
      !named.has(origin) &&
      origin !== ownOrigin(request);
    next(isForeign ? new ApiError('origin_refused') : undefined);
  };
}

/** Is what this server listens on reached from this machine alone? */
export function listensOnLoopback(server: Server): boolean {
  const address = server.address();
  if (address === null || typeof address === 'string') return false;
  const host = address.address.replace(/^::ffff:/i, '');
  return isLoopbackHost(host.includes(':') ? `[${host}]` : host);
}

// RFC 9110 §9.2.1, without TRACE, which no browser sends and no route takes.
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

// RFC 9112 §3.2.2: where the target is a whole URL, the Host header does not count.
function requestedHost({ url = '', headers }: IncomingMessage): string | undefined {
  return /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(url)?.[1] ?? headers.host;
}

function withoutPort(host: string): string {
  return /^(\[[^\]]*\]|[^:]*)(?::\d*)?$/.exec(host)?.[1] ?? '';
}

// This server speaks http: behind a proxy that ends TLS, the https origin has to be named.
function ownOrigin(request: IncomingMessage): string | undefined {
  const url = `http://${requestedHost(request) ?? ''}`;
  return URL.canParse(url) ? new URL(url).origin : undefined;
}
