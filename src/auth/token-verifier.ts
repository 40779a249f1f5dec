import { isDeepStrictEqual } from 'node:util';
import { Logger } from '@nestjs/common';
import type { Request } from 'express';
import { LRUCache } from 'lru-cache';
import passport from 'passport';
import { Strategy, type VerifiedCallback } from 'passport-jwt';
import type { Config, ProviderConfig } from '../config/config.js';
import { clientKeyOf } from '../http/request-context.js';
import { heapOverhead } from '../json/json-text.js';
import { tokenDigest, tokenFromRequest } from './bearer-token.js';
import type { Caller } from './caller.js';
import { ClaimsIncomplete } from './claim-mapping.js';
import { GroupsFetcher } from './groups-fetcher.js';
import { Introspection } from './introspection.js';
import { ProviderHttp } from './provider-http.js';
import { keyFetcher, type ProviderKey, ProviderKeys } from './provider-keys.js';
import { NoSubject, TokenCallers } from './token-callers.js';
import {
  expiryOf,
  introspectionRuledOut,
  jwtRefusal,
  readJwt,
  type Refusal,
  refusal,
  typeRefusal,
  type UnverifiedJwt,
} from './token-claims.js';
import {
  type Accepted,
  accepted,
  type TokenCheck,
  isCaller,
  isRefusal,
  type CheckedToken,
  runCheck,
  type TokenVerdict,
  verdictOf,
} from './verdict.js';

/** reference/authentication. Never `none` or HMAC: HMAC would accept a public key as the secret. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512'] as const;

/** Result of a successful verification. */
export interface VerifiedJwt {
  readonly claims: Readonly<Record<string, unknown>>;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** False once the provider has withdrawn the signing key. */
  readonly isCurrent: () => boolean;
}

/** jsonwebtoken's message for a token that another key signed. */
const WRONG_SIGNATURE = 'invalid signature';

// Ignores `jku`, `jwk` and `x5u`, because only the provider's own keys are trusted.
function headerRefusal(header: UnverifiedJwt['header']): Refusal | null {
  const { alg, kid, crit } = header;
  const refused = typeRefusal(header);
  if (refused) return refused;
  if (!ALGORITHMS.some((known) => known === alg))
    return refusal('the algorithm is not accepted', { value: alg });
  // RFC 7515 §4.1.11: unsupported extensions must be refused; none is supported here.
  if (crit !== undefined) return refusal('the header requires unsupported extensions');
  return kid === undefined || typeof kid === 'string'
    ? null
    : refusal('the key id is malformed', { value: kid });
}

/** Maximum time a verified JWT is cached; shorter if the JWT expires or its key is withdrawn. */
const CACHE_TTL_MS = 60_000;
/** Size of the cache, in characters of tokens and groups. */
const MAX_CACHED_CHARACTERS = 16 * 1024 * 1024;

interface Provider {
  readonly config: ProviderConfig;
  readonly connection: Connection;
  readonly callers: TokenCallers;
}

/** A provider's endpoints and their caches, which do not depend on its claim mapping. */
interface Connection {
  readonly http: ProviderHttp;
  readonly keys: ProviderKeys;
  readonly groups: GroupsFetcher | null;
  readonly introspection: Introspection | null;
}

type CachedCaller = Pick<VerifiedJwt, 'expiresAt' | 'isCurrent'> & Omit<Accepted, 'kind'>;

/**
 * Verifies tokens with the configured providers: first with their keys, then by introspection (reference/authentication). A provider with
 * `introspection: always` takes part only in the second step: introspection would decide in any case, whether its keys
 * verify the token or not.
 */
export class TokenVerifier {
  private readonly passport = new passport.Passport();
  private readonly logger = new Logger('auth');
  private readonly running = new Set<Promise<TokenVerdict>>();
  private providers: readonly Provider[];
  private readonly verified = new LRUCache<string, CachedCaller>({
    maxSize: MAX_CACHED_CHARACTERS,
    ttl: CACHE_TTL_MS,
    // Read the clock on every get(): by default lru-cache reuses a reading for a while.
    ttlResolution: 0,
  });

  constructor(
    providers: readonly ProviderConfig[],
    private readonly reach: Pick<Config, 'insecureUrls' | 'proxy'>,
  ) {
    this.providers = providers.map((config) => prepare(config, connect(config, reach)));
  }

  /**
   * Replaces the providers. A provider that differs only in its claim mapping keeps its keys; an unchanged one (the
   * same object) also keeps its cached callers and introspection responses.
   */
  replace(providers: readonly ProviderConfig[]): void {
    const before = this.providers;
    this.providers = providers.map((config) => {
      const known = before.find((one) => isSameConnection(one.config, config));
      if (known?.config === config) return known;
      known?.connection.introspection?.readClaimsOf(config);
      return prepare(config, known?.connection ?? connect(config, this.reach));
    });
    const kept = new Set(this.providers.map(({ connection }) => connection));
    const dropped = before.filter(({ connection }) => !kept.has(connection));
    Promise.allSettled(this.running)
      .then(() => Promise.all(dropped.map(({ connection }) => connection.http.close())))
      .catch((error: unknown) =>
        this.logger.warn({ err: error }, 'Connections to a provider were not closed'),
      );
  }

