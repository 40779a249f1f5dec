import { isIPv4 } from 'node:net';
import { type Check, text } from './value-checks.js';

interface UrlRules {
  /** No query and no fragment. */
  readonly bare?: boolean;
}

/** An `http:` or `https:` URL without user and password: URLs are shown and stored, secrets are not. */
export function httpUrl({ bare = false }: UrlRules = {}): Check {
  return text((value) => {
    const url = parseHttpUrl(value);
    if (!url) return 'must be an http:// or https:// URL';
    if (url.username !== '' || url.password !== '') return 'must not hold a user or a password';
    if (bare && (value.includes('?') || value.includes('#'))) return 'must not have a query or a fragment';
    return undefined;
  });
}

/** @returns undefined for anything that is no absolute http(s) URL, also for what URL() would silently repair. */
export function parseHttpUrl(value: unknown): URL | undefined {
  if (typeof value !== 'string' || !/^https?:\/\/[^/\\\s]+[^\s\\]*$/i.test(value)) return undefined;
  return URL.canParse(value) ? new URL(value) : undefined;
}

/** The name or address of a host, without scheme, port and path, as a URL writes it; undefined for anything else. */
export function parseHost(value: unknown): string | undefined {
  if (typeof value !== 'string' || !/^([^\s/\\?#@:[\]%*]+|\[[0-9a-f:.]+\])$/i.test(value)) return undefined;
  return parseHttpUrl(`http://${value}`)?.hostname;
}

/** The name or address of a host alone. */
export const host: Check = text((value) =>
  parseHost(value) === undefined ? 'must be the name of a host, without scheme, port and path' : undefined,
);

/** Does the URL send what it carries in clear over a network? (`http:`, and the host is not this machine.) */
export function isInsecure(url: URL): boolean {
  return url.protocol === 'http:' && !isLoopbackHost(url.hostname);
}

/** Is it this machine, whatever the resolver says? RFC 6761 §6.3: `localhost` and all below it; 127.0.0.0/8; `[::1]`. */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase();
  if (name === 'localhost' || name.endsWith('.localhost') || name === '[::1]') return true;
  return isIPv4(name) && name.startsWith('127.');
}

/** `*`, or an origin as browsers send it: no path, no slash at the end, no default port. */
export const corsOrigin: Check = text((value) =>
  value === '*' || parseHttpUrl(value)?.origin === value
    ? undefined
    : 'must be "*" or an origin such as https://portal.example.com',
);

/** An origin that pages may talk to: one that is named, in http or https. */
export const httpOrigin: Check = text((value) =>
  parseHttpUrl(value)?.origin === value ? undefined : 'must be an origin such as https://login.example.com',
);
