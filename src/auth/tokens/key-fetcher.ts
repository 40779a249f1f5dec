import { createPublicKey } from 'node:crypto';
import jwksRsa from 'jwks-rsa';
import type { ProviderConfig } from '../../config/config.js';
import { isObject } from '../../json/json-values.js';
import { withoutQuery } from '../../outbound/http-client.js';
import { discoverEndpoint } from './discovery-document.js';
import { type ProviderHttp, ProviderUnavailable } from './provider-http.js';
import type { ProviderKey } from './provider-keys.js';

/** Parsing a key takes time, and no provider has as many. */
const MAX_KEYS = 1_000;
/** Smaller RSA keys can be factored: NIST SP 800-131A. */
const MIN_RSA_BITS = 2048;

/**
 * Fetches a provider's signing keys, from `jwksUrl` or by OIDC discovery (spec §5.2.4).
 *
 * A key set without usable keys is an answer: the provider has withdrawn them.
 *
 * @throws ProviderUnavailable
 */
export function keyFetcher(
  provider: ProviderConfig,
  http: ProviderHttp,
  insecureUrls: boolean,
): () => Promise<readonly ProviderKey[]> {
  return async () => {
    const jwksUri =
      provider.jwksUrl ?? (await discoverEndpoint('jwks_uri', provider.issuerUrl, http, insecureUrls));
    // The client only fetches and parses: its cache would ask the provider for each unknown kid.
    const client = new jwksRsa.JwksClient({
      jwksUri,
      cache: false,
      rateLimit: false,
      fetcher: async (url) => keyDocument(await http.getJson(url), url),
    });
    const keys = (await client.getSigningKeys().catch(noneUsable)).map(
      ({ kid, alg, getPublicKey }): ProviderKey => ({
        kid: kid || undefined,
        alg: (alg as string | undefined) || undefined,
        key: createPublicKey(getPublicKey()),
      }),
    );
    return keys.filter(
      ({ key }) =>
        key.asymmetricKeyType !== 'rsa' || (key.asymmetricKeyDetails?.modulusLength ?? 0) >= MIN_RSA_BITS,
    );
  };
}

function keyDocument(document: unknown, url: string): { keys: unknown[] } {
  const keys: unknown = isObject(document) ? document['keys'] : undefined;
  if (!Array.isArray(keys))
    throw new ProviderUnavailable(`${withoutQuery(url)}: the answer is no JSON Web Key Set`);
  if (keys.length > MAX_KEYS)
    throw new ProviderUnavailable(`${withoutQuery(url)}: it holds more than ${MAX_KEYS} keys`);
  // One key that is no object would make the client reject all of them.
  return { keys: keys.filter(isObject) };
}

function noneUsable(error: unknown): jwksRsa.SigningKey[] {
  if (error instanceof jwksRsa.JwksError) return [];
  throw error;
}