  /** The cached verdict on a JWT, if it is still valid. */
  private cachedVerdict(token: string): Accepted | undefined {
    const cached = this.verified.get(tokenDigest(token));
    if (!cached || cached.expiresAt <= Date.now() || !cached.isCurrent()) return undefined;
    if (!this.providers.some(({ config }) => config === cached.provider)) return undefined;
    return { kind: 'accepted', caller: cached.caller, provider: cached.provider };
  }

  /** @param request The request that carries the token; the passport strategies read it from there. */
  async verify(token: string, request: Request): Promise<TokenVerdict> {
    const cached = this.cachedVerdict(token);
    if (cached) return cached;
    const { providers } = this;
    const running = this.judge(token, request);
    this.running.add(running);
    const verdict = await running.finally(() => this.running.delete(running));
    // A reload may have replaced the keys and mappings that the verdict is based on.
    return providers === this.providers ? verdict : this.verify(token, request);
  }

  async close(): Promise<void> {
    await Promise.all(this.providers.map(({ connection }) => connection.http.close()));
  }

  private async judge(token: string, request: Request): Promise<TokenVerdict> {
    const jwt = readJwt(token);
    const outcomes: CheckedToken[] = [];
    for (const check of this.keyChecks(token, jwt, request)) {
      const outcome = await runCheck(check);
      if (isCaller(outcome.result)) return accepted(check, outcome.result);
      outcomes.push(outcome);
      // The signature is valid: introspection must not produce another caller, or one with fewer claims.
      if (outcome.result instanceof ClaimsIncomplete || outcome.result instanceof NoSubject)
        return verdictOf(outcomes, jwt);
    }
    const asked = await this.introspect(token, jwt, clientKeyOf(request));
    const last = asked.at(-1);
    return last && isCaller(last.result)
      ? accepted(last.check, last.result)
      : verdictOf([...outcomes, ...asked], jwt);
  }

  private keyChecks(token: string, jwt: UnverifiedJwt | null, request: Request): TokenCheck[] {
    const byKeys = this.providers.filter(({ config }) => config.introspection !== 'always');
    return byKeys.map((provider): TokenCheck => ({
      provider: provider.config,
      method: 'jwt',
      refusal: jwt ? jwtRefusal(jwt.payload, provider.config, Date.now()) : refusal('the token is not a JWT'),
      run: () => this.verifyJwt(token, provider, request),
    }));
  }

  // An opaque token is sent to several providers until one has accepted it, then only to that provider until it refuses.
  private async introspect(
    token: string,
    jwt: UnverifiedJwt | null,
    client: string,
  ): Promise<CheckedToken[]> {
    const asked = this.introspecting(token, jwt);
    const ask = (some: typeof asked) =>
      firstAccepted(
        some.map(({ config, introspection, callers }) => ({
          provider: config,
          method: 'introspection',
          refusal: jwt ? introspectionRuledOut(jwt, config) : null,
          run: () => introspection.check(token, jwt, client, callers),
        })),
      );
    const vouching = asked.filter(({ introspection }) => introspection.hasVouchedFor(token));
    const vouched = await ask(vouching);
    if (vouched.some(({ result }) => !isRefusal(result))) return vouched;
    const outcomes = await ask(asked);
    const last = outcomes.at(-1);
    if (last && isCaller(last.result))
      asked.find(({ config }) => config === last.check.provider)?.introspection.vouchFor(token);
    return outcomes;
  }

  /** Returns the providers to ask about a token. A token without an issuer is routed by `tokenPrefix`. */
  private introspecting(token: string, jwt: UnverifiedJwt | null) {
    const all = this.providers.flatMap(({ config, connection: { introspection }, callers }) =>
      introspection ? [{ config, introspection, callers }] : [],
    );
    if (jwt?.payload['iss'] !== undefined) return all;
    const named = all.filter(
      ({ config: { tokenPrefix } }) => tokenPrefix !== undefined && token.startsWith(tokenPrefix),
    );
    return named.length > 0 ? named : all.filter(({ config }) => config.tokenPrefix === undefined);
  }

