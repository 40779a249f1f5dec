import type { ProviderConfig } from '../config/config.js';
import { isObject } from '../json/json-values.js';
import { isStorable } from '../validation/storable-text.js';
import type { Caller } from './caller.js';

type Claims = Readonly<Record<string, unknown>>;

/** Claims expected in a provider's tokens. */
export type Expected = Pick<ProviderConfig, 'issuerUrl' | 'audience' | 'clockToleranceMs' | 'idTokens'>;

/**
 * Reasons for refusing a token, by metric label: the check that failed (for the audit trail), and the log messages, which
 * quote no claims.
 */
const REASONS = {
  expired: ['expiry', 'the token has expired', 'jwt expired'],
  not_yet_valid: ['not_before', 'the token is not valid yet', 'jwt not active'],
  no_expiry: ['expiry', 'the token has no expiry'],
  malformed: [
    'format',
    'the expiry is malformed',
    'the "not before" time is malformed',
    'the subject is malformed',
    'the key id is malformed',
    'jwt malformed',
    'invalid token',
  ],
  no_jwt: ['format', 'the token is not a JWT'],
  other_issuer: ['issuer', 'the issuer does not match'],
  other_audience: ['audience', 'the audience does not match', 'the audience is missing or malformed'],
  other_type: ['type', 'the type is not an access token type', 'the token is an ID token'],
  other_subject: ['subject', "the subject is not the JWT's"],
  no_subject: ['subject', 'the token has neither a subject nor a client'],
  blocked: ['blocked', 'the caller is blocked'],
  algorithm: ['algorithm', 'the algorithm is not accepted', 'the header requires unsupported extensions'],
  unknown_key: ['key', 'the provider has no such key', 'the signing key was withdrawn'],
  signature: ['signature', 'invalid signature', 'jwt signature is required'],
  not_active: ['active', 'the token is not active'],
} as const;

type Rows = (typeof REASONS)[keyof typeof REASONS];
/** A log message from REASONS; the compiler rejects a message without a label. */
type Reason = {
  [R in keyof typeof REASONS]: Exclude<(typeof REASONS)[R][number], Rows[0]>;
}[keyof typeof REASONS];

/** Why a token is refused. */
export interface Refusal {
  readonly reason: string;
  /** The configured value. */
  readonly expected?: string;
  /** The value in the token, shortened and without control characters. */
  readonly received?: string;
}

export const EXPIRED: Reason = 'the token has expired';
export const NO_SUBJECT: Reason = 'the token has neither a subject nor a client';
export const ID_TOKEN: Reason = 'the token is an ID token';
export const BLOCKED: Reason = 'the caller is blocked';

/** @param received A claim of the token; absent if the reason is enough. */
export function refusal(
  reason: Reason,
  received?: { readonly value: unknown; readonly expected?: string },
): Refusal {
  if (!received) return { reason };
  const { value, expected } = received;
  return { reason, ...(expected === undefined ? {} : { expected }), received: shownClaim(value) };
}

const MAX_SHOWN = 200;
const NOT_PRINTABLE_ASCII = /[^ -~]/gu;

/**
 * Returns a claim of an untrusted token for the log and the audit trail (reference/audit): at most 200 characters, all of them
 * printable ASCII, so that look-alikes show.
 */
export function shownClaim(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'missing');
  const escaped = text
    .slice(0, MAX_SHOWN)
    .replaceAll(NOT_PRINTABLE_ASCII, (found) => `\\u{${(found.codePointAt(0) ?? 0).toString(16)}}`);
  return escaped.slice(0, MAX_SHOWN);
}

/** Returns the metric label of a refusal; `other` for a library's message that is not in REASONS. */
export function refusalLabel(reason: string): string {
  return rowOf(reason)?.[0] ?? 'other';
}

/** Returns the check that refused a token (reference/audit, `attempts`). */
export function failedCheck(reason: string): string {
  return rowOf(reason)?.[1][0] ?? 'token';
}

function rowOf(reason: string): [label: string, row: Rows] | undefined {
  return Object.entries(REASONS).find(([, [, ...reasons]]) => reasons.some((one) => one === reason));
}

