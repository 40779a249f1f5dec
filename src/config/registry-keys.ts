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
  /** As configured; null: the key never expires. */
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

/** The path segment before a key, possibly percent-encoded. */
const LEADS_TO_KEY = /^(k|%(?:25)*[46]b)$/i;
/** A slash, plain or percent-encoded any number of times; routers split paths only at plain slashes. */
const SLASH = /(\/|%(?:25)*2f)/i;
/** Key characters, possibly percent-encoded; or any other escape, so that its digits do not count as key characters. */
const WORD_OR_ESCAPE =
  /((?:[\w-]|%(?:25)*(?:2d|3\d|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9a]))+)|%(?:25)*[\da-f]{2}/gi;
const KEY_LENGTH = 43;

/** Writes `{key}` in place of everything in a client's text that could be a registry key. */
export function withoutKeys(text: string): string {
  if (text.length < KEY_LENGTH) return text;
  return text.replaceAll(WORD_OR_ESCAPE, (found, word: string | undefined) =>
    word !== undefined && mayHoldKey(word) ? '{key}' : found,
  );
}

// A key may have run into the text beside it, as in `/k{key}`. Unlike names of that length, keys mix cases and digits.
function mayHoldKey(word: string): boolean {
  const characters = word.replaceAll(/%(?:25)*(..)/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
  if (characters.length <= KEY_LENGTH) return characters.length === KEY_LENGTH;
  return [/[a-z]/, /[A-Z]/, /\d/].every((kind) => kind.test(characters));
}

/**
 * Replaces registry keys in a path with `{key}`, for logs, traces and errors (reference/access). Also handles misplaced
 * keys, because unknown paths are logged too.
 */
export function pathWithoutKeys(path: string): string {
  const names: string[] = [];
  const parts = path.split(SLASH).map((part, index) => {
    if (index % 2 === 1 || part === '') return part;
    const isBelowRegistry = names.length === 3 || names.at(-3)?.toLowerCase() === 'registry';
    const isHidden = isBelowRegistry && LEADS_TO_KEY.test(names.at(-1) ?? '');
    names.push(part);
    return isHidden ? '{key}' : withoutKeys(part);
  });
  return parts.join('');
}
