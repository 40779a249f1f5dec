import type { Page } from 'playwright-core';
import { afterAll, describe, expect, inject, it } from 'vitest';
import { BrowserUser } from './browser-user.js';
import { PrefixProxy } from './prefix-proxy.js';

const LEDGER = '/catalogue/acme/server/com.example.payments%2Fledger';

describe('web UI behind a proxy that strips a path prefix', () => {
  const proxy = new PrefixProxy(inject('demo').origin);
  afterAll(() => proxy.stop());
  const manager = new BrowserUser('max', () => proxy.start()).start();

  it('opens a deep link while logged in', async () => {
    await manager.open(LEDGER);
    await manager.page.getByRole('heading', { name: 'Ledger' }).waitFor();
    await manager.page.locator('.account summary', { hasText: 'max' }).waitFor();
    await manager.page.getByRole('heading', { name: 'Install' }).waitFor();
    expect(manager.page.url()).toBe(`${manager.address}/#${LEDGER}`);
  });

  it('navigates between pages and back, even after a reload', async () => {
    await manager.page.getByRole('link', { name: 'Sources' }).click();
    await manager.page.locator('tbody tr').first().waitFor();
    await manager.link('platform').click();
    await manager.page.locator('.bars').waitFor();
    // A reload logs in again without leaving history entries.
    await manager.page.reload();
    await manager.page.locator('.bars').waitFor();
    await manager.page.goBack();
    await manager.page.locator('tbody tr').nth(3).waitFor();
    await manager.page.goBack();
    await manager.page.getByRole('heading', { name: 'Ledger' }).waitFor();
    expect(manager.page.url()).toBe(`${manager.address}/#${LEDGER}`);
  });

  it('redirects to the trailing slash, and sends no request outside the prefix', async () => {
    await manager.page.goto('about:blank');
    await manager.page.goto(manager.address);
    await manager.page.locator('.card').first().waitFor();
    // The browser requests this one itself.
    expect(proxy.strays.filter((path) => path !== '/favicon.ico')).toEqual([]);
  });
});

describe('web UI: session', () => {
  const reader = new BrowserUser('dev').start();

  it('renews the token before it expires, without a reload and without storing a token', async () => {
    const { page } = reader;
    const bearers: string[] = [];
    page.on('request', (request) => bearers.push(request.headers()['authorization'] ?? ''));
    let renewals = 0;
    // The first token expires in four seconds, the renewed one in an hour.
    await page.route('**/token', async (route) => {
      const response = await route.fetch();
      const tokens = (await response.json()) as object;
      const isRenewal = route.request().postData()?.includes('grant_type=refresh_token') ?? false;
      if (isRenewal) renewals += 1;
      await route.fulfill({ response, json: { ...tokens, expires_in: isRenewal ? 3_600 : 4 } });
    });
    await page.reload();
    await page.locator('.card').first().waitFor();
    await page.evaluate(() => (window.violations = ['not reloaded']));
    // The token may have been renewed already on a slow machine.
    const before = bearers.find(Boolean);
    await expect.poll(() => renewals).toBe(1);
    await reader.goTo(LEDGER);
    await page.getByRole('heading', { name: 'Ledger' }).waitFor();
    expect(await page.evaluate(() => window.violations?.splice(0))).toEqual(['not reloaded']);
    expect(bearers.filter(Boolean).at(-1)).not.toBe(before);
    const stored = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
    expect(stored).not.toMatch(/eyJ|access_token|refresh_token|id_token/);
    expect(renewals).toBe(1);
    await page.unrouteAll({ behavior: 'wait' });
  });

  it('ends when the API refuses the token, hides everything and allows logging in again', async () => {
    const { page } = reader;
    await reader.goTo('/catalogue/acme');
    await page.locator('.card').first().waitFor();
    const refused = { error: 'The token is not accepted', code: 'token_invalid', requestId: 'none' };
    await page.route('**/registry/**', (route) => route.fulfill({ status: 401, json: refused }));
    await reader.goTo('/catalogue/acme?search=ledger');
    await page.getByText('Your session has expired').waitFor();
    await expect.poll(() => page.locator('.card, .account summary').count()).toBe(0);
    await page.unrouteAll({ behavior: 'wait' });
    // The provider still has a session, so it does not ask for the user.
    await reader.main.getByRole('button', { name: 'Log in' }).click();
    await page.locator('.account summary', { hasText: 'dev' }).waitFor();
    await expect.poll(() => reader.cards()).toEqual(['com.example.payments/ledger']);
  });

  it('also ends at the provider, which then asks for the user again', async () => {
    const { page } = reader;
    const logOut = page.waitForRequest(LOG_OUT);
    await clickLogOut(page);
    const query = new URL((await logOut).url()).searchParams;
    expect([...query.keys()].sort()).toEqual(['id_token_hint', 'post_logout_redirect_uri']);
    expect(query.get('post_logout_redirect_uri')).toBe(`${reader.address}/`);
    await reader.main.getByRole('button', { name: 'Log in' }).waitFor();
    // The web UI itself would otherwise ask the provider to prompt.
    await page.evaluate(() => sessionStorage.clear());
    await reader.logIn('dev');
  });

  it('ends only in the web UI if the provider has no logout endpoint', async () => {
    const { page } = reader;
    await changeDiscovery(page, { end_session_endpoint: undefined });
    await page.reload();
    await page.locator('.account summary', { hasText: 'dev' }).waitFor();
    const sent: string[] = [];
    page.on('request', (request) => sent.push(request.url()));
    await clickLogOut(page);
    await reader.main.getByRole('button', { name: 'Log in' }).waitFor();
    await page.evaluate(() => sessionStorage.clear());
    await page.getByRole('button', { name: 'Log in' }).first().click();
    await page.locator('.account summary', { hasText: 'dev' }).waitFor();
    expect(sent.filter((url) => LOG_OUT.test(url))).toEqual([]);
    await page.unrouteAll({ behavior: 'wait' });
  });
});

