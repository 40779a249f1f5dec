import type { Request } from 'express';
import { LRUCache } from 'lru-cache';
import passport from 'passport';
import type { Config, ProviderConfig } from '../config/config.js';
import { clientKeyOf } from '../http/client-address.js';
import { tokenDigest } from './bearer-token.js';
import type { Caller } from './caller.js';
import { ClaimsIncomplete } from './claim-mapping.js';
import { GroupsFetcher } from './groups-fetcher.js';
import { Introspection } from './introspection.js';
import { jwtStrategy, type VerifiedJwt } from './jwt.strategy.js';
import { ProviderHttp, ProviderUnavailable } from './provider-http.js';
import { keyFetcher, ProviderKeys } from './provider-keys.js';
import { ProviderLimitExceeded } from './provider-limits.js';
import { TokenCallers } from './token-callers.js';
import {
  introspectionRuledOut,
  jwtRefusal,
  readJwt,
  type Refusal,
  type UnverifiedJwt,
} from './token-claims.js';

/** Longest time a verified JWT is cached; less when it expires or its key goes. */
const CACHE_TTL_MS = 60_000;
/** Memory for cached JWTs, counted by the length of the token. */
const MAX_CACHED_CHARACTERS = 16 * 1024 * 1024;

/** Why one provider did not accept a token, in words for the log. */
export interface Attempt {
  readonly provider: string;
  readonly method: 'jwt' | 'introspection';
  readonly reason: string;
}

export type Verdict =
  | { readonly kind: 'accepted'; readonly caller: Caller; readonly provider: string }
  | { readonly kind: 'refused'; readonly attempts: readonly Attempt[] }
  /** It is good, and a part of its claims can't be had. */
  | { readonly kind: 'incomplete'; readonly attempts: readonly Attempt[] }
  /** At least one provider that might accept the token can't be reached. */
  | { readonly kind: 'unavailable'; readonly attempts: readonly Attempt[] }
  /** At least one was not asked, because this client has too many questions under way. */
  | { readonly kind: 'limited'; readonly attempts: readonly Attempt[] };

export type Accepted = Extract<Verdict, { kind: 'accepted' }>;

interface Provider {
  readonly config: ProviderConfig;
  readonly http: ProviderHttp;
  /** Name of its strategy for JWTs. */
  readonly strategy: string;
  readonly callers: TokenCallers;
  readonly introspection: Introspection | null;
}

/** One way in which one provider might accept a token. */
interface Check {
  readonly provider: ProviderConfig;
  readonly method: Attempt['method'];
  /** What rules the token out before anything is verified or asked. */
  readonly refusal: Refusal | null;
  /** @throws ProviderUnavailable, ProviderLimitExceeded, ClaimsIncomplete */
  readonly run: () => Promise<Caller | Refusal>;
}

/** How a check ended. */
interface Outcome {
  readonly check: Check;
  readonly result: Caller | Refusal | NotAsked;
}

type NotAsked = ProviderUnavailable | ProviderLimitExceeded | ClaimsIncomplete;

/** What is cached of a JWT. */
interface CachedCaller extends Pick<VerifiedJwt, 'expiresAt' | 'isCurrent'> {
  readonly provider: string;
  readonly caller: Caller;
}

/** Finds out which of the configured providers vouches for a token: by its keys first, then by introspection (spec §5.2). */
export class TokenVerifier {
  private readonly passport = new passport.Passport();
  private readonly providers: readonly Provider[];
  private readonly verified = new LRUCache<string, CachedCaller>({
    maxSize: MAX_CACHED_CHARACTERS,
    ttl: CACHE_TTL_MS,
    // The clock is read each time: by default its last reading is used until a timer runs, which may be late.
    ttlResolution: 0,
  });

  constructor(providers: readonly ProviderConfig[], reach: Pick<Config, 'insecureUrls' | 'proxy'>) {
    this.providers = providers.map((provider) => this.prepare(provider, reach));
  }

  /** Who vouches for the token, where that is known and still holds. */
  remembered(token: string): Accepted | undefined {
    const cached = this.verified.get(tokenDigest(token));
    if (!cached || cached.expiresAt <= Date.now() || !cached.isCurrent()) return undefined;
    return { kind: 'accepted', caller: cached.caller, provider: cached.provider };
  }

  /** @param token the bearer token of the request. */
  async verify(token: string, request: Request): Promise<Verdict> {
    const known = this.remembered(token);
    if (known) return known;
    const jwt = readJwt(token);
    const outcomes: Outcome[] = [];
    for (const check of this.keyChecks(token, jwt, request)) {
      const outcome = await outcomeOf(check);
      if (isCaller(outcome.result)) return accepted(check, outcome.result);
      outcomes.push(outcome);
      // The provider vouches for the token. That its groups are not to be had must not make another caller of it.
      if (outcome.result instanceof ClaimsIncomplete) return verdictOf(outcomes);
    }
    const asked = await firstAccepted(this.introspectionChecks(token, jwt, clientKeyOf(request)));
    return 'accepted' in asked ? asked.accepted : verdictOf([...outcomes, ...asked.outcomes]);
  }

  async close(): Promise<void> {
    await Promise.all(this.providers.map(({ http }) => http.close()));
  }

