import { createPublicKey, type KeyObject } from 'node:crypto';
import jwksRsa from 'jwks-rsa';
import type { ProviderConfig } from '../config/config.js';
import { isObject } from '../json/json-values.js';
import { withoutQuery } from '../outbound/http-client.js';
import { isInsecure, parseHttpUrl } from '../validation/urls.js';
import { type ProviderHttp, ProviderUnavailable } from './provider-http.js';

/** How long fetched keys are valid. A key may be accepted for this long after the provider removes it. */
const KEY_TTL_MS = 10 * 60_000;
/** Age at which keys are refreshed in the background when used. */
const KEY_REFRESH_MS = 5 * 60_000;
/** contract §8: an unknown `kid` causes at most one fetch per provider in this time. */
const REFETCH_COOLDOWN_MS = 30_000;
/** Pause before the next request to a provider after a failure. */
export const FAILURE_PAUSE_MS = 1_000;

/** One public key of a provider. */
export interface ProviderKey {
  readonly kid: string | undefined;
  /** The only algorithm allowed for this key, if the provider restricts it. */
  readonly alg: string | undefined;
  readonly key: KeyObject;
}

interface Loaded {
  readonly keys: readonly ProviderKey[];
  readonly at: number;
}

/**
 * Caches one provider's keys. Fetches them on first use, refreshes them in the background, and refetches for an unknown
 * `kid` at most every 30 s. Concurrent requests share one fetch.
 */
export class ProviderKeys {
  private loaded: Loaded | undefined;
  private fetching: Promise<void> | undefined;
  private refetchedAt = -Infinity;
  private failure: { readonly error: unknown; readonly at: number } | undefined;

  /**
   * @param fetchKeys Rejects when the provider is unavailable.
   * @param now Monotonic clock, in milliseconds.
   */
  constructor(
    private readonly fetchKeys: () => Promise<readonly ProviderKey[]>,
    private readonly now: () => number,
  ) {}

  /**
   * Finds the key a token was signed with; undefined when the provider has no such key. Without a `kid`, returns
   * the provider's only key, if it has exactly one.
   *
   * @throws The error of `fetchKeys` when the keys are missing or outdated.
   */
  async find(kid: string | undefined, alg: string): Promise<ProviderKey | undefined> {
    const startedAt = this.now();
    await this.load();
    const loaded = this.select(kid, alg);
    if (loaded) return loaded;
    if (this.fetching) await this.fetching.catch(() => undefined);
    else if (this.mayRefetch(startedAt)) {
      this.refetchedAt = this.now();
      await this.fetch();
    }
    const found = this.select(kid, alg);
    // The last fetch failed, so the provider may have this key although the cache does not.
    if (!found && this.failure) throw this.failure.error;
    return found;
  }

  /** Whether the cached keys are fresh and contain this key. */
  holds(key: ProviderKey): boolean {
    return this.isFresh(KEY_TTL_MS) && (this.loaded?.keys.includes(key) ?? false);
  }

  private async load(): Promise<void> {
    if (!this.isFresh(KEY_TTL_MS)) {
      if (this.failure && this.now() - this.failure.at < FAILURE_PAUSE_MS) throw this.failure.error;
      await this.fetch();
    } else if (!this.isFresh(KEY_REFRESH_MS)) {
      if (!this.failure || this.now() - this.failure.at >= REFETCH_COOLDOWN_MS)
        this.fetch().catch(() => undefined);
    }
  }

  private mayRefetch(startedAt: number): boolean {
    const isOutdated = this.loaded === undefined || this.loaded.at < startedAt;
    return isOutdated && this.now() - this.refetchedAt >= REFETCH_COOLDOWN_MS;
  }

  private select(kid: string | undefined, alg: string): ProviderKey | undefined {
    const keys = this.loaded?.keys ?? [];
    const candidates =
      kid === undefined ? (keys.length === 1 ? keys : []) : keys.filter((key) => key.kid === kid);
    return candidates.find((key) => fits(key, alg));
  }

