import { rootCertificates } from 'node:tls';
import { Agent, type Dispatcher, Pool, ProxyAgent } from 'undici';
import type { ProxyConfig, ProxyServer } from '../config/config.js';
import { proxyAuthorization } from './proxy.js';
import { publicLookup, type ResolveAll } from './public-lookup.js';

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
