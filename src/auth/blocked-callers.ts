import type { OAuthConfig } from '../config/config.js';

type Blocked = OAuthConfig['blocked'];

/** The callers that `auth.oauth.blocked` refuses (contract §2). A reload replaces the list; the next request sees it. */
export class BlockedCallers {
  private keys: ReadonlySet<string> = new Set();

  constructor(blocked: Blocked = []) {
    this.replace(blocked);
  }

  replace(blocked: Blocked): void {
    this.keys = new Set(blocked.map(({ issuer = EVERY_ISSUER, subject }) => keyOf(issuer, subject)));
  }

  /**
   * @param issuer `issuerUrl` of the provider that accepted the token; introspection responses may lack `iss`.
   * @param subject The caller's subject, which may be a client.
   */
  has(issuer: string, subject: string | null): boolean {
    if (this.keys.size === 0 || subject === null) return false;
    return this.keys.has(keyOf(EVERY_ISSUER, subject)) || this.keys.has(keyOf(issuer, subject));
  }
}

const EVERY_ISSUER = '*';

// A URL contains no space, so no two pairs have the same key.
function keyOf(issuer: string, subject: string): string {
  return `${issuer} ${subject}`;
}
