import { describe, expect, it } from 'vitest';
import { BrowserUser } from './browser-user.js';

declare global {
  interface Window {
    requests?: number;
  }
}

const PER_PAGE = 100;

/** Returns search results for a registry of any size in the browser instead of the server, so that it takes no time. */
function stubFetch({ size, perPage }: { size: number; perPage: number }): void {
  const real = window.fetch;
  const item = (position: number) => ({
    type: 'server',
    name: `long/server-${position}`,
    description: 'One of many',
    version: '1.0.0',
    status: 'active',
    tags: [],
    transports: ['sse'],
    installable: true,
    updatedAt: '2026-01-01T00:00:00Z',
  });
  window.requests = 0;
  window.fetch = async (request, init) => {
    const { pathname, searchParams } = new URL((request as Request).url);
    if (!pathname.endsWith('/registry/long/v0.1/x/search')) return real(request, init);
    window.requests = (window.requests ?? 0) + 1;
    const begin = Number(searchParams.get('cursor') ?? 0);
    const end = Math.min(begin + perPage, size);
    const items = Array.from({ length: end - begin }, (_, index) => item(begin + index));
    const found = searchParams.get('installable') === 'true' ? size - 200 : size;
    const facets = { type: { server: found }, tag: {}, transport: { sse: found } };
    return Response.json({ items, facets, metadata: end < size ? { nextCursor: String(end) } : {} });
  };
}

describe('web UI: catalog list', () => {
  const visitor = new BrowserUser(null).start();

  const show = async (size: number) => {
    await visitor.goTo('/nowhere');
    await visitor.page.reload();
    await visitor.page.evaluate(stubFetch, { size, perPage: PER_PAGE });
    await visitor.goTo('/catalogue/long');
  };
  const requests = () => visitor.page.evaluate(() => window.requests);

  it('loads pages while scrolling and renders only nearby cards', async () => {
    await show(3_000);
    await visitor.page.locator('.card').first().waitFor();
    for (let scrolls = 0; scrolls < 8; scrolls += 1)
      await visitor.page.evaluate(
        () =>
          new Promise((done) => {
            window.scrollTo(0, document.documentElement.scrollHeight);
            requestAnimationFrame(() => requestAnimationFrame(done));
          }),
      );
    await expect.poll(requests).toBeGreaterThan(5);
    expect(await visitor.page.locator('.card').count()).toBeLessThan(100);
    expect(await visitor.page.locator('.count').innerText()).toBe('3,000 entries');
  });

  it('counts the installable servers, even of entries that are not loaded yet', async () => {
    await show(3_000);
    await expect
      .poll(() =>
        visitor.main.getByRole('group', { name: 'Installation' }).getByRole('button').allInnerTexts(),
      )
      .toEqual(['In editors and agents\n2,800', 'ToolHive only or not at all\n200']);
  });

  it('restores the search and scroll position on navigating back', async () => {
    await show(3_000);
    await visitor.page.getByLabel('Search').fill('server');
    await visitor.page.waitForURL(/search=server/);
    await visitor.page.locator('.card').first().waitFor();
    await visitor.page.evaluate(() => window.scrollTo(0, 2_500));
    await expect
      .poll(() => visitor.page.evaluate(() => (history.state as { scrollY?: number } | null)?.scrollY))
      .toBe(2_500);
    // Uses the DOM's click(), because Playwright's scrolls to the element first.
    await visitor.page.evaluate(() => document.elementFromPoint(300, 450)?.closest('a')?.click());
    await visitor.page.locator('.entry').waitFor();
    await visitor.page.goBack();
    await expect.poll(() => visitor.page.evaluate(() => window.scrollY)).toBe(2_500);
  });
});

describe('web UI: all registries', () => {
  const reader = new BrowserUser('dev').start();
  const failures = () => reader.main.locator('.refusal');

  it('shows a failure of several registries once, and retries them', async () => {
    const search = '**/x/search?*';
    await reader.page.route('**/registry', (route) =>
      route.fulfill({ json: { registries: ['acme', 'community'].map((name) => ({ name })) } }),
    );
    await reader.page.route(search, (route) =>
      route.fulfill({ status: 503, json: { error: 'The database is busy', code: 'database_unavailable' } }),
    );
    await reader.goTo('/nowhere');
    await reader.goTo('/catalogue');
    await reader.main.getByText('Not searched: acme, community').waitFor();
    expect(await failures().count()).toBe(1);
    // One of them responds now.
    await reader.page.unroute(search);
    await reader.page.route('**/acme/v0.1/x/search?*', (route) =>
      route.fulfill({ status: 503, json: { error: 'The database is busy', code: 'database_unavailable' } }),
    );
    await reader.button('Try again').click();
    await reader.main.getByText(/^Not searched: acme$/).waitFor();
    await reader.page.locator('.card').first().waitFor();
    await expect.poll(() => reader.main.locator('.count').innerText()).toMatch(/^\d+ entries in 1 registry$/);
    await reader.page.unrouteAll({ behavior: 'wait' });
    await reader.button('Try again').click();
    await expect
      .poll(() => reader.main.locator('.count').innerText())
      .toMatch(/^\d+ entries in 2 registries$/);
    expect(await failures().count()).toBe(0);
  });

  it('does not count an entry of two large registries twice', async () => {
    await reader.page.route('**/x/search?*', (route) => {
      const item = {
        type: 'server',
        name: 'a.acme/both',
        version: '1.0.0',
        status: 'active',
        tags: ['db'],
        transports: [],
        installable: true,
        updatedAt: '2026-01-01T00:00:00Z',
      };
      const facets = { type: { server: 300 }, tag: { db: 300 }, transport: {} };
      return route.fulfill({ json: { items: [item], facets, metadata: { count: 1, nextCursor: 'x' } } });
    });
    await reader.goTo('/nowhere');
    await reader.goTo('/catalogue?search=both');
    await expect
      .poll(() => reader.main.locator('.count').innerText())
      .toMatch(/^At least 300 entries in \d registries$/);
    expect(await reader.main.locator('.filter-panel').innerText()).not.toMatch(/\d/);
    await reader.page.unrouteAll({ behavior: 'wait' });
  });
});

describe('web UI: a server without registries', () => {
  const visitor = new BrowserUser(null).start();

  it.each(['/catalogue', '/connect'])('says what to add in anonymous mode: %s', async (path) => {
    const { page } = visitor;
    await page.route('**/config.json', async (route) => {
      const response = await route.fetch();
      const settings = (await response.json()) as object;
      await route.fulfill({ response, json: { ...settings, mode: 'anonymous', logins: [] } });
    });
    await page.route('**/registry', (route) => route.fulfill({ json: { registries: [] } }));
    for (const list of ['sources', 'registries'])
      await page.route(`**/v1/${list}?*`, (route) => route.fulfill({ json: { [list]: [], metadata: {} } }));
    await visitor.open(path);
    await visitor.main.getByText('Set up your registry').waitFor();
    expect(await visitor.main.innerText()).not.toContain('Ask an administrator');
    await visitor.link('Add a source').waitFor();
    await page.unrouteAll({ behavior: 'wait' });
  });

  it('asks people without a role to contact an administrator', async () => {
    await visitor.open('/catalogue');
    await visitor.logIn('ext');
    await visitor.page.route('**/registry', (route) => route.fulfill({ json: { registries: [] } }));
    await visitor.goTo('/nowhere');
    await visitor.goTo('/catalogue');
    await visitor.main.getByText('Ask an administrator which claims you need').waitFor();
    await visitor.page.unrouteAll({ behavior: 'wait' });
  });
});
