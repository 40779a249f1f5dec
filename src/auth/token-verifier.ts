import { isDeepStrictEqual } from 'node:util';
import { Logger } from '@nestjs/common';
import type { Request } from 'express';
import { LRUCache } from 'lru-cache';
import passport from 'passport';
import { Strategy, type VerifiedCallback } from 'passport-jwt';
import type { Config, ProviderConfig } from '../config/config.js';
import { clientKeyOf } from '../http/request-context.js';
import { tokenDigest, tokenFromRequest } from './bearer-token.js';
import type { Caller } from './caller.js';
import { ClaimsIncomplete } from './claim-mapping.js';
import { GroupsFetcher } from './groups-fetcher.js';
import { Introspection } from './introspection.js';
import { ProviderHttp, ProviderUnavailable } from './provider-http.js';
import { keyFetcher, type ProviderKey, ProviderKeys } from './provider-keys.js';
import { ProviderLimitExceeded } from './provider-limits.js';
import { NoSubject, TokenCallers } from './token-callers.js';
import {
  clientIn,
  type Expected,
  expiryOf,
  failedCheck,
  introspectionRuledOut,
  jwtRefusal,
  readJwt,
  type Refusal,
  refusal,
  shownClaim,
  typeRefusal,
  type UnverifiedJwt,
} from './token-claims.js';

/** contract §8. Never `none` or HMAC: HMAC would accept a public key as the secret. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512'] as const;

/** Result of a successful verification. */
export interface VerifiedJwt {
  readonly claims: Readonly<Record<string, unknown>>;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** False once the provider has withdrawn the signing key. */
  readonly isCurrent: () => boolean;
}

/**
 * Creates the passport strategy for JWTs of one provider: verifies the signature, then the claims of contract §8. Fails with
 * an Error whose message is the reason, or with ProviderUnavailable when the keys can't be fetched.
 */
function jwtStrategy(expected: Expected, keys: ProviderKeys): Strategy {
  const usedKeys = new WeakMap<object, ProviderKey>();
  return new Strategy(
    {
      jwtFromRequest: tokenFromRequest,
      issuer: expected.issuerUrl,
      audience: expected.audience,
      algorithms: [...ALGORITHMS],
      jsonWebTokenOptions: { clockTolerance: expected.clockToleranceMs / 1000 },
      passReqToCallback: true,
      secretOrKeyProvider: (request: Request, token: string, done) => {
        findKey(token, keys).then(
          (found) => {
            usedKeys.set(request, found);
            // jsonwebtoken also accepts a KeyObject, which the types of passport-jwt omit.
            done(null, found.key as unknown as string);
          },
          (error: unknown) => done(error),
        );
      },
    },
    (request: Request, payload: Record<string, unknown>, done: VerifiedCallback) => {
      // jsonwebtoken accepts tokens whose expiry is missing or absurdly late.
      const refused = jwtRefusal(payload, expected, Date.now());
      const key = usedKeys.get(request);
      if (refused || !key)
        return done(null, false, new TokenRefused(refused ?? refusal('the signing key was withdrawn')));
      const verified: VerifiedJwt = {
        claims: payload,
        expiresAt: expiryOf(Number(payload['exp']), expected),
        isCurrent: () => keys.holds(key),
      };
      done(null, verified);
    },
  );
}

// Ignores `jku`, `jwk` and `x5u`, because only the provider's own keys are trusted.
async function findKey(token: string, keys: ProviderKeys): Promise<ProviderKey> {
  const { header } = readJwt(token) ?? { header: {} };
  const { alg, kid, crit } = header as Record<string, unknown>;
  const refused = typeRefusal(header);
  if (refused) throw new TokenRefused(refused);
  if (!ALGORITHMS.some((known) => known === alg))
    throw new TokenRefused(refusal('the algorithm is not accepted', { value: alg }));
  // RFC 7515 §4.1.11: unsupported extensions must be refused; none is supported here.
  if (crit !== undefined) throw new TokenRefused(refusal('the header requires unsupported extensions'));
  if (kid !== undefined && typeof kid !== 'string')
    throw new TokenRefused(refusal('the key id is malformed', { value: kid }));
  const key = await keys.find(kid, alg as string);
  if (!key) throw new TokenRefused(refusal('the provider has no such key', { value: kid }));
  return key;
}

