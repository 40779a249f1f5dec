import { InMemoryWebStorage, type User, UserManager, WebStorageStateStore } from 'oidc-client-ts';
import type { PageLogin } from '../api/types.js';
import { session } from './session.js';

/** Tokens are renewed so long before they run out. */
const NOTICE_SECONDS = 60;

let manager: UserManager | undefined;

/** OpenID Connect with PKCE. Tokens stay in memory; what has to outlive the way to the provider is in the tab's storage. */
export function managerOf(login: PageLogin): UserManager {
  manager = new UserManager({
    authority: login.issuer,
    client_id: login.clientId,
    redirect_uri: pageAddress(),
    scope: login.scopes.join(' '),
    extraQueryParams: login.parameters,
    extraTokenParams: login.parameters,
    userStore: new WebStorageStateStore({ store: new InMemoryWebStorage() }),
    stateStore: new WebStorageStateStore({ store: sessionStorage }),
    automaticSilentRenew: false,
    accessTokenExpiringNotificationTimeInSeconds: NOTICE_SECONDS,
    monitorSession: false,
    loadUserInfo: false,
  });
  const own = manager;
  own.events.addUserLoaded((user) => session.change({ token: user.access_token, isOver: false }));
  own.events.addAccessTokenExpiring(() => void renew(own));
  own.events.addAccessTokenExpired(() => session.refused());
  return own;
}

/** Where the provider sends people back to: the page itself, without what stands behind it. */
export function pageAddress(): string {
  return new URL('.', document.baseURI).href;
}

// By the refresh token alone: an invisible frame would need the page to be framed, which it never is.
async function renew(own: UserManager): Promise<void> {
  const user: User | null = await own.getUser();
  if (user?.refresh_token === undefined) return;
  await own.signinSilent().catch(() => undefined);
}

export async function forget(): Promise<void> {
  await manager?.removeUser();
  manager = undefined;
}
