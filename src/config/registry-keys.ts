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

/** What leads to a key where a path is as it should be, and nowhere where it is not. */
const LEADS_TO_KEY = /^(k|%(?:25)*[46]b)$/i;
/** A slash, also one that is percent-encoded, perhaps more than once, and so is none to whoever routes the request. */
const SLASH = /(\/|%(?:25)*2f)/i;
/** Characters of a key, some of them perhaps percent-encoded; any other escape, so that none of its digits counts as one of a key. */
const WORD_OR_ESCAPE =
  /((?:[\w-]|%(?:25)*(?:2d|3\d|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9a]))+)|%(?:25)*[\da-f]{2}/gi;
const KEY_LENGTH = 43;

/** A text that somebody who is not known has sent, `{key}` in place of what may be the key of a registry. */
export function withoutKeys(text: string): string {
  if (text.length < KEY_LENGTH) return text;
  return text.replaceAll(WORD_OR_ESCAPE, (found, word: string | undefined) =>
    word !== undefined && word.replaceAll(/%(?:25)*../g, 'x').length === KEY_LENGTH ? '{key}' : found,
  );
}

/**
 * A path for a log, a trace or an error: `{key}` in place of the key of a registry (contract §6.1), also where one is misplaced,
 * since a path that leads nowhere is logged too.
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
