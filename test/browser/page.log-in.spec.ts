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
    await manager.page.getByRole('heading', { name: 'Connect' }).waitFor();
    expect(manager.page.url()).toBe(`${manager.address}/#${LEDGER}`);
  });

  it('navigates between pages and back, also after a reload', async () => {
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
    const before = bearers.filter(Boolean).at(-1);
    await expect.poll(() => renewals).toBe(1);
    await reader.goTo(LEDGER);
    await page.getByRole('heading', { name: 'Ledger' }).waitFor();
    expect(await page.evaluate(() => window.violations?.splice(0))).toEqual(['not reloaded']);
    expect(bearers.filter(Boolean).at(-1)).not.toBe(before);
    const stored = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
    expect(stored).not.toMatch(/eyJ|access_token|refresh_token|id_token/);
    expect(renewals).toBe(1);
    await page.unrouteAll();
  });

  it('ends when the API refuses the token, hides everything and allows logging in again', async () => {
    const { page } = reader;
    await reader.goTo('/catalogue/acme');
    await page.locator('.card').first().waitFor();
    const refused = { error: 'The token is not accepted', code: 'token_invalid', requestId: 'none' };
    await page.route('**/registry/**', (route) => route.fulfill({ status: 401, json: refused }));
    await reader.goTo('/catalogue/acme?search=ledger');
    await page.getByText('Your session has expired').waitFor();
    expect(await page.locator('.card').count()).toBe(0);
    expect(await page.locator('.account summary').count()).toBe(0);
    await page.unrouteAll();
    // The provider still has a session, so it does not ask for the user.
    await reader.main.getByRole('button', { name: 'Log in' }).click();
    await page.locator('.account summary', { hasText: 'dev' }).waitFor();
    await expect.poll(() => reader.cards()).toEqual(['com.example.payments/ledger']);
  });
});
