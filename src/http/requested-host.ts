import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { isLoopbackHost } from '../validation/urls.js';

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

/** Returns whether an address of a socket is reachable only from this machine. */
export function isLoopbackAddress(address: string): boolean {
  const host = address.replace(/^::ffff:/i, '');
  return isLoopbackHost(host.includes(':') ? `[${host}]` : host);
}

function withoutPort(host: string): string {
  return /^(\[[^\]]*\]|[^:]*)(?::\d*)?$/.exec(host)?.[1] ?? '';
}