  private keyChecks(token: string, jwt: UnverifiedJwt | null, request: Request): Check[] {
    return this.providers.map((provider): Check => ({
      provider: provider.config,
      method: 'jwt',
      refusal: jwt ? jwtRefusal(jwt.payload, provider.config, Date.now()) : 'the token is no JWT',
      run: () => this.verifyJwt(token, provider, request),
    }));
  }

  // An opaque token is sent to all that might have issued it, until one has said that it has.
  private introspectionChecks(token: string, jwt: UnverifiedJwt | null, client: string): Check[] {
    const introspecting = this.providers.flatMap(({ config, introspection }) =>
      introspection ? [{ config, introspection }] : [],
    );
    const vouching = introspecting.filter(({ introspection }) => introspection.hasVouchedFor(token));
    return (vouching.length > 0 ? vouching : introspecting).map(({ config, introspection }) => ({
      provider: config,
      method: 'introspection',
      refusal: jwt ? introspectionRuledOut(jwt, config) : null,
      run: () => introspection.check(token, client),
    }));
  }

  // Answers of introspection are cached by Introspection itself, refusals too.
  private async verifyJwt(
    token: string,
    { config, strategy, callers }: Provider,
    request: Request,
  ): Promise<Caller | Refusal> {
    const outcome = await this.authenticate(strategy, request);
    if (typeof outcome === 'string') return outcome;
    const { caller, until, size } = await callers.callerOf(token, outcome.claims, clientKeyOf(request));
    // Groups take time.
    const refusal = jwtRefusal(outcome.claims, config, Date.now());
    if (refusal !== null) return refusal;
    const ttl = Math.min(CACHE_TTL_MS, until - performance.now());
    if (ttl > 0) {
      const { expiresAt, isCurrent } = outcome;
      const cached = { caller, expiresAt, isCurrent, provider: config.name };
      this.verified.set(tokenDigest(token), cached, { size: token.length + size, ttl });
    }
    return caller;
  }

  private authenticate(strategy: string, request: Request): Promise<VerifiedJwt | Refusal> {
    return new Promise((resolve, reject) => {
      const done = (error: unknown, verified: VerifiedJwt | false | null, problem: unknown) => {
        if (error) reject(error);
        else if (verified) resolve(verified);
        else if (problem instanceof ProviderUnavailable) reject(problem);
        else resolve(problem instanceof Error ? problem.message : 'the token is refused');
      };
      this.passport.authenticate(strategy, { session: false }, done)(request, request.res, reject);
    });
  }

  private prepare(
    config: ProviderConfig,
    { insecureUrls, proxy }: Pick<Config, 'insecureUrls' | 'proxy'>,
  ): Provider {
    const http = new ProviderHttp({ ...config, proxy });
    const keys = new ProviderKeys(keyFetcher(config, http, insecureUrls), () => performance.now());
    const strategy = `jwt:${config.name}`;
    this.passport.use(strategy, jwtStrategy(config, keys));
    const groups = config.groups ? new GroupsFetcher(config, config.groups, http, insecureUrls) : null;
    const callers = new TokenCallers(config, groups);
    const introspection = hasIntrospection(config) ? new Introspection(config, http, callers) : null;
    return { config, http, strategy, callers, introspection };
  }
}

async function outcomeOf(check: Check): Promise<Outcome> {
  try {
    return { check, result: check.refusal ?? (await check.run()) };
  } catch (error) {
    if (isNotAsked(error)) return { check, result: error };
    throw error;
  }
}

/**
 * Runs all checks at once: the first that accepts decides, so that a provider which is slow holds up no other. Without one,
 * the end of each, in their order.
 */
function firstAccepted(checks: readonly Check[]): Promise<{ accepted: Accepted } | { outcomes: Outcome[] }> {
  return new Promise((resolve, reject) => {
    const ends = checks.map(async (check) => {
      const outcome = await outcomeOf(check);
      if (isCaller(outcome.result)) resolve({ accepted: accepted(check, outcome.result) });
      return outcome;
    });
    Promise.all(ends).then((outcomes) => resolve({ outcomes }), reject);
  });
}

function accepted({ provider }: Check, caller: Caller): Accepted {
  return { kind: 'accepted', caller, provider: provider.name };
}

/** Of checks none of which has accepted the token. */
function verdictOf(outcomes: readonly Outcome[]): Verdict {
  const attempts = outcomes.map(({ check, result }): Attempt => {
    const reason = result instanceof Error ? result.message : String(result);
    return { provider: check.provider.name, method: check.method, reason };
  });
  const kinds = outcomes.map(({ result }) => kindOf(result));
  const kind = (['unavailable', 'limited', 'incomplete'] as const).find((one) => kinds.includes(one));
  return { kind: kind ?? 'refused', attempts };
}

function kindOf(result: Outcome['result']): Exclude<Verdict['kind'], 'accepted'> {
  if (result instanceof ClaimsIncomplete) return result.why;
  if (result instanceof ProviderUnavailable) return 'unavailable';
  return result instanceof ProviderLimitExceeded ? 'limited' : 'refused';
}

function isNotAsked(error: unknown): error is NotAsked {
  return [ProviderUnavailable, ProviderLimitExceeded, ClaimsIncomplete].some((kind) => error instanceof kind);
}

function isCaller(result: Outcome['result']): result is Caller {
  return typeof result !== 'string' && !(result instanceof Error);
}

function hasIntrospection(
  provider: ProviderConfig,
): provider is ProviderConfig & { readonly introspectionUrl: string } {
  return provider.introspectionUrl !== undefined;
}
