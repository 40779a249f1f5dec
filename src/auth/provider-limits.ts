import { LRUCache } from 'lru-cache';
import { Quota } from '../limits/quota.js';
import { ProviderUnavailable } from './provider-http.js';
import { FAILURE_PAUSE_MS } from './provider-keys.js';

/** Maximum concurrent lookups of tokens that the provider has accepted before. */
const MAX_ACCEPTED = 64;
/** Maximum concurrent lookups of all other tokens. */
const MAX_UNKNOWN = 192;
const MAX_UNKNOWN_PER_CLIENT = 64;
/** Number of distinct tokens, or clients, that must fail before a circuit opens. */
const FAILURE_THRESHOLD = 3;
/** Maximum number of cached client circuits. */
const MAX_CLIENTS = 1_000;

/** The client has too many lookups in flight. Unrelated to the validity of the token. */
export class ProviderLimitExceeded extends Error {
  override readonly name = 'ProviderLimitExceeded';
}

/** A request to a provider about one token, for introspection or for the groups of the token's holder. */
export interface TokenLookup {
  readonly digest: string;
  /** Whether the provider has accepted this token before. */
  readonly known: boolean;
  /** Client that sent the token: see `clientKeyOf`. */
  readonly clientKey: string;
}

/**
 * Limits concurrent lookups at one provider, and stops them while a circuit is open.
 *
 * Anyone can make up tokens, and some tokens may make the provider fail. Each client therefore has its own circuit for
 * unknown tokens, and a shared circuit opens only when lookups of several clients fail. Tokens that the provider has
 * accepted before are genuine, so they have a separate quota and circuit.
 */
export class ProviderLimits {
  private readonly accepted = new Quota({ total: MAX_ACCEPTED });
  private readonly unknown = new Quota({ total: MAX_UNKNOWN, perKey: MAX_UNKNOWN_PER_CLIENT });
  private readonly acceptedCircuit = newCircuit();
  private readonly allClientsCircuit = newCircuit();
  private readonly clientCircuits = new LRUCache<string, CircuitBreaker>({ max: MAX_CLIENTS });

  constructor(private readonly purpose: 'introspection' | 'groups') {}

  /**
   * Sends a lookup within the limits.
   *
   * @param send must reject with ProviderUnavailable when the provider does not respond.
   * @throws ProviderUnavailable, ProviderLimitExceeded
   */
  async run<T>(lookup: TokenLookup, send: () => Promise<T>): Promise<T> {
    const circuits = this.circuitsFor(lookup);
    for (const { breaker } of circuits) {
      const error = breaker.openError();
      if (error) throw error;
    }
    const quota = this.acquire(lookup);
    for (const { breaker } of circuits) breaker.started();
    try {
      const answer = await send();
      this.succeeded(circuits);
      return answer;
    } catch (error) {
      if (mayConcernOneToken(error)) this.succeeded(circuits);
      else for (const { breaker, key } of circuits) breaker.failed(key, asError(error));
      throw error;
    } finally {
      quota.release(lookup.clientKey);
    }
  }

  private circuitsFor({ digest, known, clientKey }: TokenLookup): { breaker: CircuitBreaker; key: string }[] {
    if (known) return [{ breaker: this.acceptedCircuit, key: digest }];
    const clientCircuit = this.clientCircuits.get(clientKey) ?? newCircuit();
    this.clientCircuits.set(clientKey, clientCircuit);
    return [
      { breaker: clientCircuit, key: digest },
      { breaker: this.allClientsCircuit, key: clientKey },
    ];
  }

  // Any response shows that the provider works, whichever client sent the token.
  private succeeded(circuits: readonly { breaker: CircuitBreaker }[]): void {
    for (const { breaker } of circuits) breaker.succeeded();
    this.allClientsCircuit.succeeded();
  }

  private acquire({ known, clientKey }: TokenLookup): Quota {
    const quota = known ? this.accepted : this.unknown;
    if (quota.tryAcquire(clientKey)) return quota;
    if (!known && quota.held(clientKey) >= MAX_UNKNOWN_PER_CLIENT)
      throw new ProviderLimitExceeded(`too many tokens from this client are waiting for ${this.purpose}`);
    throw new ProviderUnavailable(`too many tokens are waiting for ${this.purpose}`, null, false);
  }
}

function newCircuit(): CircuitBreaker {
  return new CircuitBreaker(FAILURE_THRESHOLD, FAILURE_PAUSE_MS);
}

// A provider that rejects one token with a 4xx status still serves others; 429 affects all tokens.
function mayConcernOneToken(error: unknown): boolean {
  if (!(error instanceof ProviderUnavailable)) return false;
  const { status } = error;
  return status !== null && status >= 400 && status < 500 && status !== 429;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new ProviderUnavailable('the lookup failed', null, false);
}

/**
 * Circuit breaker (M. Nygard, Release It!). It opens once `threshold` different keys have failed since the last
 * success, and refuses calls for `pauseMs`. Then it is half-open: one probe call goes through, and its outcome closes
 * or reopens the circuit. One made-up token would open the breakers of `cockatiel` and `opossum` for everyone.
 */
export class CircuitBreaker {
  private readonly failedKeys = new Set<string>();
  private open: { readonly error: Error; readonly until: number; probing: boolean } | undefined;

  /**
   * @param threshold number of different keys that must fail, so that one broken key cannot open the circuit.
   * @param now monotonic clock, in milliseconds.
   */
  constructor(
    private readonly threshold: number,
    private readonly pauseMs: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Returns the error that opened the circuit; undefined while calls are allowed. */
  openError(): Error | undefined {
    return this.open && (this.open.probing || this.now() < this.open.until) ? this.open.error : undefined;
  }

  /** Records the start of a call; `succeeded` or `failed` must follow. */
  started(): void {
    if (this.open) this.open.probing = true;
  }

  succeeded(): void {
    this.failedKeys.clear();
    this.open = undefined;
  }

  failed(key: string, error: Error): void {
    this.failedKeys.add(key);
    if (this.failedKeys.size >= this.threshold)
      this.open = { error, until: this.now() + this.pauseMs, probing: false };
  }
}
