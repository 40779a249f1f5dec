import { LRUCache } from 'lru-cache';
import type { ProviderConfig } from '../../config/config.js';
import { isObject } from '../../json/is-object.js';
import { withoutQuery } from '../../outbound/without-query.js';
import { tokenDigest } from '../bearer-token.js';
import type { Caller } from '../caller.js';
import { FAILURE_PAUSE_MS } from './key-set.js';
import { type ProviderHttp, ProviderUnavailable } from './provider-http.js';
import { callerOfClaims, introspectionRefusal, type Refusal } from './token-claims.js';

/** contract §8: longest time an answer is cached. */
const CACHE_TTL_MS = 60_000;
/** Memory for cached answers, in characters of JSON; the oldest go first. */
const MAX_CACHED_CHARACTERS = 16 * 1024 * 1024;
/** What a cached answer costs besides its text. */
const ANSWER_OVERHEAD = 200;
/** Requests to a provider at a time: a flood of made-up tokens must not pile up here. */
const MAX_PENDING = 256;

type Answer = Readonly<Record<string, unknown>>;

const INACTIVE: Answer = Object.freeze({ active: false });

/**
 * Client of a provider's introspection endpoint (RFC 7662). Concurrent requests about one token are one, answers are
 * cached, and after a failure the provider is left alone for FAILURE_PAUSE_MS: no further token waits for its timeout.
 */
export class Introspection {
  private readonly answers = new LRUCache<string, Answer>({
    maxSize: MAX_CACHED_CHARACTERS,
    ttl: CACHE_TTL_MS,
    // The clock is read each time: by default its last reading is used until a timer runs, which may be late.
    ttlResolution: 0,
    sizeCalculation: (answer) => JSON.stringify(answer).length + ANSWER_OVERHEAD,
  });
  private readonly pending = new Map<string, Promise<Answer>>();
  private failure: { readonly error: ProviderUnavailable; readonly at: number } | undefined;

  constructor(
    private readonly provider: ProviderConfig & { readonly introspectionUrl: string },
    private readonly http: ProviderHttp,
  ) {}

  /** Is there a cached answer by which the token is good? */
  hasAccepted(token: string): boolean {
    const answer = this.answers.peek(tokenDigest(token));
    return answer !== undefined && introspectionRefusal(answer, this.provider, Date.now()) === null;
  }

  /**
   * The caller a token identifies, or why it is refused.
   *
   * @throws ProviderUnavailable
   */
  async check(token: string): Promise<Caller | Refusal> {
    const digest = tokenDigest(token);
    const answer = this.answers.get(digest) ?? (await this.ask(token, digest));
    const refusal = introspectionRefusal(answer, this.provider, Date.now());
    if (refusal !== null) return refusal;
    return callerOfClaims(Object.fromEntries(Object.entries(answer).filter(([name]) => name !== 'active')));
  }

  private async ask(token: string, digest: string): Promise<Answer> {
    const pending = this.pending.get(digest);
    if (pending) return pending;
    if (this.pending.size >= MAX_PENDING)
      throw new ProviderUnavailable('too many tokens wait to be introspected');
    if (this.failure && performance.now() - this.failure.at < FAILURE_PAUSE_MS) throw this.failure.error;
    const answer = this.request(token, digest).finally(() => this.pending.delete(digest));
    this.pending.set(digest, answer);
    return answer;
  }

  private async request(token: string, digest: string): Promise<Answer> {
    try {
      const answer = await this.post(token);
      // Whatever else is in it, a refusal means one thing only.
      const cached = answer['active'] === true ? answer : INACTIVE;
      this.answers.set(digest, cached);
      this.failure = undefined;
      return cached;
    } catch (error) {
      if (error instanceof ProviderUnavailable && !mayConcernOneToken(error))
        this.failure = { error, at: performance.now() };
      throw error;
    }
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

// One token that the provider does not take must not keep the others from being checked. 429 is about all of them.
function mayConcernOneToken({ status }: ProviderUnavailable): boolean {
  return status !== null && status >= 400 && status < 500 && status !== 429;
}

/** RFC 6749 §2.3.1: both halves are form-encoded before they are joined. */
function basic(clientId: string, clientSecret: string): string {
  const encode = (text: string) => new URLSearchParams([['', text]]).toString().slice(1);
  return `Basic ${Buffer.from(`${encode(clientId)}:${encode(clientSecret)}`).toString('base64')}`;
}
