import { isIPv6 } from 'node:net';

/** Where to listen. Without `host`: on every interface. Port 0: any free one. */
export interface Address {
  readonly host?: string;
  readonly port: number;
}

const HOST_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/;

/**
 * `HOST:PORT`, `:PORT` (every interface) or `[IPv6]:PORT`.
 *
 * @returns undefined when the text is none of them.
 */
export function parseAddress(text: string): Address | undefined {
  const match = /^(?:\[([^\]]*)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  if (!match) return undefined;
  const [, bracketed, plain] = match;
  const port = Number(match[3]);
  if (port > 65_535) return undefined;
  if (bracketed !== undefined) return isIPv6(bracketed) ? { host: bracketed, port } : undefined;
  if (plain === undefined || plain === '') return { port };
  return HOST_NAME.test(plain) ? { host: plain, port } : undefined;
}

/** Would one of them keep the other from listening? */
export function collide(one: Address, other: Address): boolean {
  if (one.port === 0 || one.port !== other.port) return false;
  return everywhere(one) || everywhere(other) || one.host === other.host;
}

function everywhere({ host }: Address): boolean {
  return host === undefined || host === '0.0.0.0' || host === '::';
}