class TokenRefused extends Error {
  override readonly name = 'TokenRefused';

  constructor(readonly refusal: Refusal) {
    super(refusal.reason);
  }
}

/** Maximum time a verified JWT is cached; shorter if the JWT expires or its key is withdrawn. */
const CACHE_TTL_MS = 60_000;
/** Size of the cache, in characters of tokens and groups. */
const MAX_CACHED_CHARACTERS = 16 * 1024 * 1024;

/** Why one provider did not accept a token, for the log and the audit trail. */
export interface Attempt extends Refusal {
  readonly provider: string;
  readonly method: 'jwt' | 'introspection';
  /** The check that failed, in one word. */
  readonly check: string;
}

/** Whom a refused token claims to be from. Nobody has verified this. */
export interface ClaimedOrigin {
  readonly issuer?: string;
  readonly client?: string;
}

export type Verdict =
  | {
      readonly kind: 'accepted';
      readonly caller: Caller;
      readonly provider: Pick<ProviderConfig, 'name' | 'issuerUrl'>;
    }
  | {
      /**
       * - `no_subject`: the token is valid, but names neither a subject nor a client.
       * - `incomplete`: the token is valid, but its claims are incomplete.
       * - `unavailable`: at least one provider that might accept the token is unavailable.
       * - `limited`: at least one provider was skipped, because the client has too many lookups in progress.
       */
      readonly kind: 'refused' | 'no_subject' | 'incomplete' | 'unavailable' | 'limited';
      readonly attempts: readonly Attempt[];
      readonly claimed: ClaimedOrigin;
    };

export type Accepted = Extract<Verdict, { kind: 'accepted' }>;
export type NotAccepted = Exclude<Verdict, Accepted>;

interface Provider {
  readonly config: ProviderConfig;
  readonly connection: Connection;
  readonly callers: TokenCallers;
}

/** A provider's endpoints and their caches, which do not depend on its claim mapping. */
interface Connection {
  readonly http: ProviderHttp;
  readonly strategy: Strategy;
  readonly groups: GroupsFetcher | null;
  readonly introspection: Introspection | null;
}

/** One method by which one provider might accept a token. */
interface Check {
  readonly provider: ProviderConfig;
  readonly method: Attempt['method'];
  /** Why the token is refused without verifying it or sending a request; null if it must be checked. */
  readonly refusal: Refusal | null;
  /** @throws ProviderUnavailable, ProviderLimitExceeded, NoSubject, ClaimsIncomplete */
  readonly run: () => Promise<Caller | Refusal>;
}

interface Outcome {
  readonly check: Check;
  readonly result: Caller | Refusal | Unverified;
}

type Unverified = ProviderUnavailable | ProviderLimitExceeded | NoSubject | ClaimsIncomplete;

type CachedCaller = Pick<VerifiedJwt, 'expiresAt' | 'isCurrent'> & Omit<Accepted, 'kind'>;

/**
 * Verifies tokens with the configured providers: first with their keys, then by introspection (spec §5.2). A provider with
 * `introspection: always` takes part only in the second step: introspection would decide in any case, whether its keys
 * verify the token or not.
 */
