import {
  ErrorResponse,
  InMemoryWebStorage,
  type User,
  UserManager,
  WebStorageStateStore,
} from 'oidc-client-ts';
import type { PageLogin } from '../api/types.js';
import { session } from './session.js';

/** OpenID Connect with PKCE. Tokens stay in memory; only the pending login is in sessionStorage. */
export function createUserManager(login: PageLogin): UserManager {
  return new UserManager({
    authority: login.issuer,
    client_id: login.clientId,
    redirect_uri: redirectUri(),
    post_logout_redirect_uri: redirectUri(),
    extraQueryParams: login.parameters,
    extraTokenParams: login.parameters,
    userStore: new WebStorageStateStore({ store: new InMemoryWebStorage() }),
    stateStore: new WebStorageStateStore({ store: sessionStorage }),
    automaticSilentRenew: false,
    monitorSession: false,
    loadUserInfo: false,
  });
}

/** Returns the `scope` of a login; optional scopes are requested if the discovery document lists them. */
export function scopeOf({ scopes, optionalScopes }: PageLogin, listed: readonly string[] = []): string {
  return [...scopes, ...optionalScopes.filter((scope) => listed.includes(scope))].join(' ');
}

/** Redirect URI: the address of the web UI without query and hash. */
function redirectUri(): string {
  return new URL('.', document.baseURI).href;
}

/** A token is renewed when a quarter of its lifetime is left, but never more than a minute before it expires. */
const LIFETIME_SHARE = 4;
const MAX_MARGIN_MS = 60_000;
const CHECK_MS = 1_000;
const RETRY_MS = 5_000;
/** How long to retry after expiry: a computer that wakes up might not have a network yet. */
const GIVE_UP_MS = 60_000;

/**
 * Renews the session's token with the refresh token; the Content-Security-Policy rules out a silent iframe.
 * Polls the clock, because timers stop while a computer sleeps.
 */
export class TokenRenewal {
  private dueAt = Infinity;
  private endsAt = Infinity;
  private pending: Promise<void> | undefined;
  private timer: number | undefined;

  constructor(
    private readonly manager: UserManager,
    private readonly onRenewed: () => Promise<void>,
  ) {}

  start(user: User): void {
    this.schedule(user);
    this.timer = window.setInterval(() => void this.keepFresh(), CHECK_MS);
    session.keepFresh = () => this.keepFresh();
  }

  private schedule({ expires_in: seconds }: User): void {
    const lifeMs = seconds === undefined ? Infinity : seconds * 1_000;
    this.endsAt = Date.now() + lifeMs;
    this.dueAt = this.endsAt - Math.min(MAX_MARGIN_MS, lifeMs / LIFETIME_SHARE);
  }

  private keepFresh(): Promise<void> {
    if (session.current.token === null) this.stop();
    if (Date.now() < this.dueAt) return Promise.resolve();
    this.pending ??= this.renew().finally(() => (this.pending = undefined));
    return this.pending;
  }

  private async renew(): Promise<void> {
    const before = await this.manager.getUser();
    if (before?.refresh_token === undefined) return this.endAt(this.endsAt);
    try {
      const user = await this.manager.signinSilent();
      if (!user || session.current.token === null) return;
      this.schedule(user);
      session.change({ token: user.access_token });
      // Roles may also have changed. The call is not awaited, because its request needs the new token itself.
      void this.onRenewed().catch(() => undefined);
    } catch (thrown) {
      // An ErrorResponse is final; other failures are retried.
      if (thrown instanceof ErrorResponse) this.endAt(this.endsAt);
      else if (Date.now() < this.endsAt + GIVE_UP_MS) this.dueAt = Date.now() + RETRY_MS;
      else this.endAt(this.endsAt);
    }
  }

  /** Ends the session when the token expires. */
  private endAt(time: number): void {
    this.dueAt = time;
    if (Date.now() < time) return;
    this.stop();
    session.end();
  }

  private stop(): void {
    clearInterval(this.timer);
    this.dueAt = Infinity;
  }
}