  // Caches only JWTs; Introspection caches its own responses.
  private async verifyJwt(
    token: string,
    { config, connection, callers }: Provider,
    request: Request,
  ): Promise<Caller | Refusal> {
    const outcome = await this.authenticate(token, config, connection.keys, request);
    if ('reason' in outcome) return outcome;
    const { caller, until, size } = await callers.callerOf(token, outcome.claims, clientKeyOf(request));
    // The token may have expired while its groups were fetched.
    const refused = jwtRefusal(outcome.claims, config, Date.now());
    if (refused) return refused;
    const ttl = Math.min(CACHE_TTL_MS, until - performance.now());
    if (ttl > 0) {
      const { expiresAt, isCurrent } = outcome;
      const cached = { caller, expiresAt, isCurrent, provider: config };
      const weight = token.length + heapOverhead(outcome.claims) + size;
      this.verified.set(tokenDigest(token), cached, { size: weight, ttl });
    }
    return caller;
  }

  /** @throws ProviderUnavailable when the keys can't be fetched. */
  private async authenticate(
    token: string,
    config: ProviderConfig,
    keys: ProviderKeys,
    request: Request,
  ): Promise<VerifiedJwt | Refusal> {
    const { header } = readJwt(token) ?? { header: {} };
    const refused = headerRefusal(header);
    if (refused) return refused;
    const { alg, kid } = header as { alg: string; kid?: string };
    let isTried = false;
    const found = await keys.try(kid, alg, async (key) => {
      isTried = true;
      const outcome = await this.authenticateBy(key, config, request);
      if ('reason' in outcome) return outcome.reason === WRONG_SIGNATURE ? undefined : outcome;
      const { claims } = outcome;
      const expiresAt = expiryOf(Number(claims['exp']), config);
      return { claims, expiresAt, isCurrent: () => keys.holds(key) };
    });
    if (found) return found;
    return isTried ? refusal(WRONG_SIGNATURE) : refusal('the provider has no such key', { value: kid });
  }

  /** Verifies the signature with one key, then the claims of reference/authentication. */
  private authenticateBy(
    { key }: ProviderKey,
    config: ProviderConfig,
    request: Request,
  ): Promise<Pick<VerifiedJwt, 'claims'> | Refusal> {
    const strategy = new Strategy(
      {
        jwtFromRequest: tokenFromRequest,
        issuer: config.issuerUrl,
        audience: config.audience,
        algorithms: [...ALGORITHMS],
        jsonWebTokenOptions: { clockTolerance: config.clockToleranceMs / 1000 },
        // jsonwebtoken also accepts a KeyObject, which the types of passport-jwt omit.
        secretOrKey: key as unknown as string,
      },
      (claims: object, done: VerifiedCallback) => done(null, claims),
    );
    return new Promise((resolve, reject) => {
      const done = (error: unknown, claims: VerifiedJwt['claims'] | false | null, problem: unknown) => {
        if (error) reject(error);
        else if (!claims)
          resolve({ reason: problem instanceof Error ? problem.message : 'the token is refused' });
        else {
          // jsonwebtoken accepts tokens whose expiry is missing or absurdly late.
          const refused = jwtRefusal(claims, config, Date.now());
          resolve(refused ?? { claims });
        }
      };
      this.passport.authenticate(strategy, { session: false }, done)(request, request.res, reject);
    });
  }
}

function prepare(config: ProviderConfig, connection: Connection): Provider {
  return { config, connection, callers: new TokenCallers(config, connection.groups) };
}

function connect(
  config: ProviderConfig,
  { insecureUrls, proxy }: Pick<Config, 'insecureUrls' | 'proxy'>,
): Connection {
  const http = new ProviderHttp({ ...config, proxy });
  const keys = new ProviderKeys(keyFetcher(config, http, insecureUrls), () => performance.now());
  return {
    http,
    keys,
    groups: config.groups ? new GroupsFetcher(config, config.groups, http, insecureUrls) : null,
    introspection: hasIntrospection(config) ? new Introspection(config, http) : null,
  };
}

/** Settings that do not affect whether a provider accepts a token. */
const OTHER_SETTINGS = { claims: null, displayName: null, connectOrigins: null };

function isSameConnection(one: ProviderConfig, other: ProviderConfig): boolean {
  return isDeepStrictEqual({ ...one, ...OTHER_SETTINGS }, { ...other, ...OTHER_SETTINGS });
}

/**
 * Runs all checks concurrently. Resolves with the outcomes in the order of the checks, up to the first that is not a
 * refusal: a provider may accept a token only if all earlier ones have refused it.
 */
async function firstAccepted(checks: readonly TokenCheck[]): Promise<CheckedToken[]> {
  const runs = checks.map(runCheck);
  // Later checks are not awaited.
  for (const run of runs) run.catch(() => undefined);
  const outcomes: CheckedToken[] = [];
  for (const run of runs) {
    const outcome = await run;
    outcomes.push(outcome);
    if (!isRefusal(outcome.result)) break;
  }
  return outcomes;
}

function hasIntrospection(
  provider: ProviderConfig,
): provider is ProviderConfig & { readonly introspectionUrl: string } {
  return provider.introspectionUrl !== undefined;
}
