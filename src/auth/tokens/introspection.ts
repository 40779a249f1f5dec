import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { Strategy } from 'passport';
import type { ProviderConfig } from '../../config/config.js';
import { isObject } from '../../json/is-object.js';
import { type TokenRequest, type Verified, verified } from './jwt.strategy.js';
import { FAILURE_PAUSE_MS } from './key-set.js';
import { type ProviderHttp, ProviderUnavailable } from './provider-http.js';
import { introspectionRefusal } from './token-claims.js';

/** contract §8: longest time an answer is kept. */
const KEEP_MS = 60_000;
/** Memory for answers, in characters of JSON; the oldest go first. */
const KEPT_CHARACTERS = 16 * 1024 * 1024;
/** What an answer that was kept costs besides its text. */
const ANSWER_OVERHEAD = 200;
/** Questions to a provider at a time: a flood of made-up tokens must not pile up here. */
const MAX_PENDING = 256;

type Answer = Readonly<Record<string, unknown>>;

const INACTIVE: Answer = Object.freeze({ active: false });

/** Asks the provider about a token (RFC 7662). Concurrent questions about one token are asked once. */
export class IntrospectionStrategy extends Strategy {
  private readonly answers = new LRUCache<string, Answer>({
    maxSize: KEPT_CHARACTERS,
    ttl: KEEP_MS,
    // The clock is read each time: by default what it said is believed until a timer runs, which may be late.
    ttlResolution: 0,
    sizeCalculation: (answer) => JSON.stringify(answer).length + ANSWER_OVERHEAD,
  });
  private readonly pending = new Map<string, Promise<Answer>>();
  private failure: { readonly error: ProviderUnavailable; readonly at: number } | undefined;

  constructor(
    private readonly provider: ProviderConfig & { readonly introspectionUrl: string },
    private readonly http: ProviderHttp,
  ) {
    super();
  }

  override authenticate(request: unknown): void {
    this.verify((request as TokenRequest).token).then(
      (outcome) =>
        outcome instanceof Error ? this.fail(outcome as unknown as string) : this.success(outcome),
      (error: unknown) => this.error(error),
    );
  }

  /** Is this a token the provider vouched for a moment ago? */
  remembers(token: string): boolean {
    const answer = this.answers.peek(digestOf(token));
    return answer !== undefined && introspectionRefusal(answer, this.provider, Date.now()) === null;
  }

  private async verify(token: string): Promise<Verified | Error> {
    const digest = digestOf(token);
    const answer = this.answers.get(digest) ?? (await this.ask(token, digest));
    const refusal = introspectionRefusal(answer, this.provider, Date.now());
    if (refusal !== null) return new Error(refusal);
    const claims = Object.fromEntries(Object.entries(answer).filter(([name]) => name !== 'active'));
    return verified(claims, () => this.answers.peek(digest) === answer);
  }

  private async ask(token: string, digest: string): Promise<Answer> {
    const running = this.pending.get(digest);
    if (running) return running;
    if (this.pending.size >= MAX_PENDING)
      throw new ProviderUnavailable('too many tokens wait to be introspected');
    if (this.failure && performance.now() - this.failure.at < FAILURE_PAUSE_MS) throw this.failure.error;
    const asking = this.introspect(token).finally(() => this.pending.delete(digest));
    this.pending.set(digest, asking);
    const answer = await asking.catch((error: unknown) => {
      if (error instanceof ProviderUnavailable) this.failure = { error, at: performance.now() };
      throw error;
    });
    this.failure = undefined;
    // Whatever else is in it, a refusal says one thing only.
    const kept = answer['active'] === true ? answer : INACTIVE;
    this.answers.set(digest, kept);
    return kept;
  }

  private async introspect(token: string): Promise<Answer> {
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
      throw new ProviderUnavailable(`${introspectionUrl}: the answer is no introspection response`);
    return answer as Answer;
  }
}

function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}

/** RFC 6749 §2.3.1: both halves are form-encoded before they are joined. */
function basic(clientId: string, clientSecret: string): string {
  const encode = (text: string) => new URLSearchParams([['', text]]).toString().slice(1);
  return `Basic ${Buffer.from(`${encode(clientId)}:${encode(clientSecret)}`).toString('base64')}`;
}
