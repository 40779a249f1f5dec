import { rootCertificates } from 'node:tls';
import { Agent, type Dispatcher } from 'undici';
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
      // `ca` replaces the usual authorities, so they have to be named beside ours.
      ...(caCert === undefined ? {} : { ca: [...rootCertificates, caCert] }),
      ...(allowPrivate ? {} : { lookup: publicLookup(resolve) }),
    },
    // Each request has one timeout for all of it.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}
