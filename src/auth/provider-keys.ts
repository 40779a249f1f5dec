import { createPublicKey, hash, type JsonWebKey, type KeyObject } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import jwksRsa from 'jwks-rsa';
import type { ProviderConfig } from '../config/config.js';
import { isObject } from '../json/json-values.js';
import { withoutQuery } from '../validation/redaction.js';
import { isInsecure, parseHttpUrl } from '../validation/urls.js';
import { type ProviderHttp, ProviderUnavailable } from './provider-http.js';

/** How long fetched keys are valid. A key may be accepted for this long after the provider removes it. */
const KEY_TTL_MS = 10 * 60_000;
/** Age at which keys are refreshed in the background when used. */
const KEY_REFRESH_MS = 5 * 60_000;
/** reference/authentication: tokens that no key verifies cause at most one fetch per provider in this time. */
const REFETCH_COOLDOWN_MS = 30_000;
/** Pause before the next request to a provider after a failure. */
export const FAILURE_PAUSE_MS = 1_000;

/** reference/authentication: only the first keys of a set count. */
const MAX_KEYS = 100;
/** reference/authentication: how many keys are tried for one token. */
const MAX_TRIED = 5;

export interface ProviderKey {
  readonly kid: string | undefined;
  /** The only algorithm allowed for this key, if the provider restricts it. */
  readonly alg: string | undefined;
  readonly key: KeyObject;
  /** Digest of the published form. A key with another digest is another key. */
  readonly digest: string;
}

interface Loaded {
  readonly keys: readonly ProviderKey[];
  readonly at: number;
}

/**
 * Caches one provider's keys. Fetches them on first use, refreshes them in the background, and refetches for a token that no
 * key verifies at most every 30 s. Concurrent requests share one fetch.
 */
export class ProviderKeys {
  private loaded: Loaded | undefined;
  private fetching: Promise<void> | undefined;
  private refetchedAt = -Infinity;
  private failure: { readonly error: unknown; readonly at: number } | undefined;

  /**
   * @param fetchKeys Receives the keys of the previous fetch. Rejects when the provider is unavailable.
   * @param now Monotonic clock, in milliseconds.
   */
  constructor(
    private readonly fetchKeys: (known: readonly ProviderKey[]) => Promise<readonly ProviderKey[]>,
    private readonly now: () => number,
  ) {}

  /**
   * Tries the keys that may have signed a token, in the order of the key set: those with its `kid`, or all keys if it
   * has none. If none of them verifies the token, the provider may have replaced a key, so the keys are fetched again
   * and the new ones are tried.
   *
   * @param verify Resolves with undefined if the key did not sign the token.
   * @returns undefined if no key did.
   * @throws The error of `fetchKeys` when the keys are missing or outdated.
   */
  async try<T>(
    kid: string | undefined,
    alg: string,
    verify: (key: ProviderKey) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const startedAt = this.now();
    await this.load();
    const tried = this.select(kid, alg);
    const found = await firstOf(tried, verify);
    if (found !== undefined) return found;
    if (this.fetching) await this.fetching.catch(() => undefined);
    else if (this.mayRefetch(startedAt)) {
      this.refetchedAt = this.now();
      await this.fetch();
    }
    const replaced = this.select(kid, alg).filter((key) => !tried.includes(key));
    const later = await firstOf(replaced, verify);
    // The last fetch failed, so the provider may have the key although the cache does not.
    if (later === undefined && this.failure) throw this.failure.error;
    return later;
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

  private select(kid: string | undefined, alg: string): ProviderKey[] {
    const keys = this.loaded?.keys ?? [];
    return keys.filter((key) => (kid === undefined || key.kid === kid) && fits(key, alg)).slice(0, MAX_TRIED);
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
      this.loaded = { keys: await this.fetchKeys(this.loaded?.keys ?? []), at: this.now() };
      this.failure = undefined;
    } catch (error) {
      this.failure = { error, at: this.now() };
      throw error;
    }
  }
}

async function firstOf<T>(
  keys: readonly ProviderKey[],
  verify: (key: ProviderKey) => Promise<T | undefined>,
): Promise<T | undefined> {
  for (const key of keys) {
    const found = await verify(key);
    if (found !== undefined) return found;
  }
  return undefined;
}

