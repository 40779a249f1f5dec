import { Logger } from '@nestjs/common';
import type { Request } from 'express';
import type { OAuthConfig } from '../config/config.js';
import { ApiError, ERROR_CATALOGUE } from '../http/errors.js';
import { AuthMetrics } from '../telemetry/registry-metrics.js';
import { challenge, type SentToken, sentToken } from './bearer-token.js';
import { type Caller, UNIDENTIFIED_CALLER } from './caller.js';
import type { Accepted, Attempt, TokenVerifier, Verdict } from './token-verifier.js';

/**
 * Is this path one of those a token may be absent from (spec §5.3)? Compared by whole, decoded segments; a pattern that
 * ends in `/*` matches everything below. A path that can't be decoded is not public.
 *
 * @param path as it was sent, percent-encoded, without the query.
 */
export function isPublicPath(path: string, patterns: readonly string[]): boolean {
  if (patterns.length === 0) return false;
  const segments = decode(path);
  // Express does not resolve dots, but something behind a public path might.
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

/** Finds out who sent a request. Chosen once at start, by `auth.mode`. */
export abstract class Authenticator {
  /** @throws ApiError 401; 503 when a provider that might accept the token can't be reached, 429 when it may not be asked. */
  abstract identify(request: Request): Caller | Promise<Caller>;
  /**
   * Finds out whose token this is, which a request carries elsewhere than in its header.
   *
   * @throws ApiError as `identify`.
   */
  abstract identifyToken(token: string, request: Request): Promise<Caller>;
  /** The refusal of an unidentified caller by a route that needs to know who is calling. */
  abstract unidentified(): ApiError;
}

/** spec §5.1: tokens are ignored. */
export class AnonymousAuthenticator extends Authenticator {
  identify(): Caller {
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

/** spec §5.2: a bearer token that one of the providers vouches for. */
export class TokenAuthenticator extends Authenticator {
  private readonly logger = new Logger('auth');

  constructor(
    private readonly oauth: OAuthConfig,
    private readonly verifier: TokenVerifier,
    private readonly metrics: AuthMetrics,
  ) {
    super();
  }

  identify(request: Request): Caller | Promise<Caller> {
    const sent = sentToken(request.rawHeaders);
    if (sent.kind === 'none') {
      if (isPublicPath(request.path, this.oauth.publicPaths)) return UNIDENTIFIED_CALLER;
      this.metrics.missing('no_token');
      throw this.unidentified();
    }
    const known = sent.kind === 'token' ? this.verifier.remembered(sent.token) : undefined;
    return known ? this.accept(known) : this.verified(sent, request);
  }

  // The strategies read the header.
  async identifyToken(token: string, request: Request): Promise<Caller> {
    const rawHeaders = ['Authorization', `Bearer ${token}`];
    const sent = sentToken(rawHeaders);
    return this.verified(
      sent.kind === 'none' ? { kind: 'unusable', reason: 'The body holds no well-formed token' } : sent,
      Object.create(request, { rawHeaders: { value: rawHeaders } }) as Request,
    );
  }

  unidentified(): ApiError {
    return this.unauthorized('token_missing', undefined, null);
  }

  private async verified(sent: Exclude<SentToken, { kind: 'none' }>, request: Request): Promise<Caller> {
    if (sent.kind === 'unusable') {
      this.metrics.missing('unusable');
      this.logger.warn({ requestId: request.id, reason: sent.reason }, 'Token refused');
      throw this.refusal(sent.reason);
    }
    const verdict = await this.verifier.verify(sent.token, request);
    if (verdict.kind === 'accepted') return this.accept(verdict);
    for (const { provider, reason } of verdict.attempts) this.metrics.failed(provider, verdict.kind, reason);
    this.logger.warn({ requestId: request.id, attempts: verdict.attempts }, 'Token refused');
    throw this.refusalOf(verdict);
  }

  private accept({ caller, provider }: Accepted): Caller {
    this.metrics.accepted(provider);
    return caller;
  }

  private refusalOf({ kind, attempts }: Exclude<Verdict, { kind: 'accepted' }>): ApiError {
    switch (kind) {
      case 'unavailable':
        return new ApiError('provider_unavailable');
      case 'limited':
        return new ApiError('too_many_requests');
      case 'incomplete':
        return this.unauthorized('claims_incomplete', INCOMPLETE, INCOMPLETE);
      case 'refused':
        return this.refusal(sentenceFor(attempts));
    }
  }

  private refusal(sentence: string): ApiError {
    return this.unauthorized('token_invalid', sentence, sentence);
  }

  private unauthorized(
    code: 'token_missing' | 'token_invalid' | 'claims_incomplete',
    sentence: string | undefined,
    problem: string | null,
  ): ApiError {
    const { realm, resourceUrl } = this.oauth;
    return new ApiError(code, sentence, undefined, {
      headers: { 'WWW-Authenticate': challenge(realm, resourceUrl, problem) },
    });
  }
}

const { sentence: INCOMPLETE } = ERROR_CATALOGUE.claims_incomplete;

/** What the client may learn: whether a new token would help. Anything else is for the log. */
function sentenceFor(attempts: readonly Attempt[]): string {
  return attempts.some(({ reason }) => reason === 'the token has expired')
    ? 'The token has expired'
    : 'The token is not one that this server accepts';
}
