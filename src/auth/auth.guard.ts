import { isDeepStrictEqual } from 'node:util';
import { type CanActivate, type ExecutionContext, Injectable, Logger } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { Counter } from 'prom-client';
import type { OAuthConfig } from '../config/config.js';
import { ApiError, ERRORS, type TokenRefusal } from '../http/errors.js';
import { Metrics } from '../telemetry/metrics.js';
import { basicToken, challenge, type SentToken, sentToken } from './bearer-token.js';
import { type AuthenticatedRequest, type Caller, identityOf, UNIDENTIFIED_CALLER } from './caller.js';
import type { BlockedCallers } from './oauth-in-force.js';
import { AcceptsBasic, LoadsOf, RouteAccessOf, WritesNothingOf } from './route.js';
import { BLOCKED, EXPIRED, ID_TOKEN, refusalLabel, shownClaim } from './token-claims.js';
import type { TokenVerifier } from './token-verifier.js';
import type { Accepted, NotAccepted, ProviderAttempt } from './verdict.js';

/**
 * Whether a path needs no token (reference/access). Compares whole, decoded segments; a pattern ending in `/*` matches
 * everything below it. A path that can't be decoded is not public.
 *
 * @param path The raw request path: percent-encoded, without the query.
 */
export function isPublicPath(path: string, patterns: readonly string[]): boolean {
  if (patterns.length === 0) return false;
  const segments = decode(path);
  // Express does not resolve dot segments, but a proxy or handler behind a public path might.
  if (!segments || segments.some((segment) => segment === '.' || segment === '..')) return false;
  return patterns.some((pattern) => {
    const expected = pattern.split('/');
    if (expected.at(-1) !== '*') return sameSegments(segments, expected);
    return (
      segments.length >= expected.length &&
      sameSegments(segments.slice(0, expected.length - 1), expected.slice(0, -1))
    );
  });
}

function decode(path: string): string[] | null {
  try {
    return path.split('/').map(decodeURIComponent);
  } catch {
    return null;
  }
}

function sameSegments(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((segment, position) => segment === other[position]);
}

/** Identifies the caller of a request. `auth.mode` selects the implementation at startup. */
export abstract class Authenticator {
  /** Whether callers are identified by tokens. */
  abstract readonly readsTokens: boolean;
  /** @throws ApiError 401; 503 when a provider that might accept the token is unreachable; 429 at the lookup limit. */
  abstract identify(request: Request): Promise<Caller>;
  /**
   * Identifies the holder of a token that the request carries outside the Authorization header.
   *
   * @throws ApiError as for `identify`.
   */
  abstract identifyToken(token: string, request: Request): Promise<Caller>;
  /** The error for an unidentified caller on a route that requires an identity. */
  abstract unidentified(): ApiError;
}

/** Ignores tokens, for `anonymous` mode (reference/authentication). */
export class AnonymousAuthenticator extends Authenticator {
  readonly readsTokens = false;

  async identify(): Promise<Caller> {
    return UNIDENTIFIED_CALLER;
  }

  async identifyToken(): Promise<Caller> {
    throw this.unidentified();
  }

  unidentified(): ApiError {
    return new ApiError('anonymous_mode', undefined, undefined, {
      headers: { 'WWW-Authenticate': 'Bearer realm="mcp-registry"' },
    });
  }
}

/** Requires a bearer token that one of the providers accepts, for `oauth` mode (reference/authentication). */
export class TokenAuthenticator extends Authenticator {
  readonly readsTokens = true;
  private readonly logger = new Logger('auth');

  constructor(
    private readonly oauth: OAuthConfig,
    private readonly verifier: TokenVerifier,
    private readonly blocked: BlockedCallers,
    private readonly metrics: AuthMetrics,
  ) {
    super();
  }

  async identify(request: Request): Promise<Caller> {
    const sent = sentToken(request.rawHeaders);
    if (sent.kind === 'none') {
      if (isPublicPath(request.path, this.oauth.publicPaths)) return UNIDENTIFIED_CALLER;
      this.metrics.missing('no_token');
      throw this.unidentified();
    }
    return this.verified(sent, request);
  }

  // Puts the token in the Authorization header, where the passport strategies read it.
  async identifyToken(token: string, request: Request): Promise<Caller> {
    const rawHeaders = ['Authorization', `Bearer ${token}`];
    const sent = sentToken(rawHeaders);
    return this.verified(
      sent.kind === 'none' ? { kind: 'unusable', reason: 'The body contains no well-formed token' } : sent,
      request,
      Object.create(request, { rawHeaders: { value: rawHeaders } }) as Request,
    );
  }

