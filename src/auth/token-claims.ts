import type { ProviderConfig } from '../config/config.js';
import { isObject } from '../json/json-values.js';
import type { Caller } from './caller.js';

/** What a provider expects of its tokens. */
export interface Expected {
  readonly issuerUrl: string;
  readonly audience: string;
}

/** Why claims are refused: a sentence that quotes none of them. */
export type Refusal = string;

/** 9999-12-31: a number beyond it is no time, whatever a comparison says. */
const LAST_SECOND = 253_402_300_799;

/** Types of a JWT that is an access token: RFC 7519 §5.1, RFC 9068 §2.1. */
const TOKEN_TYPES: readonly unknown[] = ['jwt', 'at+jwt', 'application/at+jwt'];

/**
 * Judges the `typ` of a JWT's header (contract §8, RFC 8725 §3.11): a token that was issued for another use, such as a
 * logout token or a proof of possession, is no access token, whoever signed it.
 */
export function typeRefusal({ typ }: Readonly<Record<string, unknown>>): Refusal | null {
  return typ === undefined || (typeof typ === 'string' && TOKEN_TYPES.includes(typ.toLowerCase()))
    ? null
    : 'the type is not that of an access token';
}

/**
 * Judges the claims of a JWT, signature aside (spec §5.2.4, contract §8): `iss` exact, `aud` equal to or containing the
 * audience, `exp` required and in the future, `nbf` in the past, no tolerance.
 *
 * @param nowMs milliseconds since the epoch.
 */
export function jwtRefusal(
  claims: Readonly<Record<string, unknown>>,
  expected: Expected,
  nowMs: number,
): Refusal | null {
  if (claims['iss'] !== expected.issuerUrl) return 'the issuer is another one';
  if (claims['exp'] === undefined) return 'the token has no expiry';
  return (
    audienceRefusal(claims['aud'], expected.audience) ?? timeRefusal(claims, nowMs) ?? subjectRefusal(claims)
  );
}

/**
 * Judges an introspection answer (RFC 7662 §2.2, contract §8): `active` true, `aud` as for a JWT, `iss` and `exp` when
 * they are given.
 */
export function introspectionRefusal(
  answer: Readonly<Record<string, unknown>>,
  expected: Expected,
  nowMs: number,
): Refusal | null {
  if (answer['active'] !== true) return 'the token is not active';
  if (answer['iss'] !== undefined && answer['iss'] !== expected.issuerUrl) return 'the issuer is another one';
  return (
    audienceRefusal(answer['aud'], expected.audience) ?? timeRefusal(answer, nowMs) ?? subjectRefusal(answer)
  );
}

/**
 * The caller of claims that were found good. Both `sub` and `client_id` are optional (RFC 7662 §2.2).
 *
 * @param held what of them counts; all when absent.
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
  return audiences.includes(audience) ? null : 'the audience is another one';
}

function timeRefusal(claims: Readonly<Record<string, unknown>>, nowMs: number): Refusal | null {
  const { exp, nbf } = claims;
  if (exp !== undefined && !isTime(exp)) return 'the expiry is malformed';
  if (nbf !== undefined && !isTime(nbf)) return 'the "not before" time is malformed';
  if (typeof exp === 'number' && exp * 1000 <= nowMs) return 'the token has expired';
  if (typeof nbf === 'number' && nbf * 1000 > nowMs) return 'the token is not valid yet';
  return null;
}

function subjectRefusal({ sub }: Readonly<Record<string, unknown>>): Refusal | null {
  return sub === undefined || typeof sub === 'string' ? null : 'the subject is malformed';
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= LAST_SECOND;
}

/** The two readable parts of a JWT. Nothing in them may be trusted. */
export interface UnverifiedJwt {
  readonly header: Readonly<Record<string, unknown>>;
  readonly payload: Readonly<Record<string, unknown>>;
}

const COMPACT = /^([\w-]+)\.([\w-]+)\.([\w-]*)$/;

/** Reads a token of the JWS compact form (RFC 7515 §7.1); null for anything else, which makes it an opaque token. */
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
 * Why a JWT is not sent to the introspection endpoint of a provider; null when it is. A token that names its issuer is sent to that one
 * only: another would learn it. And what it says of its own type and expiry holds whatever the provider answers.
 */
export function introspectionRuledOut(jwt: UnverifiedJwt, { issuerUrl }: ProviderConfig): Refusal | null {
  const { iss, exp } = jwt.payload;
  if (iss !== undefined && iss !== issuerUrl) return 'the issuer is another one';
  if (typeof exp === 'number' && exp * 1000 <= Date.now()) return 'the token has expired';
  return typeRefusal(jwt.header);
}
