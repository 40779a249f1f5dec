import { isObject } from '../../json/json-values.js';

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