  unidentified(): ApiError {
    return this.unauthorized('token_missing');
  }

  private async verified(
    sent: Exclude<SentToken, { kind: 'none' }>,
    request: Request,
    bearing = request,
  ): Promise<Caller> {
    if (sent.kind === 'unusable') {
      this.metrics.missing('unusable');
      this.logger.warn({ requestId: request.id, reason: sent.reason }, 'Token refused');
      throw this.unauthorized('token_invalid', sent.reason);
    }
    const verdict = await this.verifier.verify(sent.token, bearing);
    if (verdict.kind === 'accepted') return this.accept(verdict, request);
    const { kind, attempts, claimed } = verdict;
    for (const { provider, reason } of attempts)
      this.metrics.failed(provider, kind === 'no_subject' ? 'refused' : kind, refusalLabel(reason));
    this.logger.warn(
      { requestId: request.id, ...claimed, attempts: attempts.map(withHint) },
      'Token refused',
    );
    throw this.refusalOf(verdict);
  }

  private accept({ caller, provider: { name } }: Accepted, request: AuthenticatedRequest): Caller {
    const { issuer, subject, client } = caller;
    if (this.blocked.has(caller)) {
      this.metrics.failed(name, 'refused', refusalLabel(BLOCKED));
      this.logger.warn(
        { requestId: request.id, provider: name, issuer, subject, client },
        'Blocked caller refused',
      );
      // The log and the audit trail show who was refused.
      request.caller = caller;
      throw this.unauthorized('caller_blocked');
    }
    this.metrics.accepted(name);
    return caller;
  }

  private refusalOf({ kind, attempts, claimed }: NotAccepted): ApiError {
    const token = { attempts: relevant(attempts), claimed };
    switch (kind) {
      case 'unavailable':
        return new ApiError('provider_unavailable');
      case 'limited':
        return new ApiError('too_many_requests');
      case 'incomplete':
        return this.unauthorized('claims_incomplete', undefined, token);
      case 'no_subject':
        return this.unauthorized('no_subject', undefined, token);
      case 'refused':
        return this.unauthorized('token_invalid', sentenceFor(attempts), token);
    }
  }

  private unauthorized(
    code: 'token_missing' | 'token_invalid' | 'claims_incomplete' | 'no_subject' | 'caller_blocked',
    sentence: string = ERRORS[code].sentence,
    token?: TokenRefusal,
  ): ApiError {
    const { realm, resourceUrl } = this.oauth;
    const problem = code === 'token_missing' ? null : sentence;
    return new ApiError(code, sentence, undefined, {
      headers: { 'WWW-Authenticate': challenge(realm, resourceUrl, problem) },
      token,
    });
  }
}

const MAX_AUDITED_ATTEMPTS = 5;

/** Returns the attempts for the audit trail (reference/audit), those at the token's own issuer first. */
function relevant(attempts: readonly ProviderAttempt[]): TokenRefusal['attempts'] {
  const byRelevance = attempts.toSorted(
    (one, other) => Number(one.check === 'issuer') - Number(other.check === 'issuer'),
  );
  return byRelevance.slice(0, MAX_AUDITED_ATTEMPTS).map(({ provider, check, expected, received }) => ({
    provider,
    check,
    ...(expected === undefined ? {} : { expected }),
    ...(received === undefined ? {} : { received }),
  }));
}

/**
 * Adds a hint for the operator to refusals that stock providers cause: tokens without this server's audience (Keycloak), and
 * access tokens that look like ID tokens (Dex).
 */
function withHint(attempt: ProviderAttempt): ProviderAttempt & { hint?: string } {
  const { check, method, received, reason } = attempt;
  if (reason === ID_TOKEN)
    return {
      ...attempt,
      hint:
        'The client must send its access token. If the access tokens of this provider look like ID tokens (Dex), set ' +
        '`idTokens: accept` for the provider',
    };
  if (check !== 'audience' || method !== 'jwt') return attempt;
  const hint =
    received === shownClaim(undefined)
      ? 'The token has no audience. A lightweight access token (Keycloak) omits it: set `introspection: always` for the ' +
        'provider, or add an audience mapper to the client'
      : 'Configure the identity provider to add the expected audience to its tokens (Keycloak: an audience mapper)';
  return { ...attempt, hint };
}