export class TokenVerifier {
  private readonly passport = new passport.Passport();
  private readonly logger = new Logger('auth');
  private readonly running = new Set<Promise<Verdict>>();
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
   * Judges tokens by these providers from now on. A provider that differs only in what is made of its claims keeps its keys
   * and caches; one that is the same object keeps its cached callers too.
   */
  replace(providers: readonly ProviderConfig[]): void {
    const before = this.providers;
    this.providers = providers.map((config) => {
      const known = before.find((one) => isSameConnection(one.config, config));
      if (known?.config === config) return known;
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
  cachedVerdict(token: string): Accepted | undefined {
    const cached = this.verified.get(tokenDigest(token));
    if (!cached || cached.expiresAt <= Date.now() || !cached.isCurrent()) return undefined;
    if (!this.providers.some(({ config }) => config === cached.provider)) return undefined;
    return { kind: 'accepted', caller: cached.caller, provider: cached.provider };
  }

  /** @param request The request that carries the token; the passport strategies read it from there. */
  async verify(token: string, request: Request): Promise<Verdict> {
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

  private async judge(token: string, request: Request): Promise<Verdict> {
    const jwt = readJwt(token);
    const outcomes: Outcome[] = [];
    for (const check of this.keyChecks(token, jwt, request)) {
      const outcome = await outcomeOf(check);
      if (isCaller(outcome.result)) return accepted(check, outcome.result);
      outcomes.push(outcome);
      // The signature is valid: introspection must not produce another caller, or one with fewer claims.
      if (outcome.result instanceof ClaimsIncomplete || outcome.result instanceof NoSubject)
        return verdictOf(outcomes, jwt);
    }
    const asked = await firstAccepted(this.introspectionChecks(token, jwt, clientKeyOf(request)));
    return 'accepted' in asked ? asked.accepted : verdictOf([...outcomes, ...asked.outcomes], jwt);
  }

  private keyChecks(token: string, jwt: UnverifiedJwt | null, request: Request): Check[] {
    const byKeys = this.providers.filter(({ config }) => config.introspection !== 'always');
    return byKeys.map((provider): Check => ({
      provider: provider.config,
      method: 'jwt',
      refusal: jwt ? jwtRefusal(jwt.payload, provider.config, Date.now()) : refusal('the token is not a JWT'),
      run: () => this.verifyJwt(token, provider, request),
    }));
  }

  // An opaque token is sent to all providers until one has accepted it, then only to that provider.
  private introspectionChecks(token: string, jwt: UnverifiedJwt | null, client: string): Check[] {
    const introspecting = this.providers.flatMap(({ config, connection: { introspection }, callers }) =>
      introspection ? [{ config, introspection, callers }] : [],
    );
    const vouching = introspecting.filter(({ introspection }) => introspection.hasVouchedFor(token));
    return (vouching.length > 0 ? vouching : introspecting).map(({ config, introspection, callers }) => ({
      provider: config,
      method: 'introspection',
      refusal: jwt ? introspectionRuledOut(jwt, config) : null,
      run: () => introspection.check(token, jwt, client, callers),
    }));
  }

  // Caches only JWTs; Introspection caches its own responses.
  private async verifyJwt(
    token: string,
    { config, connection, callers }: Provider,
    request: Request,
  ): Promise<Caller | Refusal> {
    const outcome = await this.authenticate(connection.strategy, request);
    if ('reason' in outcome) return outcome;
    const { caller, until, size } = await callers.callerOf(token, outcome.claims, clientKeyOf(request));
    // The token may have expired while its groups were fetched.
    const refused = jwtRefusal(outcome.claims, config, Date.now());
    if (refused) return refused;
    const ttl = Math.min(CACHE_TTL_MS, until - performance.now());
    if (ttl > 0) {
      const { expiresAt, isCurrent } = outcome;
      const cached = { caller, expiresAt, isCurrent, provider: config };
      this.verified.set(tokenDigest(token), cached, { size: token.length + size, ttl });
    }
    return caller;
  }

  private authenticate(strategy: Strategy, request: Request): Promise<VerifiedJwt | Refusal> {
    return new Promise((resolve, reject) => {
      const done = (error: unknown, verified: VerifiedJwt | false | null, problem: unknown) => {
        if (error) reject(error);
        else if (verified) resolve(verified);
        else if (problem instanceof ProviderUnavailable) reject(problem);
        else if (problem instanceof TokenRefused) resolve(problem.refusal);
        else resolve({ reason: problem instanceof Error ? problem.message : 'the token is refused' });
      };
      // Passport adds the callbacks of a request to the strategy.
      const own = Object.create(strategy) as Strategy;
      this.passport.authenticate(own, { session: false }, done)(request, request.res, reject);
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
    strategy: jwtStrategy(config, keys),
    groups: config.groups ? new GroupsFetcher(config, config.groups, http, insecureUrls) : null,
    introspection: hasIntrospection(config) ? new Introspection(config, http) : null,
  };
}

/** Settings that do not affect whether a provider accepts a token. */
const OTHER_SETTINGS = { claims: null, displayName: null, connectOrigins: null };

function isSameConnection(one: ProviderConfig, other: ProviderConfig): boolean {
  return isDeepStrictEqual({ ...one, ...OTHER_SETTINGS }, { ...other, ...OTHER_SETTINGS });
}

async function outcomeOf(check: Check): Promise<Outcome> {
  try {
    return { check, result: check.refusal ?? (await check.run()) };
  } catch (error) {
    if (isUnverified(error)) return { check, result: error };
    throw error;
  }
}

/**
 * Runs all checks concurrently. Resolves with the first acceptance, so that a slow provider does not delay the others.
 * If no check accepts the token, resolves with all outcomes in the order of the checks.
 */
function firstAccepted(checks: readonly Check[]): Promise<{ accepted: Accepted } | { outcomes: Outcome[] }> {
  return new Promise((resolve, reject) => {
    const runs = checks.map(async (check) => {
      const outcome = await outcomeOf(check);
      if (isCaller(outcome.result)) resolve({ accepted: accepted(check, outcome.result) });
      return outcome;
    });
    Promise.all(runs).then((outcomes) => resolve({ outcomes }), reject);
  });
}

function accepted({ provider }: Check, caller: Caller): Accepted {
  return { kind: 'accepted', caller, provider };
}

/** The verdict when no check accepted the token. */
function verdictOf(outcomes: readonly Outcome[], jwt: UnverifiedJwt | null): NotAccepted {
  const attempts = outcomes.flatMap(({ check: { provider, method }, result }): Attempt[] => {
    if (isCaller(result)) return [];
    const refused = result instanceof Error ? { reason: result.message } : result;
    return [{ provider: provider.name, method, check: checkOf(result, refused), ...refused }];
  });
  const kinds = outcomes.map(({ result }) => kindOf(result));
  const kind = (['unavailable', 'limited', 'incomplete', 'no_subject'] as const).find((one) =>
    kinds.includes(one),
  );
  return { kind: kind ?? 'refused', attempts, claimed: claimedOrigin(jwt) };
}

function checkOf(result: Outcome['result'], { reason }: Refusal): string {
  if (result instanceof ClaimsIncomplete) return 'groups';
  const isUnanswered = result instanceof ProviderUnavailable || result instanceof ProviderLimitExceeded;
  return isUnanswered ? 'provider' : failedCheck(reason);
}

function claimedOrigin(jwt: UnverifiedJwt | null): ClaimedOrigin {
  const { iss } = jwt?.payload ?? {};
  const client = clientIn(jwt?.payload ?? {});
  return {
    ...(iss === undefined ? {} : { issuer: shownClaim(iss) }),
    ...(client === undefined ? {} : { client: shownClaim(client) }),
  };
}

function kindOf(result: Outcome['result']): NotAccepted['kind'] {
  if (result instanceof ClaimsIncomplete) return result.why;
  if (result instanceof NoSubject) return 'no_subject';
  if (result instanceof ProviderUnavailable) return 'unavailable';
  return result instanceof ProviderLimitExceeded ? 'limited' : 'refused';
}

function isUnverified(error: unknown): error is Unverified {
  return [ProviderUnavailable, ProviderLimitExceeded, NoSubject, ClaimsIncomplete].some(
    (kind) => error instanceof kind,
  );
}

function isCaller(result: Outcome['result']): result is Caller {
  return 'claims' in result;
}

function hasIntrospection(
  provider: ProviderConfig,
): provider is ProviderConfig & { readonly introspectionUrl: string } {
  return provider.introspectionUrl !== undefined;
}
