import { below, type Issue, issue } from '../validation/problems.js';
import { parseHttpUrl } from '../validation/urls.js';
import type { ProxyConfig, ProxyServer } from './config.js';

/** As every program knows them; in lower case they count first, as with curl and git. */
const VARIABLES = { https: ['https_proxy', 'HTTPS_PROXY'], http: ['http_proxy', 'HTTP_PROXY'] } as const;
const NO_PROXY = ['no_proxy', 'NO_PROXY'] as const;

/**
 * The proxies for requests to the outside (contract §2). An empty variable counts as absent; `host:port` is short for
 * `http://host:port`.
 *
 * @returns issues that name the variable at fault, and never what is in it: it may hold a password.
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

/** What an operator should know of proxies that are in use (contract §2); nothing when there are none. */
export function proxyReport({ http, https, noProxy }: ProxyConfig): string[] {
  const ways = Object.entries({ http, https }).flatMap(([scheme, server]) =>
    server ? [`requests to ${scheme}:// addresses go through ${server.origin}`] : [],
  );
  if (ways.length === 0) return [];
  const except = noProxy.length > 0 ? `, but for ${noProxy.join(', ')}` : '';
  return [
    `proxy: ${ways.join(', ')}${except}; names are resolved there, and which of their addresses are allowed is for the proxy to say`,
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
