import type { OAuthConfig } from '../config/config.js';
import { type Caller, identityOf } from './caller.js';

type Blocked = OAuthConfig['blocked'];

/** The callers that `auth.oauth.blocked` refuses (reference/configuration). A reload replaces the list; the next request sees it. */
export class BlockedCallers {
  private keys: ReadonlySet<string> = new Set();

  constructor(blocked: Blocked = []) {
    this.replace(blocked);
  }

  replace(blocked: Blocked): void {
    this.keys = new Set(blocked.map(({ issuer = EVERY_ISSUER, subject }) => keyOf(issuer, subject)));
  }

  has(caller: Caller): boolean {
    const identity = this.keys.size === 0 ? null : identityOf(caller);
    if (!identity) return false;
    const { issuer, subject } = identity;
    return (
      this.keys.has(keyOf(EVERY_ISSUER, subject)) ||
      (issuer !== null && this.keys.has(keyOf(issuer, subject)))
    );
  }
}

const EVERY_ISSUER = '*';

// A URL contains no space, so no two pairs have the same key.
function keyOf(issuer: string, subject: string): string {
  return `${issuer} ${subject}`;
}