/** Reveals only whether a new token would help; details go to the log. */
function sentenceFor(attempts: readonly ProviderAttempt[]): string {
  const is = (expected: string) => attempts.some(({ reason }) => reason === expected);
  if (is(EXPIRED)) return 'The token has expired';
  return is(ID_TOKEN) ? 'The token is an ID token' : ERRORS.token_invalid.sentence;
}

/** Identifies callers without a token in registries that allow them (reference/access). */
export abstract class CallersWithoutToken {
  /**
   * @param request A read of the registry at `:registry`.
   * @returns null when the registry requires a token.
   */
  abstract find(request: Request): Promise<Caller | null>;
}

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** The first guard. Identifies the caller and puts it on the request, except on public routes. */
@Injectable()
export class AuthGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly authenticator: Authenticator,
    private readonly withoutToken: CallersWithoutToken,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const route = context.getHandler();
    const request = context.switchToHttp().getRequest<AuthenticatedRequest>();
    request.handler = route;
    if (this.reflector.get(RouteAccessOf, route) === 'public') return true;
    const isRead =
      this.reflector.get(LoadsOf, route) === 'view' &&
      (READS.has(request.method) || this.reflector.get(WritesNothingOf, route)?.(request) === true);
    // A token in the request always decides, even an invalid one (reference/access).
    const mayBeTokenless = isRead && sentToken(request.rawHeaders).kind === 'none';
    const identify = this.reflector.get(AcceptsBasic, route)
      ? () => this.identifyGit(request)
      : () => (mayBeTokenless ? this.identifyWithoutToken(request) : this.authenticator.identify(request));
    request.identifyAgain = async () => {
      const again = await identify();
      const { caller: before = UNIDENTIFIED_CALLER } = request;
      if (!isDeepStrictEqual([identityOf(again), again.claims], [identityOf(before), before.claims]))
        throw new ApiError('token_invalid');
    };
    request.caller = await identify();
    return true;
  }

  private async identifyGit(request: Request): Promise<Caller> {
    const token = this.authenticator.readsTokens ? basicToken(request.rawHeaders) : undefined;
    try {
      if (token !== undefined) return await this.authenticator.identifyToken(token, request);
      if (sentToken(request.rawHeaders).kind === 'none') return await this.identifyWithoutToken(request);
      return await this.authenticator.identify(request);
    } catch (error) {
      throw error instanceof ApiError ? offeringBasic(error) : error;
    }
  }

  private async identifyWithoutToken(request: Request): Promise<Caller> {
    return (await this.withoutToken.find(request)) ?? this.authenticator.identify(request);
  }
}

/** Adds a `Basic` challenge to a 401. */
function offeringBasic(error: ApiError): ApiError {
  const { code, message, details, headers, token, cause } = error;
  const bearer = headers['WWW-Authenticate'];
  if (bearer === undefined) return error;
  const [realm = ''] = /realm="[^"]*"/.exec(bearer) ?? [];
  return new ApiError(code, message, details, {
    headers: { ...headers, 'WWW-Authenticate': `${bearer}, Basic ${realm}, charset="UTF-8"` },
    token,
    cause,
  });
}

export type AuthOutcome = 'accepted' | 'refused' | 'incomplete' | 'unavailable' | 'limited';

/** Counts token verifications by identity provider. */
@Injectable()
export class AuthMetrics {
  private readonly outcomes: Counter<'provider' | 'outcome' | 'reason'>;

  constructor({ register }: Metrics) {
    this.outcomes = new Counter({
      name: 'registry_authentications_total',
      help: 'Verified tokens by identity provider, outcome and reason; a token refused by several providers counts once for each',
      labelNames: ['provider', 'outcome', 'reason'],
      registers: [register],
    });
  }

  /** @param provider name in the configuration. */
  accepted(provider: string): void {
    this.outcomes.inc({ provider, outcome: 'accepted', reason: '' });
  }

  /** @param reason a label from a fixed list: it never contains token data. */
  failed(provider: string, outcome: Exclude<AuthOutcome, 'accepted'>, reason: string): void {
    this.outcomes.inc({ provider, outcome, reason });
  }

  /** Counts a request without a verifiable token. */
  missing(reason: 'no_token' | 'unusable'): void {
    this.outcomes.inc({ provider: '', outcome: 'refused', reason });
  }
}
