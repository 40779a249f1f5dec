import type { ProviderConfig } from '../config/config.js';
import { isObject } from '../json/json-values.js';
import type { Caller } from './caller.js';

/** Claims expected in a provider's tokens. */
export interface Expected {
  readonly issuerUrl: string;
  readonly audience: string;
}

/** Reasons for refusing a token: metric labels with their log messages, which quote no claims. */
const REFUSALS = {
  expired: ['the token has expired', 'jwt expired'],
  not_yet_valid: ['the token is not valid yet', 'jwt not active'],
  no_expiry: ['the token has no expiry'],
  malformed: [
    'the expiry is malformed',
    'the "not before" time is malformed',
    'the subject is malformed',
    'the key id is malformed',
    'jwt malformed',
    'invalid token',
  ],
  no_jwt: ['the token is not a JWT'],
  other_issuer: ['the issuer does not match'],
  other_audience: ['the audience does not match', 'the audience is missing or malformed'],
  other_type: ['the type is not an access token type'],
  algorithm: ['the algorithm is not accepted', 'the header requires unsupported extensions'],
  unknown_key: ['the provider has no such key', 'the signing key was withdrawn'],
  signature: ['invalid signature', 'jwt signature is required'],
  not_active: ['the token is not active'],
} as const;

/** A log message from REFUSALS; the compiler rejects a message without a label. */
export type Refusal = (typeof REFUSALS)[keyof typeof REFUSALS][number];

export const EXPIRED: Refusal = 'the token has expired';

/** Returns the metric label of a refusal; `other` for a library's message that is not in REFUSALS. */
export function refusalLabel(sentence: string): string {
  const known = Object.entries(REFUSALS).find(([, sentences]) => sentences.some((one) => one === sentence));
  return known?.[0] ?? 'other';
}

/** The end of 9999-12-31. Later times are refused. */
const LAST_SECOND = 253_402_300_799;

/** `typ` of access tokens, in lower case: RFC 7519 §5.1, RFC 9068 §2.1. */
const TOKEN_TYPES: readonly unknown[] = ['jwt', 'at+jwt', 'application/at+jwt'];

/**
 * Checks the `typ` header of a JWT (contract §8, RFC 8725 §3.11): refuses tokens issued for another purpose, such as logout
 * tokens or proofs of possession.
 */
export function typeRefusal({ typ }: Readonly<Record<string, unknown>>): Refusal | null {
  return typ === undefined || (typeof typ === 'string' && TOKEN_TYPES.includes(typ.toLowerCase()))
    ? null
    : 'the type is not an access token type';
}

/**
 * Checks the claims of a JWT (spec §5.2.4, contract §8): exact `iss`, `aud` equal to or containing the audience, `exp`
 * required and in the future, `nbf` in the past; no clock tolerance.
 *
 * @param nowMs Milliseconds since the epoch.
 */
export function jwtRefusal(
  claims: Readonly<Record<string, unknown>>,
  expected: Expected,
  nowMs: number,
): Refusal | null {
  if (claims['iss'] !== expected.issuerUrl) return 'the issuer does not match';
  if (claims['exp'] === undefined) return 'the token has no expiry';
  return (
    audienceRefusal(claims['aud'], expected.audience) ?? timeRefusal(claims, nowMs) ?? subjectRefusal(claims)
  );
}

/**
 * Checks an introspection response (RFC 7662 §2.2, contract §8): `active` true, `aud` as for a JWT, `iss` and `exp` if
 * present.
 */
export function introspectionRefusal(
  answer: Readonly<Record<string, unknown>>,
  expected: Expected,
  nowMs: number,
): Refusal | null {
  if (answer['active'] !== true) return 'the token is not active';
  if (answer['iss'] !== undefined && answer['iss'] !== expected.issuerUrl) return 'the issuer does not match';
  return (
    audienceRefusal(answer['aud'], expected.audience) ?? timeRefusal(answer, nowMs) ?? subjectRefusal(answer)
  );
}

/**
 * Creates the caller for verified claims. `sub` and `client_id` are both optional (RFC 7662 §2.2).
 *
 * @param held The claims after mapping.
 */
export function callerOfClaims(
  claims: Readonly<Record<string, unknown>>,
  held: Readonly<Record<string, unknown>> = claims,
): Caller {
  const { sub, client_id: clientId, azp } = claims;
  const subject = sub ?? clientId;
  const client = clientId ?? azp;
  return {
    subject: typeof subject === 'string' ? subject : null,
    ...(typeof client === 'string' ? { client } : {}),
    claims: held,
    identified: true,
  };
}

function audienceRefusal(aud: unknown, audience: string): Refusal | null {
  const audiences = Array.isArray(aud) ? aud : [aud];
  if (!audiences.every((one) => typeof one === 'string')) return 'the audience is missing or malformed';
  return audiences.includes(audience) ? null : 'the audience does not match';
}

function timeRefusal(claims: Readonly<Record<string, unknown>>, nowMs: number): Refusal | null {
  const { exp, nbf } = claims;
  if (exp !== undefined && !isTime(exp)) return 'the expiry is malformed';
  if (nbf !== undefined && !isTime(nbf)) return 'the "not before" time is malformed';
  if (typeof exp === 'number' && exp * 1000 <= nowMs) return EXPIRED;
  if (typeof nbf === 'number' && nbf * 1000 > nowMs) return 'the token is not valid yet';
  return null;
}

function subjectRefusal({ sub }: Readonly<Record<string, unknown>>): Refusal | null {
  return sub === undefined || typeof sub === 'string' ? null : 'the subject is malformed';
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= LAST_SECOND;
}

/** Decoded header and payload of a JWT. Not verified: do not trust them. */
export interface UnverifiedJwt {
  readonly header: Readonly<Record<string, unknown>>;
  readonly payload: Readonly<Record<string, unknown>>;
}

const COMPACT = /^([\w-]+)\.([\w-]+)\.([\w-]*)$/;

/** Decodes a JWS in compact serialization (RFC 7515 §7.1); null for any other token, which counts as opaque. */
export function readJwt(token: string): UnverifiedJwt | null {
  const [, header, payload] = COMPACT.exec(token) ?? [];
  const parts = { header: readPart(header), payload: readPart(payload) };
  return parts.header && parts.payload ? { header: parts.header, payload: parts.payload } : null;
}

function readPart(part: string | undefined): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(part ?? '', 'base64url').toString());
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/**
 * Returns why a JWT must not be sent to a provider's introspection endpoint; null if it may be sent. A token that names its
 * issuer is sent only to that provider, so no other provider sees it. A token with the wrong type or a past expiry is
 * refused without a request.
 */
export function introspectionRuledOut(jwt: UnverifiedJwt, { issuerUrl }: ProviderConfig): Refusal | null {
  const { iss, exp } = jwt.payload;
  if (iss !== undefined && iss !== issuerUrl) return 'the issuer does not match';
  if (typeof exp === 'number' && exp * 1000 <= Date.now()) return EXPIRED;
  return typeRefusal(jwt.header);
}
