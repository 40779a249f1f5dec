import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import type { ProviderConfig } from '../config/config.js';

/** The sender of a request. The AuthGuard creates it; services receive it as a parameter. */
export interface Caller {
  /** The token's `sub`, or its client; null without a token. */
  readonly subject: string | null;
  /**
   * `issuerUrl` of the provider that verified the token; null without a token. The token's own `iss` must not identify the
   * caller: introspection responses may lack it.
   */
  readonly issuer: string | null;
  /** The client the token was issued to. */
  readonly client?: string;
  /** The name to show to people (`displayName`). Nothing may depend on it, because it is neither unique nor stable. */
  readonly name?: string;
  /** The token's claims, after the provider's `claims` mapping if it has one. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** The token's claims before the mapping, and the provider whose mapping was applied; absent without a token. */
  readonly token?: { readonly claims: Caller['claims']; readonly provider: ProviderConfig };
  /** Whether a token identified the caller. */
  readonly identified: boolean;
  /** Name of the registry key that the caller sent instead of a token. */
  readonly key?: string;
  /** The caller who asks what these claims would allow: only role rules that they know are applied (reference/explain). */
  readonly assumedBy?: Caller;
}

/** Every caller in anonymous mode (reference/access), and callers without a token on public paths. */
export const UNIDENTIFIED_CALLER: Caller = Object.freeze({
  subject: null,
  issuer: null,
  claims: Object.freeze({}),
  identified: false,
});

/** reference/access */
export const ROLES = ['superAdmin', 'manageSources', 'manageRegistries', 'manageEntries'] as const;
export type Role = (typeof ROLES)[number];

export interface AuthenticatedRequest extends Request {
  /** The handler of the route; set even if the caller is refused. */
  handler?: ReturnType<ExecutionContext['getHandler']>;
  caller?: Caller;
}

/**
 * Returns the caller set by the AuthGuard.
 *
 * @throws Error if no caller is set, which is a bug: even anonymous requests have a caller.
 */
export function callerOf(context: ExecutionContext): Caller {
  const { caller } = context.switchToHttp().getRequest<AuthenticatedRequest>();
  if (!caller) throw new Error('A guarded route was reached without a caller');
  return caller;
}

/** The caller of a request, for logs and the audit trail; undefined if the request was refused before authentication. */
export function requestCaller(request: IncomingMessage): Caller | undefined {
  return (request as AuthenticatedRequest).caller;
}

/** Handler parameter: the caller. */
export const CurrentCaller = createParamDecorator((_: unknown, context: ExecutionContext) =>
  callerOf(context),
);

/** Identifies a person or client across their tokens. Subjects are unique per issuer only (RFC 7519 §4.1.2). */
export interface Identity {
  readonly issuer: string | null;
  readonly subject: string;
}

/** Returns a caller's identity; null without a subject. Callers with equal identities are the same. */
export function identityOf({
  identified,
  issuer,
  subject,
}: Pick<Caller, 'identified' | 'issuer' | 'subject'>): Identity | null {
  return identified && subject !== null ? { issuer, subject } : null;
}

/**
 * Key for limits per caller: who they are, or the client key for callers without a subject. An assumed caller counts as
 * the caller who asks.
 */
export function callerKeyOf(caller: Caller, client: { readonly clientKey: string }): string {
  const identity = identityOf(caller.assumedBy ?? caller);
  return identity ? JSON.stringify([identity.issuer, identity.subject]) : client.clientKey;
}

/**
 * Digest of who a caller is, as the database stores it; null for callers without a subject. SQL computes the same from
 * `published_by` (admission/review-rules).
 */
export function personKey(caller: Parameters<typeof identityOf>[0]): Buffer | null {
  const identity = identityOf(caller);
  return identity && hash('sha256', `${identity.issuer ?? ''}\n${identity.subject}`, 'buffer');
}
