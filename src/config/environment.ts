import { isIPv6 } from 'node:net';
import { delimiter, resolve } from 'node:path';
import type { ProxyConfig, ProxyServer } from '../outbound/dispatcher.js';
import { parseHttpUrl } from '../validation/urls.js';
import { below, type Issue, issue } from '../validation/value-checks.js';

/** The only place that reads `process.env`. Other code receives the values as arguments. */
export function readEnvironment(): NodeJS.ProcessEnv {
  return process.env;
}

/** Returns the commit and date of this build, from variables set in the container image. */
export function buildReport(environment = readEnvironment()): {
  commit: string | undefined;
  date: string | undefined;
} {
  return {
    commit: environment['REGISTRY_COMMIT'] || undefined,
    date: environment['REGISTRY_BUILD_DATE'] || undefined,
  };
}

/** Returns the absolute paths of the kubeconfig files from REGISTRY_KUBECONFIG, or else KUBECONFIG. */
export function kubeconfigOf(environment: NodeJS.ProcessEnv): string[] {
  const files = environment['REGISTRY_KUBECONFIG'] || environment['KUBECONFIG'] || '';
  return files
    .split(delimiter)
    .filter((file) => file !== '')
    .map((file) => resolve(file));
}

/** The address to listen on. Without `host`, the server listens on every interface. Port 0 means any free port. */
export interface Address {
  readonly host?: string;
  readonly port: number;
}

const HOST_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/;

/**
 * Parses `HOST:PORT`, `:PORT` (every interface) or `[IPv6]:PORT`.
 *
 * @returns undefined for any other text.
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

/** Returns whether the addresses conflict, so that the server cannot listen on both. */
export function collide(one: Address, other: Address): boolean {
  if (one.port === 0 || one.port !== other.port) return false;
  return everywhere(one) || everywhere(other) || one.host === other.host;
}

function everywhere({ host }: Address): boolean {
  return host === undefined || host === '0.0.0.0' || host === '::';
}

/** Lower-case names take precedence, as in curl and git. */
const VARIABLES = { https: ['https_proxy', 'HTTPS_PROXY'], http: ['http_proxy', 'HTTP_PROXY'] } as const;
const NO_PROXY = ['no_proxy', 'NO_PROXY'] as const;

/**
 * Reads the proxies for outbound requests (reference/configuration). An empty variable counts as absent; `host:port` is short for
 * `http://host:port`. Issues never quote a value, which may contain a password.
 */
export function proxyOf(environment: NodeJS.ProcessEnv): { proxy: ProxyConfig; issues: Issue[] } {
  const issues: Issue[] = [];
  const read = (names: readonly string[]): ProxyServer | null => {
    const name = names.find((one) => environment[one]);
    const text = name === undefined ? undefined : environment[name];
    if (name === undefined || !text) return null;
    const server = serverOf(text);
    if (!server)
      issues.push(...below([name], issue('must be the http:// or https:// URL of a proxy, without a path')));
    return server;
  };
  const noProxy = NO_PROXY.map((name) => environment[name]).find((text) => text) ?? '';
  const proxy = {
    http: read(VARIABLES.http),
    https: read(VARIABLES.https),
    noProxy: noProxy.split(/[\s,]+/).filter((entry) => entry !== ''),
  };
  return { proxy, issues };
}

/** Returns log lines about the proxies in use (reference/configuration). */
export function proxyReport({ http, https, noProxy }: ProxyConfig): string[] {
  const routes = Object.entries({ http, https }).flatMap(([scheme, server]) =>
    server ? [`requests to ${scheme}:// URLs use ${server.origin}`] : [],
  );
  if (routes.length === 0) return [];
  const except = noProxy.length > 0 ? `, except for ${noProxy.join(', ')}` : '';
  return [
    `proxy: ${routes.join(', ')}${except}; the proxy resolves names and decides which addresses are allowed`,
  ];
}

function serverOf(text: string): ProxyServer | null {
  const url = parseHttpUrl(/^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text : `http://${text}`);
  if (!url || url.pathname !== '/' || url.search !== '' || url.hash !== '') return null;
  try {
    const [username, password] = [url.username, url.password].map(decodeURIComponent) as [string, string];
    return {
      origin: url.origin,
      credentials: username === '' && password === '' ? null : { username, password },
    };
  } catch {
    return null;
  }
}