describe('web UI: failed login', () => {
  const visitor = new BrowserUser(null).start();

  it.each([
    { listed: ['openid', 'profile', 'mcp-registry:read'], scope: 'openid mcp-registry:read' },
    { listed: undefined, scope: 'openid' },
  ])(
    'requests $scope if the provider lists $listed, and shows the key when that is refused',
    async ({ listed, scope }) => {
      const { page } = visitor;
      await visitor.open('/catalogue');
      await changeDiscovery(page, { scopes_supported: listed });
      const requested: (string | null)[] = [];
      await page.route('**/auth?*', (route) => {
        const query = new URL(route.request().url()).searchParams;
        requested.push(query.get('scope'));
        const refusal = new URLSearchParams({ error: 'invalid_scope', state: query.get('state') ?? '' });
        return route.fulfill({ status: 302, headers: { location: `${visitor.address}/?${refusal}` } });
      });
      await page.getByRole('button', { name: 'Log in' }).first().click();
      const refusal = page.locator('.refusal', { hasText: 'Logging in with demo failed' });
      await refusal.getByText('set web.logins[].scopes').waitFor();
      expect(requested).toEqual([scope]);
      await page.unrouteAll({ behavior: 'wait' });
    },
  );

  it('mentions the audience if the API refuses the token, and shows no expired session', async () => {
    const { page } = visitor;
    await visitor.open('/catalogue');
    const refused = { error: 'The token is not accepted', code: 'token_invalid', requestId: 'r-1' };
    await page.route('**/v1/me?*', (route) => route.fulfill({ status: 401, json: refused }));
    await page.getByRole('button', { name: 'Log in' }).first().click();
    await page.getByRole('button', { name: 'dev' }).click();
    const refusal = page.locator('.refusal', { hasText: 'does not accept the access token from demo' });
    await refusal.getByText('must be auth.oauth.providers[].audience').waitFor();
    expect(await refusal.locator('.refusal-source').textContent()).toContain('r-1');
    expect(await page.getByText('Your session has expired').count()).toBe(0);
    await page.unrouteAll({ behavior: 'wait' });
    await refusal.getByRole('button', { name: 'Log in' }).click();
    await page.locator('.account summary', { hasText: 'dev' }).waitFor();
  });
});

const LOG_OUT = /\/session\/end\?/;

async function clickLogOut(page: Page): Promise<void> {
  await page.locator('.account summary').click();
  await page.getByRole('button', { name: 'Log out' }).click();
}

/** Changes members of the provider's discovery document; undefined removes one. */
async function changeDiscovery(page: Page, members: Record<string, unknown>): Promise<void> {
  await page.route('**/.well-known/openid-configuration', async (route) => {
    const response = await route.fetch();
    const document = (await response.json()) as object;
    await route.fulfill({ response, json: { ...document, ...members } });
  });
}
