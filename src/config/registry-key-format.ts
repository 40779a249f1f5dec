import { createHash } from 'node:crypto';
import type { Claims } from '../claims/claims.js';
import { parseTimestamp } from '../validation/value-checks.js';

/** A key of a registry as it is stored: what tells the right one, and never the key (contract §6.1). */
export interface RegistryKey {
  readonly name: string;
  /** SHA-256 of the key, in hexadecimal digits: 32 random bytes can't be guessed from it. */
  readonly digest: string;
  readonly secretFile: string;
  readonly claims: Claims;
  /** As it was given; null: never. */
  readonly expires: string | null;
}

const KEY = /^[A-Za-z0-9_-]{43}$/;

/** Why the content of a file is no key. It does not quote the content. */
export const NO_KEY =
  "does not hold a key, which has 43 characters: make one with openssl rand -base64 32 | tr '+/' '-_' | tr -d '='";

/** contract §6.1: 43 base64url characters, which is 32 bytes. */
export function isKey(content: string): boolean {
  return KEY.test(content);
}

/** What is stored of a key, and compared. */
export function keyDigest(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

/** The moment at which a key expires: a time, or a date, which begins at 00:00 UTC. Null for anything else. */
export function parseExpiry(expires: string): Date | null {
  return parseTimestamp(/^\d{4}-\d\d-\d\d$/.test(expires) ? `${expires}T00:00:00Z` : expires);
}

/** Whether a key is no longer, or not certainly still, to be taken. */
export function isExpired({ expires }: Pick<RegistryKey, 'expires'>, nowMs: number): boolean {
  if (expires === null) return false;
  const moment = parseExpiry(expires);
  return moment === null || moment.getTime() <= nowMs;
}
