import { hash, timingSafeEqual } from 'node:crypto';
import type { Request } from 'express';
import { isExpired, isKey, keyDigest, type RegistryKey } from '../config/registry-keys.js';

/** What the Authorization header of a request holds. */
export type SentToken =
  | { readonly kind: 'none' }
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'unusable'; readonly reason: string };

const AUTHORIZATION = 'authorization';
/** RFC 6750 §2.1: `b64token`. */
const BEARER = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i;

/**
 * The bearer token of a request, from its header alone (contract §8: never from the query or the body). A header of
 * another scheme is no bearer token; two headers are refused, since a proxy in front may have checked the other one.
 *
 * @param rawHeaders names and values in turn, as Node received them: its own map drops a second Authorization.
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
    ? { kind: 'unusable', reason: 'The Authorization header holds no well-formed bearer token' }
    : { kind: 'token', token };
}

/** The bearer token of a request, where passport wants a function for that; null when there is none that is well-formed. */
export function tokenFromRequest({ rawHeaders }: Pick<Request, 'rawHeaders'>): string | null {
  const sent = sentToken(rawHeaders);
  return sent.kind === 'token' ? sent.token : null;
}

/** The key of a token in caches: they must not hold the token itself (contract §8). */
export function tokenDigest(token: string): string {
  return hash('sha256', token, 'base64url');
}

/** RFC 9728 §3: where clients learn how to get a token. */
const METADATA_PATH = '/.well-known/oauth-protected-resource';

/** The well-known path is put between host and path of the resource; only a slash right after the host goes (RFC 9728 §3.1). */
export function resourceMetadataUrl(resourceUrl: string): string {
  const { origin, pathname } = new URL(resourceUrl);
  return `${origin}${METADATA_PATH}${pathname === '/' ? '' : pathname}`;
}

/**
 * The value of `WWW-Authenticate` on a 401 (RFC 6750 §3, RFC 9728 §5.1, contract §8).
 *
 * @param problem why the token was refused; null when none was sent, which is no error of the client.
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

/**
 * The key of a registry that was sent in place of a token, if it is one of these and has not expired (contract §6.1). All are compared,
 * each in the same time whatever is sent: how long it takes tells nothing of a key.
 */
export function matchingKey(keys: readonly RegistryKey[], sent: string): RegistryKey | undefined {
  const digest = Buffer.from(keyDigest(sent));
  const now = Date.now();
  let matching: RegistryKey | undefined;
  for (const key of keys) {
    const known = Buffer.from(key.digest);
    if (known.length === digest.length && timingSafeEqual(known, digest) && !isExpired(key, now))
      matching = key;
  }
  return isKey(sent) ? matching : undefined;
}
