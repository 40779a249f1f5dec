import { LRUCache } from 'lru-cache';
import type { ProviderConfig } from '../config/config.js';
import { isObject } from '../json/json-values.js';
import { withoutQuery } from '../outbound/http-client.js';
import { tokenDigest } from './bearer-token.js';
import type { Caller } from './caller.js';
import { type ProviderHttp, ProviderUnavailable } from './provider-http.js';
import { ProviderLimits } from './provider-limits.js';
import type { TokenCallers } from './token-callers.js';
import { introspectionRefusal, type Refusal } from './token-claims.js';

/** contract §8: longest time an answer is cached. */
const CACHE_TTL_MS = 60_000;
/** Memory for cached answers by which a token is good, in characters of JSON; the oldest go first. */
const MAX_GOOD_CHARACTERS = 16 * 1024 * 1024;
/** The same for all other answers, apart: made-up tokens must not drive out the good ones. */
const MAX_BAD_CHARACTERS = 4 * 1024 * 1024;
/** What a cached answer costs besides its text. */
const ANSWER_OVERHEAD = 200;
/** Tokens of which it is remembered that this provider has issued them: by their digests, and the newest. */
const MAX_VOUCHED = 50_000;
const VOUCHED_TTL_MS = 24 * 60 * 60_000;

type Answer = Readonly<Record<string, unknown>>;

const INACTIVE: Answer = Object.freeze({ active: false });

/**
 * Client of a provider's introspection endpoint (RFC 7662). Concurrent requests about one token are one, answers are
 * cached, and ProviderLimits limits them.
 */
export class Introspection {
  private readonly good = answersWithin(MAX_GOOD_CHARACTERS);
  private readonly bad = answersWithin(MAX_BAD_CHARACTERS);
  private readonly vouched = new LRUCache<string, true>({ max: MAX_VOUCHED, ttl: VOUCHED_TTL_MS });
  private readonly pending = new Map<string, Promise<Answer>>();
  private readonly limits = new ProviderLimits('introspection');
  private readonly claims = new WeakMap<Answer, Answer>();

  constructor(
    private readonly provider: ProviderConfig & { readonly introspectionUrl: string },
    private readonly http: ProviderHttp,
    private readonly callers: TokenCallers,
  ) {}

  /** Has this provider accepted the token before, however long ago? Then it has issued it, and no other has. */
  hasVouchedFor(token: string): boolean {
    return this.vouched.has(tokenDigest(token));
  }

  /**
   * The caller a token identifies, or why it is refused.
   *
   * @param client who sent it: see `clientKeyOf`.
   * @throws ProviderUnavailable, ProviderLimitExceeded, ClaimsIncomplete
   */
  async check(token: string, client: string): Promise<Caller | Refusal> {
    const digest = tokenDigest(token);
    const answer =
      this.good.get(digest) ?? this.bad.get(digest) ?? (await this.pendingAnswer(token, digest, client));
    const refusal = introspectionRefusal(answer, this.provider, Date.now());
    if (refusal !== null) return refusal;
    this.vouched.set(digest, true);
    const { caller } = await this.callers.callerOf(token, this.claimsIn(answer), client);
    // Groups take time.
    return introspectionRefusal(answer, this.provider, Date.now()) ?? caller;
  }

  // One object for each answer: callers are remembered by it.
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
      .then((given) => this.remember(digest, given))
      .finally(() => this.pending.delete(digest));
    this.pending.set(digest, answer);
    return answer;
  }

  private remember(digest: string, given: Answer): Answer {
    // Whatever else is in it, a refusal means one thing only.
    const answer = given['active'] === true ? given : INACTIVE;
    const isGood = introspectionRefusal(answer, this.provider, Date.now()) === null;
    (isGood ? this.good : this.bad).set(digest, answer);
    return answer;
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
        `${withoutQuery(introspectionUrl)}: the answer is no introspection response`,
      );
    return answer as Answer;
  }
}

function answersWithin(maxSize: number): LRUCache<string, Answer> {
  return new LRUCache({
    maxSize,
    ttl: CACHE_TTL_MS,
    // The clock is read each time: by default its last reading is used until a timer runs, which may be late.
    ttlResolution: 0,
    sizeCalculation: (answer) => JSON.stringify(answer).length + ANSWER_OVERHEAD,
  });
}

/** RFC 6749 §2.3.1: both halves are form-encoded before they are joined. */
function basic(clientId: string, clientSecret: string): string {
  const encode = (text: string) => new URLSearchParams([['', text]]).toString().slice(1);
  return `Basic ${Buffer.from(`${encode(clientId)}:${encode(clientSecret)}`).toString('base64')}`;
}
