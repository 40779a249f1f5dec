import { isIP } from 'node:net';
import { rootCertificates } from 'node:tls';
import ipaddr from 'ipaddr.js';
import { Agent, type Dispatcher, Pool, ProxyAgent } from 'undici';
import type { ResolveAll } from './name-resolution.js';
import { lookupFor, type AddressReach } from './private-address.js';

export interface ProxyConfig {
  /** Proxy for http:// URLs; null if there is none. */
  readonly http: ProxyServer | null;
  /** Proxy for https:// URLs; null if there is none. */
  readonly https: ProxyServer | null;
  /** Hosts and networks that bypass the proxy. */
  readonly noProxy: readonly string[];
}

export interface ProxyServer {
  readonly origin: string;
  readonly credentials: { readonly username: string; readonly password: string } | null;
}

export const DIRECT: ProxyConfig = { http: null, https: null, noProxy: [] };

const DEFAULT_CONNECT_TIMEOUT_MS = 10_000;

// HttpClient limits the duration of the whole request.
const NO_TIMEOUTS = { headersTimeout: 0, bodyTimeout: 0 } as const;

export interface ConnectionOptions {
  /** Maximum number of connections per origin; further requests are queued. */
  readonly maxConnections: number;
  /** Timeout for establishing a connection, including the TLS handshake; default 10 s. */
  readonly connectTimeoutMs?: number;
  /** PEM certificates to trust in addition to Node's certificate authorities. */
  readonly caCert?: string;
  /** Default: `resolveApart`. */
  readonly resolve?: ResolveAll;
  /** Default: no proxy. */
  readonly proxy?: ProxyConfig;
}

/**
 * Creates the dispatcher for direct connections.
 *
 * @param reach The dispatcher checks only resolved names; `checkLiteralAddress` checks addresses in the URL itself.
 */
export function createDispatcher(
  { maxConnections, connectTimeoutMs = DEFAULT_CONNECT_TIMEOUT_MS, caCert, resolve }: ConnectionOptions,
  reach: AddressReach,
): Dispatcher {
  return new Agent({
    connections: maxConnections,
    connect: {
      timeout: connectTimeoutMs,
      ...trusted(caCert),
      lookup: lookupFor(reach, resolve),
    },
    ...NO_TIMEOUTS,
  });
}

/**
 * Creates the dispatcher for connections through a proxy. HTTPS is tunnelled, so the proxy sees only the host name. The
 * proxy resolves names, so it also decides which addresses are allowed (reference/configuration).
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
    // Otherwise, a proxy that never responds to CONNECT would keep a connection open.
    clientFactory: (origin, options) => new Pool(origin, { ...options, headersTimeout: connectTimeoutMs }),
    ...NO_TIMEOUTS,
  });
}

/** Returns the proxy for requests to this URL (reference/configuration); null for a direct connection. */
export function proxyFor(url: URL, { http, https, noProxy }: ProxyConfig): ProxyServer | null {
  const server = url.protocol === 'https:' ? https : http;
  return server === null || noProxy.some((entry) => isExempt(url, entry)) ? null : server;
}

/** Returns the value of `Proxy-Authorization` (RFC 7617); undefined without credentials. */
export function proxyAuthorization({ credentials }: ProxyServer): string | undefined {
  if (!credentials) return undefined;
  const { username, password } = credentials;
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

/**
 * Returns whether a NO_PROXY entry matches a URL. An entry is `*`, a name (which includes its subdomains, with or
 * without a leading `.` or `*.`), an address or a network such as 10.0.0.0/8; all but `*` may have a port.
 */
function isExempt(url: URL, entry: string): boolean {
  if (entry === '*') return true;
  const { host, port } = partsOf(entry);
  if (port !== undefined && port !== (url.port || (url.protocol === 'https:' ? '443' : '80'))) return false;
  const target = url.hostname.replace(/^\[|\]$|\.+$/g, '');
  if (isIP(target) !== 0) return contains(host, target);
  const name = host
    .toLowerCase()
    .replace(/^\*?\./, '')
    .replace(/\.+$/, '');
  return name !== '' && (target === name || target.endsWith(`.${name}`));
}

function partsOf(entry: string): { host: string; port?: string } {
  const [, bracketed, bare, port] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(entry) ?? [];
  const host = bracketed ?? bare;
  // An entry with several colons and no brackets is an IPv6 address or network.
  return host === undefined ? { host: entry } : { host, ...(port === undefined ? {} : { port }) };
}

/** @param network An address or a network in CIDR notation; any other text matches no address. */
function contains(network: string, address: string): boolean {
  const [base = '', bits = isIP(base) === 6 ? '128' : '32'] = network.split('/');
  // ipaddr.js also accepts short and octal forms such as "3", but NO_PROXY treats them as host names.
  if (isIP(base) === 0 || !ipaddr.isValidCIDR(`${base}/${bits}`)) return false;
  const target = ipaddr.process(address);
  const range = ipaddr.parseCIDR(`${base}/${bits}`);
  return target.kind() === range[0].kind() && target.match(range);
}

// `ca` replaces the default certificate authorities, so it must include them.
function trusted(caCert: string | undefined): { ca?: string[] } {
  return caCert === undefined ? {} : { ca: [...rootCertificates, caCert] };
}
