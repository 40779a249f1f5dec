import { BlockList, isIP } from 'node:net';
import type { ProxyConfig, ProxyServer } from '../config/config.js';

/** No proxy at all. */
export const DIRECT: ProxyConfig = { http: null, https: null, noProxy: [] };

/** The proxy that a request to this URL goes through; null: none, it is made directly (contract §2). */
export function proxyFor(url: URL, { http, https, noProxy }: ProxyConfig): ProxyServer | null {
  const server = url.protocol === 'https:' ? https : http;
  return server === null || noProxy.some((entry) => isExempt(url, entry)) ? null : server;
}

/** The value of a header by which this server makes itself known to a proxy: RFC 7617. */
export function proxyAuthorization({ credentials }: ProxyServer): string | undefined {
  if (!credentials) return undefined;
  const { username, password } = credentials;
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

/**
 * Does an entry of NO_PROXY mean this URL? A name and all names below it, with or without `.` or `*.` before it; an
 * address; a network as 10.0.0.0/8; each with a port or without; `*` is everything.
 */
function isExempt(url: URL, entry: string): boolean {
  if (entry === '*') return true;
  const { host, port } = partsOf(entry);
  if (port !== undefined && port !== (url.port || (url.protocol === 'https:' ? '443' : '80'))) return false;
  const target = url.hostname.replace(/^\[|\]$|\.+$/g, '');
  if (isIP(target) !== 0) return holds(host, target);
  const name = host
    .toLowerCase()
    .replace(/^\*?\./, '')
    .replace(/\.+$/, '');
  return name !== '' && (target === name || target.endsWith(`.${name}`));
}

function partsOf(entry: string): { host: string; port?: string } {
  const [, bracketed, bare, port] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(entry) ?? [];
  const host = bracketed ?? bare;
  // What has several colons and no brackets is an IPv6 address or network.
  return host === undefined ? { host: entry } : { host, ...(port === undefined ? {} : { port }) };
}

function holds(network: string, address: string): boolean {
  const [base = '', prefix] = network.split('/');
  const family = isIP(base);
  if (family === 0) return false;
  const type = family === 6 ? 'ipv6' : 'ipv4';
  const bits = prefix === undefined ? (family === 6 ? 128 : 32) : Number(prefix);
  if (!Number.isInteger(bits) || prefix === '' || bits < 0 || bits > (family === 6 ? 128 : 32)) return false;
  const list = new BlockList();
  list.addSubnet(base, bits, type);
  return list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}
