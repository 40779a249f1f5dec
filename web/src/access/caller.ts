import type { Claims, PageLogin } from '../api/types.js';

/** The caller whom a question is about, as sent to the API. */
export type AssumedCaller =
  | { readonly claims: Claims }
  | { readonly token: { readonly provider: string; readonly claims: Record<string, unknown> } }
  | { readonly anonymous: true }
  | { readonly key: string };

export const WAYS = ['claims', 'token', 'anonymous', 'key'] as const;

/** Parses a caller in a URL; null for any other text. */
export function parseCaller(text: string | null): AssumedCaller | null {
  const value = parseObject(text ?? '');
  return value && WAYS.some((way) => Object.hasOwn(value, way)) ? (value as unknown as AssumedCaller) : null;
}

/**
 * Returns the claims of a pasted token, or of its claims as JSON; null for any other text. Does not verify the token.
 */
export function claimsInToken(text: string): Record<string, unknown> | null {
  const [, payload] = /^[\w-]+\.([\w-]+)\.[\w-]*$/.exec(text.trim()) ?? [];
  return payload === undefined ? parseObject(text) : parseObject(decode(payload));
}

/** Returns the login provider that issued a token; empty if there is none. */
export function providerOf(
  { iss }: Record<string, unknown>,
  logins: readonly Pick<PageLogin, 'provider' | 'issuer'>[],
): string {
  return logins.find(({ issuer }) => issuer === iss)?.provider ?? '';
}

export function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

function decode(base64url: string): string {
  try {
    const binary = atob(base64url.replaceAll('-', '+').replaceAll('_', '/'));
    return new TextDecoder().decode(Uint8Array.from(binary, (character) => character.charCodeAt(0)));
  } catch {
    return '';
  }
}
