import { createHash } from 'node:crypto';
import type { Claims } from '../claims/claims.js';
import { parseTimestamp } from '../validation/value-checks.js';

/** A registry key as stored: its digest, never the key itself (reference/access). */
export interface RegistryKey {
  readonly name: string;
  /** SHA-256 of the key, in hexadecimal. A salt is unnecessary, because a key has 32 random bytes. */
  readonly digest: string;
  readonly secretFile: string;
  readonly claims: Claims;
  /** The configured expiry; null if the key never expires. */
  readonly expires: string | null;
}

const KEY = /^[A-Za-z0-9_-]{43}$/;

/** Message for a file without a key; does not quote the content. */
export const NO_KEY =
  "contains no key of 43 base64url characters: create one with openssl rand -base64 32 | tr '+/' '-_' | tr -d '='";

/** reference/access: a key is 43 base64url characters, which encode 32 bytes. */
export function isKey(content: string): boolean {
  return KEY.test(content);
}

/** Returns the digest by which a key is stored and compared. */
export function keyDigest(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

/** Parses the expiry of a key: a time, or a date, which means 00:00 UTC. Returns null for anything else. */
export function parseExpiry(expires: string): Date | null {
  return parseTimestamp(/^\d{4}-\d\d-\d\d$/.test(expires) ? `${expires}T00:00:00Z` : expires);
}

/** Whether a key has expired; an invalid expiry counts as expired. */
export function isExpired({ expires }: Pick<RegistryKey, 'expires'>, nowMs: number): boolean {
  if (expires === null) return false;
  const moment = parseExpiry(expires);
  return moment === null || moment.getTime() <= nowMs;
}