/** The end of 9999-12-31. Later times are refused. */
const LAST_SECOND = 253_402_300_799;

/** `typ` of access tokens, in lower case: RFC 7519 §5.1, RFC 9068 §2.1. */
const TOKEN_TYPES: readonly unknown[] = ['jwt', 'at+jwt', 'application/at+jwt'];

/**
 * Checks the `typ` header of a JWT (reference/authentication, RFC 8725 §3.11): refuses tokens issued for another purpose, such as logout
 * tokens or proofs of possession.
 */
export function typeRefusal({ typ }: Claims): Refusal | null {
  return typ === undefined || (typeof typ === 'string' && TOKEN_TYPES.includes(typ.toLowerCase()))
    ? null
    : refusal('the type is not an access token type', { value: typ, expected: 'JWT or at+jwt' });
}

/**
 * Checks the claims of a JWT (reference/authentication): exact `iss`, no ID token, `aud` equal to or containing the
 * audience, `exp` required and in the future, `nbf` in the past, both with the provider's clock tolerance.
 *
 * @param nowMs Milliseconds since the epoch.
 */
export function jwtRefusal(claims: Claims, expected: Expected, nowMs: number): Refusal | null {
  const refused = issuerRefusal(claims, expected);
  if (refused) return refused;
  if (claims['exp'] === undefined) return refusal('the token has no expiry');
  return idTokenRefusal(claims, expected) ?? claimsRefusal(claims, expected, nowMs);
}

/**
 * Checks an introspection response (RFC 7662 §2.2, reference/authentication): `active` true, `aud` as for a JWT, `iss` and `exp` if
 * present, and no ID token unless the response says that it is an access token, as Dex does.
 *
 * @param sent The payload of the token if it is a JWT.
 */
export function introspectionRefusal(
  answer: Claims,
  expected: Expected,
  nowMs: number,
  sent: Claims = {},
): Refusal | null {
  if (answer['active'] !== true) return refusal('the token is not active');
  const isAccessToken = answer['token_use'] === 'access_token';
  return (
    (answer['iss'] === undefined ? null : issuerRefusal(answer, expected)) ??
    (isAccessToken ? null : (idTokenRefusal(sent, expected) ?? idTokenRefusal(answer, expected))) ??
    claimsRefusal(answer, expected, nowMs)
  );
}

/** Returns when a token with this `exp` is refused, in milliseconds since the epoch. */
export function expiryOf(exp: number, { clockToleranceMs }: Pick<Expected, 'clockToleranceMs'>): number {
  return exp * 1000 + clockToleranceMs;
}

/** The client a token was issued to: RFC 9068, OpenID Connect, Entra ID version 1, Okta. */
export const CLIENT_CLAIMS = ['client_id', 'azp', 'appid', 'cid'] as const;

/** Returns `sub`, or the client if there is no `sub` (reference/authentication); undefined if the token has neither. */
export function subjectIn(claims: Claims): string | undefined {
  return nonEmpty(claims['sub']) ?? clientNamedIn(claims);
}

/** Returns the client a token was issued to, if it has one. */
export function clientNamedIn(claims: Claims): string | undefined {
  return CLIENT_CLAIMS.map((name) => nonEmpty(claims[name])).find((client) => client !== undefined);
}

function nonEmpty(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

const MAX_NAME = 200;
/** Characters that are invisible, or that change the order of other characters. */
const UNFIT_FOR_NAMES = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;

/** Returns a person's name (reference/audit); undefined unless it is visible text of at most 200 characters. */
export function displayName(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.trim() === '' || UNFIT_FOR_NAMES.test(value)) return undefined;
  return [...value].length > MAX_NAME ? undefined : value;
}

/**
 * Creates the caller for verified claims.
 *
 * @param provider The provider that verified them.
 * @param held The claims after mapping.
 */
