import { api, Failure, unwrap } from '../api/client.js';
import type { PageLogin } from '../api/types.js';
import { session } from './session.js';

/** Keys in sessionStorage. It holds provider names and page load times, never a token. */
const PENDING = 'registry.login';
const LOGGED_IN = 'registry.logged-in';
const LOGGED_OUT = 'registry.logged-out';
const LOADED = 'registry.loaded';

/** OAuth state, returned by the provider unchanged. */
interface LogInState {
  readonly hash: string;
  /** Whether a page reload started the log-in, not the user. */
  readonly isSilent: boolean;
}

/** Loads the settings, and completes a log-in on return from the provider. */
export async function startSession(): Promise<void> {
  const settings = await unwrap(api.GET('/config.json'));
  session.change({ settings });
  if (settings.mode === 'anonymous') return;
  const query = new URLSearchParams(location.search);
  const isReturn = query.has('state') && (query.has('code') || query.has('error'));
  if (isReturn) return completeLogIn();
  const before = loginNamed(sessionStorage.getItem(LOGGED_IN));
  // A reload discards the token; the provider may still have a session.
  if (before) await redirectTo(before, true);
}

export async function logIn(login: PageLogin): Promise<void> {
  await redirectTo(login, false);
}

/** Clears this session only; the provider's session continues. */
export function logOut(): void {
  sessionStorage.removeItem(LOGGED_IN);
  sessionStorage.removeItem(LOADED);
  sessionStorage.setItem(LOGGED_OUT, 'yes');
  history.replaceState(null, '', location.pathname);
  resetAndReload();
}

/** Discards a page that the browser restored from its cache after a log-out or another log-in. */
export function discardRestoredPage(): void {
  const isThisLoad = sessionStorage.getItem(LOADED) === String(performance.timeOrigin);
  if (session.current.token !== null && !isThisLoad) resetAndReload();
}

function resetAndReload(): void {
  session.change({ token: null, me: null });
  location.reload();
}

async function redirectTo(login: PageLogin, isSilent: boolean): Promise<void> {
  const { createUserManager } = await import('./oidc.js');
  sessionStorage.setItem(PENDING, login.provider);
  const state: LogInState = { hash: location.hash, isSilent };
  // After a log-out, the provider must prompt for credentials even if it still has a session.
  const prompt = isSilent ? 'none' : sessionStorage.getItem(LOGGED_OUT) === null ? undefined : 'login';
  try {
    // Replaces this page in the history, so that the back button skips the redirect.
    const options = { redirectMethod: 'replace' as const, ...(prompt === undefined ? {} : { prompt }) };
    await createUserManager(login).signinRedirect({ state, ...options });
  } catch (thrown) {
    sessionStorage.removeItem(LOGGED_IN);
    throw new Failure(
      `The identity provider ${login.provider} could not be reached to log you in`,
      'provider_unreachable',
      0,
      undefined,
      [thrown instanceof Error ? thrown.message : String(thrown)],
    );
  }
  // Never resolves: the browser is leaving the page.
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
    new TokenRenewal(manager, loadCaller).start(user);
  } catch (thrown) {
    sessionStorage.removeItem(LOGGED_IN);
    const { state, message } = thrown as Error & { state?: LogInState };
    if (state) history.replaceState(null, '', location.pathname + state.hash);
    if (state?.isSilent) return;
    throw new Failure(`Logging in with ${login.provider} failed`, 'login_failed', 0, undefined, [message]);
  }
  await loadCaller();
}

async function loadCaller(): Promise<void> {
  const me = await unwrap(api.GET('/v1/me', { params: { query: { claims: true } } }));
  if (session.current.token !== null) session.change({ me });
}

function loginNamed(name: string | null): PageLogin | undefined {
  return session.current.settings.logins.find(({ provider }) => provider === name);
}
