import { api, answer } from '../api/client.js';
import { Failure } from '../api/failure.js';
import type { PageLogin } from '../api/types.js';
import { session } from './session.js';

/** Names of providers, and which load of the page somebody has logged in at, in the tab's storage: never a token. */
const ON_THE_WAY = 'registry.login';
const LOGGED_IN = 'registry.logged-in';
const LOGGED_OUT = 'registry.logged-out';
const LOADED = 'registry.loaded';

/** What the provider gives back as it was sent. */
interface Return {
  readonly hash: string;
  /** Nobody has asked to log in: the page has, after it was loaded again. */
  readonly isSilent: boolean;
}

/** Reads the settings and, where somebody comes back from the provider, takes up their log-in. */
export async function begin(): Promise<void> {
  const settings = await answer(api.GET('/config.json'));
  session.change({ settings });
  if (settings.mode === 'anonymous') return;
  const query = new URLSearchParams(location.search);
  const isReturn = query.has('state') && (query.has('code') || query.has('error'));
  if (isReturn) return finish();
  const before = loginNamed(sessionStorage.getItem(LOGGED_IN));
  // Loaded again: the token went with the page, the provider may still know who this is.
  if (before) await leaveFor(before, true);
}

export async function logIn(login: PageLogin): Promise<void> {
  await leaveFor(login, false);
}

/** Forgets everything that was shown. The session at the provider is the provider's. */
export function logOut(): void {
  sessionStorage.removeItem(LOGGED_IN);
  sessionStorage.removeItem(LOADED);
  sessionStorage.setItem(LOGGED_OUT, 'yes');
  history.replaceState(null, '', location.pathname);
  startAgain();
}

/** A page that the browser has kept, from before somebody logged out or in: nothing of it is shown. */
export function forgetWhatWasKept(): void {
  const isOurs = sessionStorage.getItem(LOADED) === String(performance.timeOrigin);
  if (session.current.token !== null && !isOurs) startAgain();
}

function startAgain(): void {
  session.change({ token: null, me: null });
  location.reload();
}

async function leaveFor(login: PageLogin, isSilent: boolean): Promise<void> {
  const { managerOf } = await import('./oidc.js');
  sessionStorage.setItem(ON_THE_WAY, login.provider);
  const state: Return = { hash: location.hash, isSilent };
  // Who has logged out is asked who they are, though the provider may still know somebody.
  const prompt = isSilent ? 'none' : sessionStorage.getItem(LOGGED_OUT) === null ? undefined : 'login';
  try {
    // In place of this page in the history: the back button never leads to where one is sent on from.
    const how = { redirectMethod: 'replace' as const, ...(prompt === undefined ? {} : { prompt }) };
    await managerOf(login).signinRedirect({ state, ...how });
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
  const { managerOf, Renewal } = await import('./oidc.js');
  const manager = managerOf(login);
  try {
    const user = await manager.signinCallback(address);
    if (!user) return;
    history.replaceState(null, '', location.pathname + (user.state as Return).hash);
    sessionStorage.setItem(LOGGED_IN, login.provider);
    sessionStorage.setItem(LOADED, String(performance.timeOrigin));
    sessionStorage.removeItem(LOGGED_OUT);
    session.change({ token: user.access_token, isOver: false });
    new Renewal(manager, learnWhoThisIs).begin(user);
  } catch (thrown) {
    sessionStorage.removeItem(LOGGED_IN);
    const { state, message } = thrown as Error & { state?: Return };
    if (state) history.replaceState(null, '', location.pathname + state.hash);
    if (state?.isSilent) return;
    throw new Failure(`Logging in at ${login.provider} has failed`, 'login_failed', 0, undefined, [message]);
  }
  await learnWhoThisIs();
}

async function learnWhoThisIs(): Promise<void> {
  const me = await answer(api.GET('/v1/me', { params: { query: { claims: true } } }));
  if (session.current.token !== null) session.change({ me });
}

function loginNamed(name: string | null): PageLogin | undefined {
  return session.current.settings.logins.find(({ provider }) => provider === name);
}