  private isFresh(age: number): boolean {
    return this.loaded !== undefined && this.now() - this.loaded.at < age;
  }

  private fetch(): Promise<void> {
    this.fetching ??= this.fetchNow().finally(() => {
      this.fetching = undefined;
    });
    return this.fetching;
  }

  private async fetchNow(): Promise<void> {
    try {
      const keys = await this.fetchKeys();
      this.loaded = { keys: keys.map((key) => this.sameKey(key) ?? key), at: this.now() };
      this.failure = undefined;
    } catch (error) {
      this.failure = { error, at: this.now() };
      throw error;
    }
  }

  // Reuses the existing object for an unchanged key, so that tokens verified with that key stay cached.
  private sameKey({ kid, alg, key }: ProviderKey): ProviderKey | undefined {
    return this.loaded?.keys.find((other) => other.kid === kid && other.alg === alg && other.key.equals(key));
  }
}

const TYPE_OF_ALGORITHM: Readonly<Record<string, string>> = { RS: 'rsa', PS: 'rsa', ES: 'ec' };

function fits({ alg, key }: ProviderKey, expected: string): boolean {
  if (alg !== undefined && alg !== expected) return false;
  return TYPE_OF_ALGORITHM[expected.slice(0, 2)] === key.asymmetricKeyType;
}

/** Endpoints read from the discovery document. */
export type DiscoveredEndpoint = 'jwks_uri' | 'userinfo_endpoint';

/**
 * Finds an endpoint by OpenID Connect Discovery 1.0 (§4). Refuses a document that names another issuer (§4.3).
 *
 * @throws ProviderUnavailable
 */
export async function discoverEndpoint(
  endpoint: DiscoveredEndpoint,
  issuerUrl: string,
  http: ProviderHttp,
  insecureUrls: boolean,
): Promise<string> {
  const url = `${issuerUrl.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const document = await http.getJson(url);
  const { issuer, [endpoint]: address } = isObject(document) ? document : {};
  if (issuer !== issuerUrl)
    throw new ProviderUnavailable(`${url}: its issuer is ${quote(issuer)}, expected ${quote(issuerUrl)}`);
  if (typeof address !== 'string' || !isTrustworthy(address, insecureUrls))
    throw new ProviderUnavailable(`${url}: its ${endpoint} is missing or not an https URL`);
  return address;
}

function isTrustworthy(text: string, insecureUrls: boolean): boolean {
  const url = parseHttpUrl(text);
  return url !== undefined && (insecureUrls || !isInsecure(url));
}

function quote(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 200)) : 'missing';
}

/** Maximum number of keys in a key set, to limit parsing time. */
const MAX_KEYS = 1_000;
/** NIST SP 800-131A */
const MIN_RSA_BITS = 2048;

/**
 * Creates the function that fetches a provider's signing keys, from `jwksUrl` or by OIDC discovery (spec §5.2.4). A key set
 * without usable keys is not an error: the provider may have withdrawn them all. The function throws ProviderUnavailable.
 */
export function keyFetcher(
  provider: ProviderConfig,
  http: ProviderHttp,
  insecureUrls: boolean,
): () => Promise<readonly ProviderKey[]> {
  return async () => {
    const jwksUri =
      provider.jwksUrl ?? (await discoverEndpoint('jwks_uri', provider.issuerUrl, http, insecureUrls));
    // Used only to fetch and parse: jwks-rsa's own cache would send a request for every unknown kid.
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
    throw new ProviderUnavailable(`${withoutQuery(url)}: the response is not a JSON Web Key Set`);
  if (keys.length > MAX_KEYS)
    throw new ProviderUnavailable(`${withoutQuery(url)}: the key set has more than ${MAX_KEYS} keys`);
  // A single key that is not an object would make jwks-rsa reject the whole set.
  return { keys: keys.filter(isObject) };
}

function noneUsable(error: unknown): jwksRsa.SigningKey[] {
  if (error instanceof jwksRsa.JwksError) return [];
  throw error;
}
