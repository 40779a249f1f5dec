import type { Request } from 'express';
import { LRUCache } from 'lru-cache';
import passport from 'passport';
import type { ProviderConfig } from '../../config/config.js';
import { tokenDigest } from '../bearer-token.js';
import type { Caller } from '../caller.js';
import { Introspection } from './introspection.js';
import { jwtStrategy, type VerifiedJwt } from './jwt.strategy.js';
import { KeySet } from './key-set.js';
import { ProviderHttp, ProviderUnavailable } from './provider-http.js';
import { keyFetcher } from './provider-keys.js';
import { jwtRefusal, type Refusal } from './token-claims.js';
import { readJwt, type UnverifiedJwt } from './unverified-jwt.js';

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
  | { readonly kind: 'accepted'; readonly caller: Caller }
  | { readonly kind: 'refused'; readonly attempts: readonly Attempt[] }
  /** At least one provider that might accept the token can't be reached. */
  | { readonly kind: 'unavailable'; readonly attempts: readonly Attempt[] };

interface Provider {
  readonly config: ProviderConfig;
  readonly http: ProviderHttp;
  /** Name of its strategy for JWTs. */
  readonly strategy: string;
  readonly introspection: Introspection | null;
}

/** One way in which one provider might accept a token. */
interface Check {
  readonly provider: ProviderConfig;
  readonly method: Attempt['method'];
  /** What rules the token out before anything is verified or asked. */
  readonly refusal: Refusal | null;
  /** @throws ProviderUnavailable */
  readonly run: () => Promise<Caller | Refusal>;
}

/** Finds out which of the configured providers vouches for a token: by its keys first, then by introspection (spec §5.2). */
export class TokenVerifier {
  private readonly passport = new passport.Passport();
  private readonly providers: readonly Provider[];
  private readonly verified = new LRUCache<string, VerifiedJwt>({
    maxSize: MAX_CACHED_CHARACTERS,
    ttl: CACHE_TTL_MS,
    // The clock is read each time: by default its last reading is used until a timer runs, which may be late.
    ttlResolution: 0,
  });

  constructor(providers: readonly ProviderConfig[], insecureUrls: boolean) {
    this.providers = providers.map((provider) => this.prepare(provider, insecureUrls));
  }

  /** @param token the bearer token of the request. */
  async verify(token: string, request: Request): Promise<Verdict> {
    const cached = this.verified.get(tokenDigest(token));
    if (cached && cached.expiresAt > Date.now() && cached.isCurrent())
      return { kind: 'accepted', caller: cached.caller };
    const attempts: Attempt[] = [];
    let unavailable = false;
    for (const { provider, method, refusal, run } of this.checks(token, request)) {
      const outcome = refusal ?? (await run().catch(asUnavailable));
      if (typeof outcome === 'string') attempts.push({ provider: provider.name, method, reason: outcome });
      else if (outcome instanceof ProviderUnavailable) {
        attempts.push({ provider: provider.name, method, reason: outcome.message });
        unavailable = true;
      } else return { kind: 'accepted', caller: outcome };
    }
    return { kind: unavailable ? 'unavailable' : 'refused', attempts };
  }

  async close(): Promise<void> {
    await Promise.all(this.providers.map(({ http }) => http.close()));
  }

  /** Every check that might accept the token, in order. */
  private checks(token: string, request: Request): Check[] {
    const jwt = readJwt(token);
    const byKeys = this.providers.map(({ config, strategy }): Check => ({
      provider: config,
      method: 'jwt',
      refusal: jwt ? jwtRefusal(jwt.payload, config, Date.now()) : 'the token is no JWT',
      run: () => this.verifyJwt(token, strategy, request),
    }));
    const introspecting = this.providers.flatMap(({ config, introspection }) =>
      introspection ? [{ config, introspection }] : [],
    );
    // One that has accepted the token already is enough: the others may be slow.
    const accepting = introspecting.filter(({ introspection }) => introspection.hasAccepted(token));
    const byIntrospection = (accepting.length > 0 ? accepting : introspecting).map(
      ({ config, introspection }): Check => ({
        provider: config,
        method: 'introspection',
        refusal: jwt ? introspectionRuledOut(jwt, config) : null,
        run: () => introspection.check(token),
      }),
    );
    return [...byKeys, ...byIntrospection];
  }

  // Answers of introspection are cached by Introspection itself, refusals too.
  private async verifyJwt(token: string, strategy: string, request: Request): Promise<Caller | Refusal> {
    const outcome = await this.authenticate(strategy, request);
    if (typeof outcome === 'string') return outcome;
    this.verified.set(tokenDigest(token), outcome, { size: token.length });
    return outcome.caller;
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

  private prepare(config: ProviderConfig, insecureUrls: boolean): Provider {
    const http = new ProviderHttp(config);
    const keys = new KeySet(keyFetcher(config, http, insecureUrls), () => performance.now());
    const strategy = `jwt:${config.name}`;
    this.passport.use(strategy, jwtStrategy(config, keys));
    const introspection = hasIntrospection(config) ? new Introspection(config, http) : null;
    return { config, http, strategy, introspection };
  }
}

function asUnavailable(error: unknown): ProviderUnavailable {
  if (error instanceof ProviderUnavailable) return error;
  throw error;
}

// A token that names its issuer is sent to that one only: another would learn it. And its own expiry holds whatever the
// provider answers.
function introspectionRuledOut({ payload }: UnverifiedJwt, { issuerUrl }: ProviderConfig): Refusal | null {
  if (payload['iss'] !== undefined && payload['iss'] !== issuerUrl) return 'the issuer is another one';
  const { exp } = payload;
  return typeof exp === 'number' && exp * 1000 <= Date.now() ? 'the token has expired' : null;
}

function hasIntrospection(
  provider: ProviderConfig,
): provider is ProviderConfig & { readonly introspectionUrl: string } {
  return provider.introspectionUrl !== undefined;
}
