import { describe, expect, it } from 'vitest';
import { Person } from './person.js';

const OFFICIAL = 'io.modelcontextprotocol.registry/official';

/** A list as long as it has to be. It is answered in the page, in place of the server: no answer takes time. */
interface LongList {
  readonly size: number;
  readonly perPage: number;
  /** Places of what a filter finds. */
  readonly rare: readonly number[];
  /** The page from which on none is answered before `openGate` is called. */
  readonly gateAt?: number;
}

declare global {
  interface Window {
    asked?: number;
    openGate?: () => void;
  }
}

function answerInThePage({ list: { size, perPage, rare, gateAt = Infinity }, official }: InThePage): void {
  const real = window.fetch;
  const now = '2026-01-01T00:00:00Z';
  const gate = new Promise<void>((open) => (window.openGate = open));
  const item = (place: number) => ({
    server: {
      name: `long/server-${place}`,
      description: 'One of many',
      version: '1.0.0',
      remotes: [{ type: rare.includes(place) ? 'sse' : 'streamable-http', url: 'https://example.com/' }],
    },
    _meta: { [official]: { status: 'active', isLatest: true, publishedAt: now, updatedAt: now } },
  });
  window.asked = 0;
  window.fetch = async (request, init) => {
    const { pathname, searchParams } = new URL((request as Request).url);
    if (!pathname.endsWith('/registry/long/v0.1/servers')) return real(request, init);
    window.asked = (window.asked ?? 0) + 1;
    if (window.asked >= gateAt) await gate;
    const begin = Number(searchParams.get('cursor') ?? 0);
    const end = Math.min(begin + perPage, size);
    const servers = Array.from({ length: end - begin }, (_, place) => item(begin + place));
    return Response.json({ servers, metadata: end < size ? { nextCursor: String(end) } : {} });
  };
}

interface InThePage {
  readonly list: LongList;
  readonly official: string;
}

describe('a long list', () => {
  const nobody = new Person(null).comes();

  const shows = async (list: LongList, query: string) => {
    await nobody.goes('/nowhere');
    await nobody.page.reload();
    await nobody.page.evaluate(answerInThePage, { list, official: OFFICIAL });
    await nobody.goes(`/catalogue/long${query}`);
  };
  const asked = () => nobody.page.evaluate(() => window.asked);
  const count = () => nobody.page.locator('.count').innerText();

  it('shows by a filter what stands far down, without being told to look further', async () => {
    await shows({ size: 2_000, perPage: 100, rare: [1_650, 1_999] }, '?transport=sse');
    await expect.poll(count).toBe('2 servers');
    expect(await nobody.cards()).toEqual(['long/server-1650', 'long/server-1999']);
  });

  it('says how far it was looked through, stops when told to, and goes on', async () => {
    // The first pages come at once, the fifth is waited for.
    await shows({ size: 2_000, perPage: 100, rare: [1_650], gateAt: 5 }, '?transport=sse');
    const progress = nobody.page.locator('.paused');
    await progress.getByText('0 of 400 servers looked at so far…').waitFor();
    await progress.getByRole('button', { name: 'Stop' }).click();
    await progress.getByText('0 of 400 servers looked at so far.').waitFor();
    await nobody.page.evaluate(() => window.openGate?.());
    await progress.getByRole('button', { name: 'Look further' }).click();
    await expect.poll(count).toBe('1 server');
  });

  it('is not looked through without an end', async () => {
    await shows({ size: 100_000, perPage: 1, rare: [] }, '?transport=sse');
    await nobody.page.getByRole('button', { name: 'Look further' }).waitFor();
    expect(await asked()).toBe(200);
    expect(await nobody.main.innerText()).not.toContain('Nothing you may see matches');
  });

  it('is scrolled with a few cards in the document, page by page', async () => {
    await shows({ size: 3_000, perPage: 100, rare: [] }, '');
    await nobody.page.locator('.card').first().waitFor();
    for (let turn = 0; turn < 8; turn += 1)
      await nobody.page.evaluate(
        () =>
          new Promise((done) => {
            window.scrollTo(0, document.documentElement.scrollHeight);
            requestAnimationFrame(() => requestAnimationFrame(done));
          }),
      );
    await expect.poll(asked).toBeGreaterThan(5);
    expect(await nobody.page.locator('.card').count()).toBeLessThan(100);
  });

  it('is where it was, search and all, when one comes back', async () => {
    await shows({ size: 3_000, perPage: 100, rare: [] }, '');
    await nobody.page.getByLabel('Search').fill('server');
    await nobody.page.waitForURL(/search=server/);
    await nobody.page.locator('.card').first().waitFor();
    await nobody.page.evaluate(() => window.scrollTo(0, 2_500));
    await expect
      .poll(() => nobody.page.evaluate(() => (history.state as { scrollY?: number } | null)?.scrollY))
      .toBe(2_500);
    // By the page itself: a driver would scroll to what it presses.
    await nobody.page.evaluate(() => document.elementFromPoint(300, 450)?.closest('a')?.click());
    await nobody.page.locator('.entry').waitFor();
    await nobody.page.goBack();
    await expect.poll(() => nobody.page.evaluate(() => window.scrollY)).toBe(2_500);
  });
});
