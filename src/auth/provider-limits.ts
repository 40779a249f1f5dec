import { LRUCache } from 'lru-cache';
import { CircuitBreaker } from '../limits/circuit-breaker.js';
import { ProviderUnavailable } from './provider-http.js';
import { FAILURE_PAUSE_MS } from './provider-keys.js';

/** Questions about tokens that a provider has vouched for before: a share of their own, which nobody else can use up. */
const MAX_KNOWN = 64;
/** Questions about all other tokens. */
const MAX_UNKNOWN = 192;
/** Of those, questions for one client. */
const MAX_OF_CLIENT = 64;
/** Different tokens, or clients, that must fail before a circuit opens. */
const FAILURES = 3;
/** Clients whose failures are remembered. */
const MAX_CLIENTS = 1_000;

/** The client has as many questions under way as one may have. Says nothing about the token. */
export class ProviderLimitExceeded extends Error {
  override readonly name = 'ProviderLimitExceeded';
}

/** A question to a provider about a token: is it good, which groups does its holder have? */
export interface Question {
  /** Digest of the token. */
  readonly digest: string;
  /** Has the provider vouched for this token before? */
  readonly known: boolean;
  /** Who sent the token: see `clientKeyOf`. */
  readonly client: string;
}

/**
 * Which questions one provider may be asked now: so many at a time, and none while a circuit is open.
 *
 * Tokens can be made up, and some of them might make the provider fail. So there is a circuit for the tokens of each
 * client, and one for all clients that only the failures of several of them open. Tokens that the provider has vouched for
 * before were not made up: neither the share nor the failures of the others concern them.
 */
export class ProviderLimits {
  private knownUnderWay = 0;
  private unknownUnderWay = 0;
  private readonly underWay = new Map<string, number>();
  private readonly circuitOfKnown = aCircuit();
  private readonly circuitOfClients = aCircuit();
  private readonly circuits = new LRUCache<string, CircuitBreaker>({ max: MAX_CLIENTS });

  /** @param what tokens wait for, in words for the log. */
  constructor(private readonly what = 'to be introspected') {}

  /**
   * Asks, if that is possible now.
   *
   * @param ask must reject with a ProviderUnavailable when there is no answer.
   * @throws ProviderUnavailable, ProviderLimitExceeded
   */
  async admit<T>(question: Question, ask: () => Promise<T>): Promise<T> {
    const circuits = this.circuitsFor(question);
    const refusal = circuits.map(({ breaker }) => breaker.refusal()).find((error) => error !== undefined);
    if (refusal) throw refusal;
    this.count(question);
    for (const { breaker } of circuits) breaker.begins();
    try {
      const answer = await ask();
      this.succeeded(circuits);
      return answer;
    } catch (error) {
      if (mayConcernOneToken(error)) this.succeeded(circuits);
      else for (const { breaker, name } of circuits) breaker.failed(name, asError(error));
      throw error;
    } finally {
      this.discount(question);
    }
  }

  private circuitsFor({ digest, known, client }: Question): { breaker: CircuitBreaker; name: string }[] {
    if (known) return [{ breaker: this.circuitOfKnown, name: digest }];
    const own = this.circuits.get(client) ?? aCircuit();
    this.circuits.set(client, own);
    return [
      { breaker: own, name: digest },
      { breaker: this.circuitOfClients, name: client },
    ];
  }

  // Whoever was answered, the provider answers.
  private succeeded(circuits: readonly { breaker: CircuitBreaker }[]): void {
    for (const { breaker } of circuits) breaker.succeeded();
    this.circuitOfClients.succeeded();
  }

  private count({ known, client }: Question): void {
    const ofClient = this.underWay.get(client) ?? 0;
    if (!known && ofClient >= MAX_OF_CLIENT)
      throw new ProviderLimitExceeded(`too many tokens of this client wait ${this.what}`);
    if (known ? this.knownUnderWay >= MAX_KNOWN : this.unknownUnderWay >= MAX_UNKNOWN)
      throw new ProviderUnavailable(`too many tokens wait ${this.what}`, null, false);
    if (known) this.knownUnderWay += 1;
    else {
      this.unknownUnderWay += 1;
      this.underWay.set(client, ofClient + 1);
    }
  }

  private discount({ known, client }: Question): void {
    if (known) this.knownUnderWay -= 1;
    else {
      this.unknownUnderWay -= 1;
      const left = (this.underWay.get(client) ?? 1) - 1;
      if (left > 0) this.underWay.set(client, left);
      else this.underWay.delete(client);
    }
  }
}

function aCircuit(): CircuitBreaker {
  return new CircuitBreaker(FAILURES, FAILURE_PAUSE_MS, () => performance.now());
}

// One token that the provider does not take must not keep the others from being checked. 429 is about all of them.
function mayConcernOneToken(error: unknown): boolean {
  if (!(error instanceof ProviderUnavailable)) return false;
  const { status } = error;
  return status !== null && status >= 400 && status < 500 && status !== 429;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new ProviderUnavailable('the question failed', null, false);
}
