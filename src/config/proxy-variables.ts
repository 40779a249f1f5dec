import type { ProxyConfig, ProxyServer } from '../outbound/dispatcher.js';
import { parseHttpUrl } from '../validation/urls.js';
import { below, type Issue, issue } from '../validation/value-checks.js';

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
