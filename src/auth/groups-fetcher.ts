import { LRUCache } from 'lru-cache';
import type { GroupsLocation } from '../config/auth-settings.dto.js';
import type { ProviderConfig } from '../config/config.js';
import { heapOverhead } from '../json/json-text.js';
import { isObject } from '../json/json-values.js';
import { tokenDigest } from './bearer-token.js';
import { ClaimsIncomplete } from './claim-mapping.js';
import { MAX_TOKEN_ANSWER_BYTES, type ProviderHttp, ProviderUnavailable } from './provider-http.js';
import { discoverEndpoint } from './provider-keys.js';
import { ProviderLimits, ProviderLimitExceeded } from './provider-limits.js';

/** reference/configuration: maximum time groups are cached, counted from the request; shorter if the token expires first. */
const CACHE_TTL_MS = 60_000;
/** How long a response without the token's groups is cached. */
const REFUSAL_TTL_MS = 1_000;
/** How long the discovered userinfo endpoint is cached. */
const ENDPOINT_TTL_MS = 10 * 60_000;
/** Size of the cache, in characters of JSON. */
const MAX_CACHED_CHARACTERS = 16 * 1024 * 1024;
/** Memory of a cached entry beyond its JSON, in characters. */
const ANSWER_OVERHEAD = 200;
const MAX_GROUPS = 10_000;
/** Maximum number of remembered tokens whose groups were fetched before; their lookups have a separate quota. */
const MAX_KNOWN = 50_000;
const KNOWN_TTL_MS = 24 * 60 * 60_000;

/** The groups of one token. */
export interface FetchedGroups {
  readonly groups: readonly (string | number | boolean)[];
  /** Expiry, by `performance.now()`. */
  readonly until: number;
  /** Memory, in characters. */
  readonly size: number;
}

interface Refused {
  readonly refusal: ClaimsIncomplete;
  readonly until: number;
  readonly size: number;
}

/** A verified token that does not contain its groups. */
export interface TokenWithoutGroups {
  readonly token: string;
  readonly subject: unknown;
  /** Client key of the sender: see `clientKeyOf`. */
  readonly client: string;
}

/**
 * Fetches groups that a provider omits from its tokens (OpenID Connect Core 1.0 §5.3, §5.6.2), with the token as
 * credential. Concurrent lookups of one token share one request, responses are cached, and ProviderLimits apply. Uses
 * only the configured endpoint, never one that the token specifies.
 */
export class GroupsFetcher {
  private readonly cached = new LRUCache<string, FetchedGroups | Refused>({
    maxSize: MAX_CACHED_CHARACTERS,
    sizeCalculation: ({ size }) => size,
  });
  private readonly known = new LRUCache<string, true>({ max: MAX_KNOWN, ttl: KNOWN_TTL_MS });
  private readonly pending = new Map<string, Promise<FetchedGroups>>();
  private readonly limits = new ProviderLimits('groups');
  private endpoint: { readonly url: string; readonly until: number } | undefined;

  constructor(
    private readonly provider: Pick<ProviderConfig, 'issuerUrl'>,
    private readonly location: GroupsLocation,
    private readonly http: ProviderHttp,
    private readonly insecureUrls: boolean,
  ) {}

  /** @throws ClaimsIncomplete when the groups can't be fetched. */
  async groupsOf(question: TokenWithoutGroups): Promise<FetchedGroups> {
    const digest = tokenDigest(question.token);
    const cached = this.cached.get(digest);
    if (cached && performance.now() < cached.until) {
      if ('refusal' in cached) throw cached.refusal;
      return cached;
    }
    const pending = this.pending.get(digest) ?? this.fetch(digest, question);
    this.pending.set(digest, pending);
    return pending;
  }

  private async fetch(
    digest: string,
    { token, subject, client }: TokenWithoutGroups,
  ): Promise<FetchedGroups> {
    try {
      const lookup = { digest, known: this.known.has(digest), clientKey: client };
      const { answer, askedAt } = await this.limits.run(lookup, () => this.ask(token));
      const groups = this.groupsIn(answer, subject);
      const size = JSON.stringify(groups).length + heapOverhead(groups) + ANSWER_OVERHEAD;
      const fetched = { groups, until: askedAt + CACHE_TTL_MS, size };
      this.cached.set(digest, fetched);
      this.known.set(digest, true);
      return fetched;
    } catch (error) {
      const refusal = refusalFor(error);
      if (refusal.why === 'incomplete') {
        const until = performance.now() + REFUSAL_TTL_MS;
        this.cached.set(digest, { refusal, until, size: ANSWER_OVERHEAD });
      }
      throw refusal;
    } finally {
      this.pending.delete(digest);
    }
  }

  private async ask(token: string): Promise<{ answer: unknown; askedAt: number }> {
    const url = 'url' in this.location ? this.location.url : await this.userinfoUrl();
    const askedAt = performance.now();
    return { answer: await this.http.getJson(url, `Bearer ${token}`, MAX_TOKEN_ANSWER_BYTES), askedAt };
  }

  // OpenID Connect Core 1.0 §5.3.2: a userinfo response must not be used unless its `sub` equals the token's.
  private groupsIn(answer: unknown, subject: unknown): FetchedGroups['groups'] {
    const { groups, sub } = isObject(answer) ? answer : {};
    const isAnonymous = 'url' in this.location && sub === undefined;
    if (!isAnonymous && (typeof subject !== 'string' || sub !== subject))
      throw new ClaimsIncomplete('the groups response has a different subject than the token');
    const list: unknown[] = Array.isArray(groups) ? groups : [groups];
    if (list.length > MAX_GROUPS)
      throw new ClaimsIncomplete(`the groups response has more than ${MAX_GROUPS} groups`);
    if (!list.every(isScalar)) throw new ClaimsIncomplete('the groups response contains no list of groups');
    return list;
  }

  private async userinfoUrl(): Promise<string> {
    if (this.endpoint && performance.now() < this.endpoint.until) return this.endpoint.url;
    const { issuerUrl } = this.provider;
    const url = await discoverEndpoint('userinfo_endpoint', issuerUrl, this.http, this.insecureUrls);
    this.endpoint = { url, until: performance.now() + ENDPOINT_TTL_MS };
    return url;
  }
}

function refusalFor(error: unknown): ClaimsIncomplete {
  if (error instanceof ClaimsIncomplete) return error;
  if (error instanceof ProviderLimitExceeded) return new ClaimsIncomplete(error.message, 'limited');
  if (!(error instanceof ProviderUnavailable)) throw error;
  return new ClaimsIncomplete(error.message, error.answered ? 'incomplete' : 'unavailable');
}

function isScalar(value: unknown): value is string | number | boolean {
  return ['string', 'number', 'boolean'].includes(typeof value);
}