export function callerOfClaims(
  claims: Claims,
  { issuerUrl, displayName: nameClaim }: Pick<ProviderConfig, 'issuerUrl' | 'displayName'>,
  held: Claims = claims,
): Caller {
  const client = clientNamedIn(claims);
  const name =
    nameClaim !== undefined && Object.hasOwn(claims, nameClaim) ? displayName(claims[nameClaim]) : undefined;
  return {
    subject: subjectIn(claims) ?? null,
    issuer: issuerUrl,
    ...(client === undefined ? {} : { client }),
    ...(name === undefined ? {} : { name }),
    claims: held,
    identified: true,
  };
}

function issuerRefusal({ iss }: Claims, { issuerUrl }: Pick<Expected, 'issuerUrl'>): Refusal | null {
  return iss === issuerUrl ? null : refusal('the issuer does not match', { value: iss, expected: issuerUrl });
}

function claimsRefusal(claims: Claims, expected: Expected, nowMs: number): Refusal | null {
  return (
    audienceRefusal(claims['aud'], expected.audience) ??
    timeRefusal(claims, expected.clockToleranceMs, nowMs) ??
    subjectRefusal(claims)
  );
}

// An ID token proves a login to its client. It authorizes nobody to act for the user (RFC 9068 §5).
function idTokenRefusal(
  { typ, at_hash: accessTokenHash }: Claims,
  { idTokens }: Pick<Expected, 'idTokens'>,
): Refusal | null {
  const isIdToken = typ === 'ID' || accessTokenHash !== undefined;
  return isIdToken && idTokens === 'refuse' ? refusal(ID_TOKEN) : null;
}

function audienceRefusal(aud: unknown, audience: string): Refusal | null {
  const audiences = Array.isArray(aud) ? aud : [aud];
  const received = { value: aud, expected: audience };
  if (!audiences.every((one) => typeof one === 'string'))
    return refusal('the audience is missing or malformed', received);
  return audiences.includes(audience) ? null : refusal('the audience does not match', received);
}

function timeRefusal({ exp, nbf }: Claims, toleranceMs: number, nowMs: number): Refusal | null {
  if (exp !== undefined && !isTime(exp)) return refusal('the expiry is malformed', { value: exp });
  if (nbf !== undefined && !isTime(nbf)) return refusal('the "not before" time is malformed', { value: nbf });
  const now = String(Math.floor(nowMs / 1000));
  if (exp !== undefined && expiryOf(exp, { clockToleranceMs: toleranceMs }) <= nowMs)
    return refusal(EXPIRED, { value: exp, expected: `after ${now}` });
  if (nbf !== undefined && nbf * 1000 - toleranceMs > nowMs)
    return refusal('the token is not valid yet', { value: nbf, expected: `until ${now}` });
  return null;
}

/**
 * Maximum length of a subject in bytes: the length of a SPIFFE ID, the longest that any kind of provider issues. The
 * database stores and indexes whole subjects.
 */
export const MAX_SUBJECT_BYTES = 2_048;

// A subject stored with characters cut off or replaced might equal another one.
function subjectRefusal(claims: Claims): Refusal | null {
  const { sub } = claims;
  const subject = subjectIn(claims) ?? '';
  const isWellFormed =
    (sub === undefined || typeof sub === 'string') &&
    isStorable(subject) &&
    Buffer.byteLength(subject) <= MAX_SUBJECT_BYTES;
  return isWellFormed ? null : refusal('the subject is malformed', { value: sub ?? subject });
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
 * Returns why a JWT must not be sent to a provider's introspection endpoint; null if it may be sent. A token with an
 * issuer is sent only to that provider, so no other provider sees it. A token with the wrong type or a past expiry is
 * refused without a request. Lightweight tokens, which lack `aud` and `sub`, are sent: the response has them.
 */
export function introspectionRuledOut(
  { header, payload }: UnverifiedJwt,
  provider: Expected,
): Refusal | null {
  const { iss, exp } = payload;
  const refused = iss === undefined ? null : issuerRefusal(payload, provider);
  if (refused) return refused;
  if (typeof exp === 'number' && expiryOf(exp, provider) <= Date.now())
    return refusal(EXPIRED, { value: exp });
  return typeRefusal(header);
}
