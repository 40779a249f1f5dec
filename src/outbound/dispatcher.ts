import { BlockList, isIP } from 'node:net';
import { rootCertificates } from 'node:tls';
import { Agent, type Dispatcher, Pool, ProxyAgent } from 'undici';
import type { ProxyConfig, ProxyServer } from '../config/config.js';
import { publicLookup, type ResolveAll } from './private-address.js';

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

const DEFAULT_CONNECT_TIMEOUT_MS = 10_000;

export interface ConnectionOptions {
  /** Open connections to one origin; further requests wait for one of them. */
  readonly maxConnections: number;
  /** For one connection, TLS included; 10 s when absent. */
  readonly connectTimeoutMs?: number;
  /** PEM; trusted besides the usual certificate authorities. */
  readonly caCert?: string;
  /** Name resolution; that of the system when absent. */
  readonly resolve?: ResolveAll;
  /** Absent: all connections are direct. */
  readonly proxy?: ProxyConfig;
}

/**
 * Decides how connections to the outside are made: the only place that does.
 *
 * @param allowPrivate may connections go to private, loopback and link-local addresses? Addresses that URLs name outright
 * are not resolved, and so not checked here: see `checkLiteralAddress`.
 */
export function createDispatcher(
  { maxConnections, connectTimeoutMs = DEFAULT_CONNECT_TIMEOUT_MS, caCert, resolve }: ConnectionOptions,
  allowPrivate: boolean,
): Dispatcher {
  return new Agent({
    connections: maxConnections,
    connect: {
      timeout: connectTimeoutMs,
      ...trusted(caCert),
      ...(allowPrivate ? {} : { lookup: publicLookup(resolve) }),
    },
    ...NO_TIMEOUTS,
  });
}

/**
 * Connections through a proxy: a tunnel for https, so that it sees nothing but the host. It resolves the names, so that
 * where they may lead is for the proxy to say (contract §2).
 */
export function createProxyDispatcher(
  { maxConnections, connectTimeoutMs = DEFAULT_CONNECT_TIMEOUT_MS, caCert }: ConnectionOptions,
  proxy: ProxyServer,
): Dispatcher {
  const token = proxyAuthorization(proxy);
  return new ProxyAgent({
    uri: proxy.origin,
    ...(token === undefined ? {} : { token }),
    proxyTunnel: false,
    connections: maxConnections,
    proxyTls: { timeout: connectTimeoutMs },
    requestTls: { timeout: connectTimeoutMs, ...trusted(caCert) },
    // A proxy that never answers must not hold a connection for longer than that.
    clientFactory: (origin, options) => new Pool(origin, { ...options, headersTimeout: connectTimeoutMs }),
    ...NO_TIMEOUTS,
  });
}

// Each request has one timeout for all of it.
const NO_TIMEOUTS = { headersTimeout: 0, bodyTimeout: 0 } as const;

// `ca` replaces the usual authorities, so they have to be named beside ours.
function trusted(caCert: string | undefined): { ca?: string[] } {
  return caCert === undefined ? {} : { ca: [...rootCertificates, caCert] };
}
