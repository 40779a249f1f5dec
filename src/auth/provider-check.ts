import { isIP } from 'node:net';
import { type Config, oauthInUse, type ProviderConfig } from '../config/config.js';
import { unlessAborted } from '../limits/semaphore.js';
import { proxyFor } from '../outbound/dispatcher.js';
import { looksPrivate } from '../outbound/private-address.js';
import { Introspection } from './introspection.js';
import { ProviderHttp, ProviderUnavailable } from './provider-http.js';
import { discoverEndpoint, keyFetcher } from './provider-keys.js';
import { TokenCallers } from './token-callers.js';

/** Time for all requests to one provider. */
const CONTACT_TIMEOUT_MS = 5_000;
/** No provider has issued this token. */
const PROBE_TOKEN = 'registry-server-check';

/** Whether a provider can be reached with its settings (reference/commands). */
export interface ProviderContact {
  readonly provider: string;
  readonly isOk: boolean;
  /** What was reached, or what failed and what to do about it; contains no secrets. */
  readonly message: string;
}

/** What to do about a failure, by part of its message. */
const ADVICE: readonly (readonly [part: RegExp, advice: string])[] = [
  [/private address/, 'set allowPrivateIP: true if this is intended'],
  [/certificate|issuer cert|self-signed/i, 'set caCertPath to the certificate authority of the provider'],
  [/its issuer is/, 'correct issuerUrl'],
  [/introspect\S*: it responded with status 40[013]/i, 'check clientId and clientSecretFile'],
  [/status 40[13]/, 'check authTokenFile'],
  [/status 404|not a JSON Web Key Set|not JSON/, 'check issuerUrl and jwksUrl'],
  [/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|Timeout|within/i, 'check the host, the network and the proxy settings'],
];

/** Contacts every provider at the same time, as a login does: discovery, keys, introspection and groups. */
export function contactProviders(
  providers: readonly ProviderConfig[],
  reach: Pick<Config, 'insecureUrls' | 'proxy'>,
): Promise<ProviderContact[]> {
  return Promise.all(providers.map((provider) => contact(provider, reach)));
}

async function contact(
  config: ProviderConfig,
  { insecureUrls, proxy }: Pick<Config, 'insecureUrls' | 'proxy'>,
): Promise<ProviderContact> {
  const { name: provider, introspectionUrl, groups } = config;
  const http = new ProviderHttp({ ...config, proxy });
  try {
    const reached = await inTime(
      Promise.all([
        keysOf(config, http, insecureUrls),
        ...(introspectionUrl === undefined ? [] : [introspect({ ...config, introspectionUrl }, http)]),
        ...(groups ? [findGroups(config, groups, http, insecureUrls)] : []),
      ]),
    );
    return { provider, isOk: true, message: reached.join(', ') };
  } catch (error) {
    // Unexpected errors are reported only by name, because their messages might quote a response.
    const message = error instanceof ProviderUnavailable ? error.message : `it failed: ${nameOf(error)}`;
    return { provider, isOk: false, message: withAdvice(message, ADVICE) };
  } finally {
    await http.close();
  }
}

/** @throws ProviderUnavailable if the work exceeds the time limit. */
export async function inTime<T>(work: Promise<T>, maxMs = CONTACT_TIMEOUT_MS): Promise<T> {
  const late = AbortSignal.timeout(maxMs);
  return unlessAborted(work, late).catch((error: unknown) => {
    if (error !== late.reason) throw error;
    throw new ProviderUnavailable(`no complete response within ${maxMs / 1_000} s`);
  });
}

export function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : 'unknown error';
}

/** Warns about providers at addresses that look private and are refused because `allowPrivateIP` is not set. */
export function privateProviders({ auth, proxy }: Pick<Config, 'auth' | 'proxy'>): string[] {
  return (oauthInUse(auth)?.providers ?? []).flatMap((provider, position) => {
    if (provider.allowPrivateIP) return [];
    const { issuerUrl, jwksUrl, introspectionUrl, groups } = provider;
    const addresses: [setting: string, url: string | undefined][] = [
      jwksUrl === undefined ? ['issuerUrl', issuerUrl] : ['jwksUrl', jwksUrl],
      ['introspectionUrl', introspectionUrl],
      ['groups.url', groups && 'url' in groups ? groups.url : undefined],
    ];
    return addresses.flatMap(([setting, text]) => {
      if (text === undefined) return [];
      const url = new URL(text);
      // A proxy resolves names, so it decides about them.
      const isProxied = isIP(url.hostname.replace(/^\[|\]$/g, '')) === 0 && proxyFor(url, proxy) !== null;
      return looksPrivate(url) && !isProxied
        ? [
            `auth.oauth.providers[${position}].${setting} (${provider.name}): ${url.hostname} looks private, and ` +
              'requests to private addresses are refused: set allowPrivateIP: true',
          ]
        : [];
    });
  });
}

/** Appends the advice for the first part that the message contains. */
export function withAdvice(
  message: string,
  all: readonly (readonly [part: RegExp, advice: string])[],
): string {
  const advice = all.find(([part]) => part.test(message))?.[1];
  return advice === undefined ? message : `${message}; ${advice}`;
}

async function keysOf(config: ProviderConfig, http: ProviderHttp, insecureUrls: boolean): Promise<string> {
  const { length } = await keyFetcher(config, http, insecureUrls)();
  if (length === 0) throw new ProviderUnavailable('the key set has no usable key; check jwksUrl');
  return `${length} ${length === 1 ? 'key' : 'keys'}`;
}

async function introspect(
  config: ProviderConfig & { readonly introspectionUrl: string },
  http: ProviderHttp,
): Promise<string> {
  await new Introspection(config, http).check(PROBE_TOKEN, null, PROBE_TOKEN, new TokenCallers(config, null));
  return 'introspection';
}

async function findGroups(
  { issuerUrl }: ProviderConfig,
  groups: NonNullable<ProviderConfig['groups']>,
  http: ProviderHttp,
  insecureUrls: boolean,
): Promise<string> {
  const url =
    'url' in groups ? groups.url : await discoverEndpoint('userinfo_endpoint', issuerUrl, http, insecureUrls);
  // No caller's token is available here, so an error response is the best possible outcome.
  await http.getJson(url).catch((error: unknown) => {
    if (!(error instanceof ProviderUnavailable) || !error.answered) throw error;
  });
  return 'groups';
}