const CURVES: Readonly<Record<string, string>> = {
  ES256: 'prime256v1',
  ES384: 'secp384r1',
  ES512: 'secp521r1',
};

function fits({ alg, key }: ProviderKey, expected: string): boolean {
  if (alg !== undefined && alg !== expected) return false;
  const curve = CURVES[expected];
  if (curve === undefined) return key.asymmetricKeyType === 'rsa';
  return key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === curve;
}

/** Endpoints read from the discovery document. */
export type DiscoveredEndpoint = 'jwks_uri' | 'userinfo_endpoint';

/**
 * Finds an endpoint by OpenID Connect Discovery 1.0 (§4). Refuses a document with another issuer (§4.3).
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

/** NIST SP 800-131A */
const MIN_RSA_BITS = 2048;
/** FIPS 186-5 A.1.1. With an exponent of 1, anyone can make a signature. */
const MIN_RSA_EXPONENT = 65_537n;

/**
 * Creates the function that fetches a provider's signing keys, from `jwksUrl` or by OIDC discovery (reference/authentication). A key set
 * without usable keys is not an error: the provider may have withdrawn them all. Keys that are already known stay the same
 * objects, so that tokens verified with them stay cached. The function throws ProviderUnavailable.
 */
export function keyFetcher(
  provider: ProviderConfig,
  http: ProviderHttp,
  insecureUrls: boolean,
): (known?: readonly ProviderKey[]) => Promise<readonly ProviderKey[]> {
  return async (known = []) => {
    const url =
      provider.jwksUrl ?? (await discoverEndpoint('jwks_uri', provider.issuerUrl, http, insecureUrls));
    // Only reads the key set: jwks-rsa parses all keys in one block, and its cache sends a request for every unknown kid.
    const client = new jwksRsa.JwksClient({
      jwksUri: url,
      cache: false,
      rateLimit: false,
      fetcher: async (uri) => keyDocument(await http.getJson(uri), uri),
    });
    const keys: ProviderKey[] = [];
    for (const jwk of (await client.getKeys()) as unknown[]) {
      const digest = hash('sha256', JSON.stringify(jwk));
      const key = known.find((one) => one.digest === digest) ?? keyOf(jwk, digest);
      if (key) keys.push(key);
      // Checking that a point is on its curve takes up to 3 ms.
      await setImmediate();
    }
    return keys;
  };
}

function keyDocument(document: unknown, url: string): { keys: unknown[] } {
  const keys: unknown = isObject(document) ? document['keys'] : undefined;
  if (!Array.isArray(keys))
    throw new ProviderUnavailable(`${withoutQuery(url)}: the response is not a JSON Web Key Set`);
  return { keys: keys.slice(0, MAX_KEYS) };
}

/** Returns the key of a JSON Web Key (RFC 7517); undefined unless it is a public key that may verify signatures. */
function keyOf(jwk: unknown, digest: string): ProviderKey | undefined {
  if (!isObject(jwk)) return undefined;
  const { kty, use, key_ops: operations, kid, alg, d } = jwk;
  const isWellFormed = [kid, alg].every((text) => text === undefined || typeof text === 'string');
  const isForSignatures =
    (use === undefined || use === 'sig') &&
    (operations === undefined || (Array.isArray(operations) && operations.includes('verify')));
  if (!['RSA', 'EC'].includes(String(kty)) || !isWellFormed || !isForSignatures || d !== undefined)
    return undefined;
  try {
    const key = createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' });
    if (!isStrong(key)) return undefined;
    return {
      kid: (kid as string | undefined) || undefined,
      alg: (alg as string | undefined) || undefined,
      key,
      digest,
    };
  } catch {
    return undefined;
  }
}

function isStrong({ asymmetricKeyType, asymmetricKeyDetails = {} }: KeyObject): boolean {
  if (asymmetricKeyType !== 'rsa') return true;
  const { modulusLength = 0, publicExponent = 0n } = asymmetricKeyDetails;
  return modulusLength >= MIN_RSA_BITS && publicExponent >= MIN_RSA_EXPONENT && publicExponent % 2n === 1n;
}
