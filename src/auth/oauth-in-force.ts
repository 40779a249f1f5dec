import { isDeepStrictEqual } from 'node:util';
import type { OAuthConfig } from '../config/config.js';
import { type Caller, identityOf } from './caller.js';
import type { TokenVerifier } from './token-verifier.js';

/**
 * The OAuth settings in force. A reload replaces the providers and the blocked callers; everything else waits for a restart
 * (reference/commands).
 */
export class OAuthInForce {
  /** @param current Null in anonymous mode, as is the verifier. */
  constructor(
    private current: OAuthConfig | null,
    private readonly verifier: TokenVerifier | null,
    private readonly blocked: BlockedCallers,
  ) {}

  /** Null in anonymous mode. */
  get settings(): OAuthConfig | null {
    return this.current;
  }

  /**
   * Returns the settings that `replace` would bring into force. Unchanged providers stay the same objects, because
   * policies and caches recognize them by identity.
   */
  reloaded(next: OAuthConfig | undefined): OAuthConfig | null {
    if (!this.current || !next) return this.current;
    const { providers } = this.current;
    return {
      ...this.current,
      providers: next.providers.map((one) => providers.find((old) => isDeepStrictEqual(old, one)) ?? one),
      blocked: next.blocked,
    };
  }

  /** Refuses the callers that these settings block, in addition to those refused already. */
  narrow(next: OAuthConfig | null): void {
    this.blocked.replace([...(this.current?.blocked ?? []), ...(next?.blocked ?? [])]);
  }

  /**
   * Brings settings into force that `reloaded` returned. All tokens are checked by them from now on, including cached
   * ones.
   */
  replace(next: OAuthConfig | null): void {
    if (next) this.verifier?.replace(next.providers);
    this.blocked.replace(next?.blocked ?? []);
    this.current = next;
  }

  /** Returns a function that computes a value from the settings in force, once for all calls until they change. */
  derive<T>(compute: (settings: OAuthConfig | null) => T): () => T {
    let last: { readonly from: OAuthConfig | null; readonly value: T } | undefined;
    return () => {
      if (last?.from !== this.current || !last) last = { from: this.current, value: compute(this.current) };
      return last.value;
    };
  }
}

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
