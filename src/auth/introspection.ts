import { LRUCache } from 'lru-cache';
import type { ProviderConfig } from '../config/config.js';
import { heapOverhead } from '../json/json-text.js';
import { isObject } from '../json/json-values.js';
import { withoutQuery } from '../validation/redaction.js';
import { tokenDigest } from './bearer-token.js';
import type { Caller } from './caller.js';
import { readsClaim } from './claim-mapping.js';
import { type ProviderHttp, ProviderUnavailable } from './provider-http.js';
import { ProviderLimits } from './provider-limits.js';
import { GROUPS_ELSEWHERE, type TokenCallers } from './token-callers.js';
import {
  CLIENT_CLAIMS,
  introspectionRefusal,
  refusal,
  type Refusal,
  shownClaim,
  type UnverifiedJwt,
} from './token-claims.js';

/** reference/authentication: longest time a response is cached. */
const CACHE_TTL_MS = 60_000;
/** Size of the cache for accepted tokens, in characters of JSON. */
const MAX_ACCEPTED_CHARACTERS = 16 * 1024 * 1024;
/** Size of the separate cache for refused tokens: forged tokens must not evict accepted ones. */
const MAX_REFUSED_CHARACTERS = 4 * 1024 * 1024;
/** Memory of a cached response beyond its JSON, in characters. */
const ANSWER_OVERHEAD = 200;
/** Maximum number of remembered tokens that this provider has accepted. */
const MAX_VOUCHED = 50_000;
const VOUCHED_TTL_MS = 24 * 60 * 60_000;

type Answer = Readonly<Record<string, unknown>>;

/** Claims that are read even if no mapping uses them. */
const OWN_CLAIMS: ReadonlySet<string> = new Set([
  ...['active', 'iss', 'sub', 'aud', 'exp', 'nbf', 'typ', 'at_hash', 'token_use'],
  ...[...CLIENT_CLAIMS, ...GROUPS_ELSEWHERE],
]);

/** The settings that decide which claims of a response are read. */
type ClaimMapping = Pick<ProviderConfig, 'claims' | 'displayName'>;

const INACTIVE: Answer = Object.freeze({ active: false });

/**
 * Client of a provider's introspection endpoint (RFC 7662). Concurrent requests about one token share one request,
 * responses are cached, and ProviderLimits apply.
 */
export class Introspection {
  private readonly accepted = answersWithin(MAX_ACCEPTED_CHARACTERS);
  private readonly refused = answersWithin(MAX_REFUSED_CHARACTERS);
  private readonly vouched = new LRUCache<string, true>({ max: MAX_VOUCHED, ttl: VOUCHED_TTL_MS });
  private readonly pending = new Map<string, Promise<Answer>>();
  private readonly limits = new ProviderLimits('introspection');
  private readonly claims = new WeakMap<Answer, Answer>();

  private mapping: ClaimMapping;

  constructor(
    private readonly provider: ProviderConfig & { readonly introspectionUrl: string },
    private readonly http: ProviderHttp,
  ) {
    this.mapping = provider;
  }

  /** Keeps the claims that this mapping reads from now on. Cached responses may lack some of them. */
  readClaimsOf(mapping: ClaimMapping): void {
    this.mapping = mapping;
    this.accepted.clear();
  }

  /** Whether this provider has accepted the token, and has not refused it since. */
  hasVouchedFor(token: string): boolean {
    return this.vouched.has(tokenDigest(token));
  }

  /** Records that this provider accepted the token, which settles the verdict. */
  vouchFor(token: string): void {
    this.vouched.set(tokenDigest(token), true);
  }

