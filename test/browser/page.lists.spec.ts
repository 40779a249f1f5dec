import { describe, expect, it } from 'vitest';
import { BrowserUser } from './browser-user.js';

const OFFICIAL = 'io.modelcontextprotocol.registry/official';

/** A list of any length, answered in the browser instead of by the server so that it takes no time. */
interface LongList {
  readonly size: number;
  readonly perPage: number;
  /** Positions of the entries with transport `sse`. */
  readonly rare: readonly number[];
  /** Requests from this one on wait for `openGate`. */
  readonly gateAt?: number;
}

declare global {
  interface Window {
    requests?: number;
    openGate?: () => void;
  }
}

function stubFetch({ list: { size, perPage, rare, gateAt = Infinity }, official }: StubOptions): void {
  const real = window.fetch;
  const now = '2026-01-01T00:00:00Z';
  const gate = new Promise<void>((open) => (window.openGate = open));
  const item = (position: number) => ({
    server: {
      name: `long/server-${position}`,
      description: 'One of many',
      version: '1.0.0',
      remotes: [{ type: rare.includes(position) ? 'sse' : 'streamable-http', url: 'https://example.com/' }],
    },
    _meta: { [official]: { status: 'active', isLatest: true, publishedAt: now, updatedAt: now } },
  });
  window.requests = 0;
  window.fetch = async (request, init) => {
    const { pathname, searchParams } = new URL((request as Request).url);
    if (!pathname.endsWith('/registry/long/v0.1/servers')) return real(request, init);
    window.requests = (window.requests ?? 0) + 1;
    if (window.requests >= gateAt) await gate;
    const begin = Number(searchParams.get('cursor') ?? 0);
    const end = Math.min(begin + perPage, size);
    const servers = Array.from({ length: end - begin }, (_, index) => item(begin + index));
    return Response.json({ servers, metadata: end < size ? { nextCursor: String(end) } : {} });
  };
}

interface StubOptions {
  readonly list: LongList;
  readonly official: string;
}

describe('web UI: catalogue list', () => {
  const visitor = new BrowserUser(null).start();

  const show = async (list: LongList, query: string) => {
    await visitor.goTo('/nowhere');
    await visitor.page.reload();
    await visitor.page.evaluate(stubFetch, { list, official: OFFICIAL });
    await visitor.goTo(`/catalogue/long${query}`);
  };
  const requests = () => visitor.page.evaluate(() => window.requests);
  const count = () => visitor.page.locator('.count').innerText();

  it('finds matches of a filter far down the list', async () => {
    await show({ size: 2_000, perPage: 100, rare: [1_650, 1_999] }, '?transport=sse');
    await expect.poll(count).toBe('2 servers');
    expect(await visitor.cards()).toEqual(['long/server-1650', 'long/server-1999']);
  });

  it('shows the progress of a filter, stops and continues', async () => {
    // Four pages load at once; the fifth waits for the gate.
    await show({ size: 2_000, perPage: 100, rare: [1_650], gateAt: 5 }, '?transport=sse');
    const progress = visitor.page.locator('.paused');
    await progress.getByText('0 matches in 400 servers…').waitFor();
    await progress.getByRole('button', { name: 'Stop' }).click();
    await progress.getByText('0 matches in 400 servers.').waitFor();
    await visitor.page.evaluate(() => window.openGate?.());
    await progress.getByRole('button', { name: 'Continue' }).click();
    await expect.poll(count).toBe('1 server');
  });

  it('pauses a filter after 200 pages', async () => {
    await show({ size: 100_000, perPage: 1, rare: [] }, '?transport=sse');
    await visitor.page.getByRole('button', { name: 'Continue' }).waitFor();
    expect(await requests()).toBe(200);
    expect(await visitor.main.innerText()).not.toContain('No matching entries');
  });

  it('loads pages while scrolling and renders only nearby cards', async () => {
    await show({ size: 3_000, perPage: 100, rare: [] }, '');
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
  });

  it('restores the search and scroll position on navigating back', async () => {
    await show({ size: 3_000, perPage: 100, rare: [] }, '');
    await visitor.page.getByLabel('Search').fill('server');
    await visitor.page.waitForURL(/search=server/);
    await visitor.page.locator('.card').first().waitFor();
    await visitor.page.evaluate(() => window.scrollTo(0, 2_500));
    await expect
      .poll(() => visitor.page.evaluate(() => (history.state as { scrollY?: number } | null)?.scrollY))
      .toBe(2_500);
    // Clicks in the page: Playwright would scroll to the element first.
    await visitor.page.evaluate(() => document.elementFromPoint(300, 450)?.closest('a')?.click());
    await visitor.page.locator('.entry').waitFor();
    await visitor.page.goBack();
    await expect.poll(() => visitor.page.evaluate(() => window.scrollY)).toBe(2_500);
  });
});
