import { hash } from 'node:crypto';
import type { Request } from 'express';

/** Content of the Authorization header. */
export type SentToken =
  | { readonly kind: 'none' }
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'unusable'; readonly reason: string };

const AUTHORIZATION = 'authorization';
/** RFC 6750 §2.1: `b64token`. */
const BEARER = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i;

/**
 * Reads the bearer token from the Authorization header, never from the query or body (reference/authentication). Treats other schemes
 * as no token. Refuses a second header, because a proxy may have checked only one of the two.
 *
 * @param rawHeaders Alternating names and values; Node's header map drops a second Authorization.
 */
export function sentToken(rawHeaders: readonly string[]): SentToken {
  let value: string | undefined;
  for (let position = 0; position < rawHeaders.length; position += 2) {
    const name = rawHeaders[position];
    if (name?.length !== AUTHORIZATION.length || name.toLowerCase() !== AUTHORIZATION) continue;
    if (value !== undefined)
      return { kind: 'unusable', reason: 'The request has more than one Authorization header' };
    value = rawHeaders[position + 1];
  }
  if (value === undefined) return { kind: 'none' };
  if (!/^bearer(\s|$)/i.test(value.trim())) return { kind: 'none' };
  const token = BEARER.exec(value.trim())?.[1];
  return token === undefined
    ? { kind: 'unusable', reason: 'The Authorization header contains no well-formed bearer token' }
    : { kind: 'token', token };
}

const BASIC = /^basic +([A-Za-z0-9+/]+=*)$/i;

/**
 * Reads the token that a request carries as the password of `Basic`, as Git sends it (reference/marketplace).
 *
 * @returns undefined unless the only Authorization header has this scheme; an unusable token for a malformed header.
 */
export function basicToken(rawHeaders: readonly string[]): string | undefined {
  const [value, ...more] = rawHeaders.filter(
    (_, position) => position % 2 === 1 && rawHeaders[position - 1]?.toLowerCase() === AUTHORIZATION,
  );
  if (value === undefined || more.length > 0 || !/^basic(\s|$)/i.test(value.trim())) return undefined;
  const [, encoded = ''] = BASIC.exec(value.trim()) ?? [];
  const pair = Buffer.from(encoded, 'base64').toString();
  return pair.includes(':') ? pair.slice(pair.indexOf(':') + 1) : '';
}

/** Extractor for passport-jwt; null without a well-formed bearer token. */
export function tokenFromRequest({ rawHeaders }: Pick<Request, 'rawHeaders'>): string | null {
  const sent = sentToken(rawHeaders);
  return sent.kind === 'token' ? sent.token : null;
}

/** Cache key for a token; caches must not contain the token itself (reference/authentication). */
export function tokenDigest(token: string): string {
  return hash('sha256', token, 'base64url');
}

/** Path of the protected resource metadata (RFC 9728 §3), which describes how clients get a token. */
const METADATA_PATH = '/.well-known/oauth-protected-resource';

/** Inserts the well-known path between the resource's host and path; drops a lone "/" (RFC 9728 §3.1). */
export function resourceMetadataUrl(resourceUrl: string): string {
  const { origin, pathname } = new URL(resourceUrl);
  return `${origin}${METADATA_PATH}${pathname === '/' ? '' : pathname}`;
}

/**
 * Builds `WWW-Authenticate` for a 401 (RFC 6750 §3, RFC 9728 §5.1, reference/authentication).
 *
 * @param problem Why the token was refused; null when none was sent, which omits the `error` parameter (RFC 6750 §3.1).
 */
export function challenge(realm: string, resourceUrl: string, problem: string | null): string {
  const parameters = [
    ['realm', realm],
    ...(problem === null
      ? []
      : [['error', 'invalid_token'] as const, ['error_description', problem] as const]),
    ['resource_metadata', resourceMetadataUrl(resourceUrl)],
  ];
  return `Bearer ${parameters.map(([name, value]) => `${name}="${value}"`).join(', ')}`;
}
