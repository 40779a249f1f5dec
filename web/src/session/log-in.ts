import { API_BASE, api, answer } from '../api/client.js';
import { Failure, failureFrom, failureOf } from '../api/failure.js';
import type { PageLogin, PageSettings } from '../api/types.js';
import { session } from './session.js';

/** Names of providers, in the tab's storage: never a token. */
const ON_THE_WAY = 'registry.login';
const LOGGED_IN = 'registry.logged-in';
const LOGGED_OUT = 'registry.logged-out';

interface Return {
  readonly hash: string;
}

/** Reads the settings and, where somebody comes back from the provider, takes up their log-in. */
export async function begin(): Promise<void> {
  const response = await fetch(`${API_BASE}/config.json`, { signal: AbortSignal.timeout(30_000) }).catch(
    (thrown: unknown) => {
      throw failureFrom(thrown);
    },
  );
  if (!response.ok) throw failureOf(response.status, await response.json().catch(() => undefined));
  const settings = (await response.json()) as PageSettings;
  session.change({ settings });
  if (settings.mode === 'anonymous') return;
  const query = new URLSearchParams(location.search);
  const isReturn = query.has('state') && (query.has('code') || query.has('error'));
  if (isReturn) return finish();
  const before = loginNamed(sessionStorage.getItem(LOGGED_IN));
  // Loaded again: the token went with the page, the provider may still know who this is.
  if (before) await leaveFor(before, 'none');
}

export async function logIn(login: PageLogin): Promise<void> {
  await leaveFor(login, sessionStorage.getItem(LOGGED_OUT) === null ? undefined : 'login');
}

/** Forgets everything that was shown. The session at the provider is the provider's. */
export async function logOut(): Promise<void> {
  sessionStorage.removeItem(LOGGED_IN);
  sessionStorage.setItem(LOGGED_OUT, 'yes');
  const { forget } = await import('./oidc.js');
  await forget();
  location.hash = '';
  location.reload();
}

async function leaveFor(login: PageLogin, prompt: string | undefined): Promise<void> {
  const { managerOf } = await import('./oidc.js');
  sessionStorage.setItem(ON_THE_WAY, login.provider);
  const state: Return = { hash: location.hash };
  try {
    await managerOf(login).signinRedirect({ state, ...(prompt === undefined ? {} : { prompt }) });
  } catch (thrown) {
    sessionStorage.removeItem(LOGGED_IN);
    throw new Failure(
      `The identity provider ${login.provider} could not be asked to log you in`,
      'provider_unreachable',
      0,
      undefined,
      [thrown instanceof Error ? thrown.message : String(thrown)],
    );
  }
  // The browser is on its way: nothing of this page is shown any more.
  await new Promise(() => undefined);
}

async function finish(): Promise<void> {
  const login = loginNamed(sessionStorage.getItem(ON_THE_WAY));
  const address = location.href;
  sessionStorage.removeItem(ON_THE_WAY);
  history.replaceState(null, '', location.pathname);
  if (!login) return;
  const { managerOf } = await import('./oidc.js');
  try {
    const user = await managerOf(login).signinCallback(address);
    if (!user) return;
    history.replaceState(null, '', location.pathname + (user.state as Return).hash);
    sessionStorage.setItem(LOGGED_IN, login.provider);
    sessionStorage.removeItem(LOGGED_OUT);
    session.change({ token: user.access_token, isOver: false });
  } catch (thrown) {
    const wasSilent = sessionStorage.getItem(LOGGED_IN) !== null;
    sessionStorage.removeItem(LOGGED_IN);
    const { state, message } = thrown as Error & { state?: Return };
    if (state) history.replaceState(null, '', location.pathname + state.hash);
    if (wasSilent) return;
    throw new Failure(`Logging in at ${login.provider} has failed`, 'login_failed', 0, undefined, [message]);
  }
  await learnWhoThisIs();
}

async function learnWhoThisIs(): Promise<void> {
  const me = await answer(api.GET('/v1/me', { params: { query: { claims: true } } }));
  session.change({ me });
}

function loginNamed(name: string | null): PageLogin | undefined {
  return session.current.settings.logins.find(({ provider }) => provider === name);
}
