import { InMemoryWebStorage, UserManager, WebStorageStateStore } from 'oidc-client-ts';
import type { PageLogin } from '../api/types.js';

export { Renewal } from './renewal.js';

/** OpenID Connect with PKCE. Tokens stay in memory; what has to outlive the way to the provider is in the tab's storage. */
export function managerOf(login: PageLogin): UserManager {
  return new UserManager({
    authority: login.issuer,
    client_id: login.clientId,
    redirect_uri: pageAddress(),
    scope: login.scopes.join(' '),
    extraQueryParams: login.parameters,
    extraTokenParams: login.parameters,
    userStore: new WebStorageStateStore({ store: new InMemoryWebStorage() }),
    stateStore: new WebStorageStateStore({ store: sessionStorage }),
    automaticSilentRenew: false,
    monitorSession: false,
    loadUserInfo: false,
  });
}

/** Where the provider sends people back to: the page itself, without what stands behind it. */
function pageAddress(): string {
  return new URL('.', document.baseURI).href;
}