  /**
   * Returns the caller that a token identifies, or the reason for refusing it.
   *
   * @param jwt The decoded token; null if it is opaque.
   * @param client Client key of the sender: see `clientKeyOf`.
   * @throws ProviderUnavailable, ProviderLimitExceeded, NoSubject, ClaimsIncomplete
   */
  async check(
    token: string,
    jwt: UnverifiedJwt | null,
    client: string,
    callers: TokenCallers,
  ): Promise<Caller | Refusal> {
    const digest = tokenDigest(token);
    const answer =
      this.accepted.get(digest) ??
      this.refused.get(digest) ??
      (await this.pendingAnswer(token, digest, client));
    const refused = introspectionRefusal(answer, this.provider, Date.now(), jwt?.payload);
    if (refused) {
      this.vouched.delete(digest);
      return refused;
    }
    const { caller } = await callers.callerOf(token, this.claimsIn(answer), client);
    // The token may have expired while its groups were fetched.
    return (
      introspectionRefusal(answer, this.provider, Date.now(), jwt?.payload) ??
      this.otherSubject(answer, jwt) ??
      caller
    );
  }

  // reference/configuration: a token must not name one caller to its client and another to this server.
  private otherSubject({ sub }: Answer, jwt: UnverifiedJwt | null): Refusal | null {
    const expected = jwt?.payload['sub'];
    const isChecked =
      this.provider.introspection === 'always' && typeof expected === 'string' && expected !== '';
    if (!isChecked || sub === expected) return null;
    return refusal("the subject is not the JWT's", { value: sub, expected: shownClaim(expected) });
  }

  // Returns the same object for the same response, because TokenCallers uses it as a cache key.
  private claimsIn(answer: Answer): Answer {
    const known = this.claims.get(answer);
    const claims = known ?? Object.fromEntries(Object.entries(answer).filter(([name]) => name !== 'active'));
    this.claims.set(answer, claims);
    return claims;
  }

  private pendingAnswer(token: string, digest: string, client: string): Promise<Answer> {
    const pending = this.pending.get(digest);
    if (pending) return pending;
    const known = this.vouched.has(digest);
    const answer = this.limits
      .run({ digest, known, clientKey: client }, () => this.post(token))
      .then((given) => this.cache(digest, given))
      .finally(() => this.pending.delete(digest));
    this.pending.set(digest, answer);
    return answer;
  }

  private cache(digest: string, given: Answer): Answer {
    // Drop the rest of a refusal: only `active` matters.
    const answer = given['active'] === true ? this.partRead(given) : INACTIVE;
    const isAccepted = introspectionRefusal(answer, this.provider, Date.now()) === null;
    (isAccepted ? this.accepted : this.refused).set(digest, answer);
    return answer;
  }

  /** Returns the claims that decide about the token, identify its holder or are mapped. */
  private partRead(answer: Answer): Answer {
    const { claims, displayName } = this.mapping;
    const isRead = (name: string) => OWN_CLAIMS.has(name) || name === displayName || readsClaim(claims, name);
    return Object.fromEntries(Object.entries(answer).filter(([name]) => isRead(name)));
  }

  private async post(token: string): Promise<Answer> {
    const { introspectionUrl, clientId, clientSecret } = this.provider;
    const answer = await this.http.postForm(
      introspectionUrl,
      {
        token,
        token_type_hint: 'access_token',
        ...(clientId !== undefined && clientSecret === undefined ? { client_id: clientId } : {}),
      },
      clientId !== undefined && clientSecret !== undefined ? basic(clientId, clientSecret) : undefined,
    );
    if (!isObject(answer))
      throw new ProviderUnavailable(
        `${withoutQuery(introspectionUrl)}: the response is not an introspection response`,
      );
    return answer as Answer;
  }
}

function answersWithin(maxSize: number): LRUCache<string, Answer> {
  return new LRUCache({
    maxSize,
    ttl: CACHE_TTL_MS,
    // Read the clock on every get(): by default lru-cache reuses a reading for a while.
    ttlResolution: 0,
    sizeCalculation: (answer) => JSON.stringify(answer).length + heapOverhead(answer) + ANSWER_OVERHEAD,
  });
}

/** RFC 6749 §2.3.1: both halves are form-encoded before they are joined. */
function basic(clientId: string, clientSecret: string): string {
  const encode = (text: string) => new URLSearchParams([['', text]]).toString().slice(1);
  return `Basic ${Buffer.from(`${encode(clientId)}:${encode(clientSecret)}`).toString('base64')}`;
}
