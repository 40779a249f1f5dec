import { afterAll, describe, expect, inject, it } from 'vitest';
import { Person } from './person.js';
import { PrefixProxy } from './prefix-proxy.js';

const LEDGER = '/catalogue/acme/server/com.example.payments%2Fledger';

describe('the page below a prefix, behind a proxy that removes it', () => {
  const proxy = new PrefixProxy(inject('demo').origin);
  afterAll(() => proxy.stop());
  const manager = new Person('max', () => proxy.start()).comes();

  it('is opened at a deep link, after logging in as before', async () => {
    await manager.opens(LEDGER);
    await manager.page.getByRole('heading', { name: 'Ledger' }).waitFor();
    await manager.page.locator('.who summary', { hasText: 'max' }).waitFor();
    await manager.page.getByRole('heading', { name: 'Connect' }).waitFor();
    expect(manager.page.url()).toBe(`${manager.address}/#${LEDGER}`);
  });

  it('goes from page to page and back', async () => {
    await manager.page.getByRole('link', { name: 'Sources' }).click();
    await manager.page.locator('tbody tr').first().waitFor();
    await manager.link('platform').click();
    await manager.page.locator('.bars').waitFor();
    // Loaded again, it logs in anew, and leaves nothing of that in the history.
    await manager.page.reload();
    await manager.page.locator('.bars').waitFor();
    await manager.page.goBack();
    await manager.page.locator('tbody tr').nth(3).waitFor();
    await manager.page.goBack();
    await manager.page.getByRole('heading', { name: 'Ledger' }).waitFor();
    expect(manager.page.url()).toBe(`${manager.address}/#${LEDGER}`);
  });

  it('is found without the slash, and asks for nothing outside the prefix', async () => {
    await manager.page.goto('about:blank');
    await manager.page.goto(manager.address);
    await manager.page.locator('.card').first().waitFor();
    // The browser itself asks for an icon of the host.
    expect(proxy.strays.filter((path) => path !== '/favicon.ico')).toEqual([]);
  });
});

describe('a log-in', () => {
  const reader = new Person('dev').comes();

  it('is renewed before its token runs out: the page goes on, and keeps no token', async () => {
    const { page } = reader;
    const bearers: string[] = [];
    page.on('request', (request) => bearers.push(request.headers()['authorization'] ?? ''));
    let renewals = 0;
    // As if its token were good for four seconds, and what it is renewed to for an hour.
    await page.route('**/token', async (route) => {
      const response = await route.fetch();
      const tokens = (await response.json()) as object;
      const isRenewal = route.request().postData()?.includes('grant_type=refresh_token') ?? false;
      if (isRenewal) renewals += 1;
      await route.fulfill({ response, json: { ...tokens, expires_in: isRenewal ? 3_600 : 4 } });
    });
    await page.reload();
    await page.locator('.card').first().waitFor();
    await page.evaluate(() => (window.violations = ['not loaded again']));
    const before = bearers.filter(Boolean).at(-1);
    await expect.poll(() => renewals).toBe(1);
    await reader.goes(LEDGER);
    await page.getByRole('heading', { name: 'Ledger' }).waitFor();
    expect(await page.evaluate(() => window.violations?.splice(0))).toEqual(['not loaded again']);
    expect(bearers.filter(Boolean).at(-1)).not.toBe(before);
    const stored = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
    expect(stored).not.toMatch(/eyJ|access_token|refresh_token|id_token/);
    expect(renewals).toBe(1);
    await page.unrouteAll();
  });

  it('that the API no longer takes ends: what was shown is gone, and one can log in again', async () => {
    const { page } = reader;
    await reader.goes('/catalogue/acme');
    await page.locator('.card').first().waitFor();
    const refused = { error: 'The token is not accepted', code: 'token_invalid', requestId: 'none' };
    await page.route('**/registry/**', (route) => route.fulfill({ status: 401, json: refused }));
    await reader.goes('/catalogue/acme?search=ledger');
    await page.getByText('Your log-in has ended').waitFor();
    expect(await page.locator('.card').count()).toBe(0);
    expect(await page.locator('.who summary').count()).toBe(0);
    await page.unrouteAll();
    // The provider still knows them.
    await reader.main.getByRole('button', { name: 'Log in' }).click();
    await page.locator('.who summary', { hasText: 'dev' }).waitFor();
    await expect.poll(() => reader.cards()).toEqual(['com.example.payments/ledger']);
  });
});
