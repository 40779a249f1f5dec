import type { UserManager } from 'oidc-client-ts';
import { api, Failure, failureFrom, unwrap } from '../api/client.js';
import type { PageLogin, PageSettings } from '../api/types.js';
import { hintFor } from './log-in-hints.js';
import { session } from './session.js';

/** Keys in sessionStorage. It holds provider names, page load times and drafts, never a token. */
const PENDING = 'registry.login';
const LOGGED_IN = 'registry.logged-in';
const LOGGED_OUT = 'registry.logged-out';
const LOADED = 'registry.loaded';

/** Holds the ID token, in memory. Undefined before login. */
let userManager: UserManager | undefined;

/** OAuth state, returned by the provider unchanged. */
interface LogInState {
  readonly hash: string;
  /** Whether a page reload, not the user, started the login. */
  readonly isSilent: boolean;
}

/** Loads the settings, and completes a login when the provider returns. */
export async function startSession(): Promise<void> {
  const settings = await unwrap(api.GET('/config.json'));
  session.change({ settings });
  showLook(settings);
  if (settings.mode === 'anonymous') return;
  const query = new URLSearchParams(location.search);
  const isReturn = query.has('state') && (query.has('code') || query.has('error'));
  if (isReturn) return completeLogIn();
  const before = loginNamed(sessionStorage.getItem(LOGGED_IN));
  // A reload discards the token; the provider may still have a session.
  if (before) await redirectTo(before, true);
}

/** Applies `web.accent`. The style is set by script, which the Content Security Policy allows. */
function showLook({ accent }: PageSettings): void {
  if (accent === undefined) return;
  const { style } = document.documentElement;
  style.setProperty('--accent', `light-dark(${accent}, color-mix(in srgb, ${accent} 45%, white))`);
  style.setProperty(
    '--accent-ground',
    `light-dark(color-mix(in srgb, ${accent} 10%, white), color-mix(in srgb, ${accent} 30%, #131517))`,
  );
}

export async function logIn(login: PageLogin): Promise<void> {
  await redirectTo(login, false);
}

/** Ends this session, and the provider's if it supports OpenID Connect RP-Initiated Logout. */
export async function logOut(): Promise<void> {
  sessionStorage.clear();
  sessionStorage.setItem(LOGGED_OUT, 'yes');
  history.replaceState(null, '', location.pathname);
  session.change({ token: null, me: null });
  if (!userManager) return location.reload();
  // The login's parameters would be sent without `extraQueryParams`.
  await userManager
    .signoutRedirect({ extraQueryParams: {}, redirectMethod: 'replace' })
    .catch(() => location.reload());
}

/** Discards a page that the browser restored from its cache after the user logged out or somebody else logged in. */
export function discardRestoredPage(): void {
  const isThisLoad = sessionStorage.getItem(LOADED) === String(performance.timeOrigin);
  if (session.current.token !== null && !isThisLoad) resetAndReload();
}

function resetAndReload(): void {
  session.change({ token: null, me: null });
  location.reload();
}

async function redirectTo(login: PageLogin, isSilent: boolean): Promise<void> {
  const { createUserManager, scopeOf } = await import('./oidc.js');
  sessionStorage.setItem(PENDING, login.provider);
  const state: LogInState = { hash: location.hash, isSilent };
  // The provider must prompt for credentials after a logout, even if it still has a session.
  const prompt = isSilent ? 'none' : sessionStorage.getItem(LOGGED_OUT) === null ? undefined : 'login';
  try {
    // Replaces this page in the history, so that the back button skips the redirect.
    const options = { redirectMethod: 'replace' as const, ...(prompt === undefined ? {} : { prompt }) };
    const manager = createUserManager(login);
    const { scopes_supported: listed } = await manager.metadataService.getMetadata();
    await manager.signinRedirect({ state, scope: scopeOf(login, listed), ...options });
  } catch (thrown) {
    sessionStorage.removeItem(LOGGED_IN);
    throw new Failure(
      `The identity provider ${login.provider} could not be reached to log you in`,
      'provider_unreachable',
      0,
      undefined,
      [thrown instanceof Error ? thrown.message : String(thrown), ...hintFor(thrown)],
    );
  }
  // The promise never resolves, because the browser is leaving the page.
  await new Promise(() => undefined);
}

async function completeLogIn(): Promise<void> {
  const login = loginNamed(sessionStorage.getItem(PENDING));
  const address = location.href;
  sessionStorage.removeItem(PENDING);
  history.replaceState(null, '', location.pathname);
  if (!login) return;
  const { createUserManager, TokenRenewal } = await import('./oidc.js');
  const manager = createUserManager(login);
  try {
    const user = await manager.signinCallback(address);
    if (!user) return;
    history.replaceState(null, '', location.pathname + (user.state as LogInState).hash);
    sessionStorage.setItem(LOGGED_IN, login.provider);
    sessionStorage.setItem(LOADED, String(performance.timeOrigin));
    sessionStorage.removeItem(LOGGED_OUT);
    session.change({ token: user.access_token, isOver: false });
    userManager = manager;
    new TokenRenewal(manager, () => loadCaller(login)).start(user);
  } catch (thrown) {
    sessionStorage.removeItem(LOGGED_IN);
    const { state, message } = thrown as Error & { state?: LogInState };
    if (state) history.replaceState(null, '', location.pathname + state.hash);
    if (state?.isSilent) return;
    const details = [message, ...hintFor(thrown)];
    throw new Failure(`Logging in with ${login.provider} failed`, 'login_failed', 0, undefined, details);
  }
  await loadCaller(login).catch((thrown: unknown) => {
    throw loginRefusal(login, failureFrom(thrown));
  });
}

/** Explains why the API refuses the token of a new login; returns other failures unchanged. */
function loginRefusal({ provider }: PageLogin, failure: Failure): Failure {
  if (failure.status !== 401) return failure;
  sessionStorage.removeItem(LOGGED_IN);
  session.change({ isOver: false });
  const sentence = `This server does not accept the access token from ${provider}`;
  const details = [`${failure.sentence} (${failure.code})`, ...hintFor(failure), ...failure.details];
  return new Failure(sentence, 'login_failed', failure.status, failure.requestId, details);
}

async function loadCaller({ issuer }: PageLogin): Promise<void> {
  const me = await unwrap(api.GET('/v1/me', { params: { query: { claims: true } } }));
  if (session.current.token !== null) session.change({ me: { ...me, issuer } });
}

function loginNamed(name: string | null): PageLogin | undefined {
  return session.current.settings.logins.find(({ provider }) => provider === name);
}
