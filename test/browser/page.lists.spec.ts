import { describe, expect, it } from 'vitest';
import { Person } from './person.js';

const OFFICIAL = 'io.modelcontextprotocol.registry/official';

/** A list as long as it has to be, answered in place of the server: by its pages, a filter finds what stands far down. */
class LongList {
  asked = 0;
  /** A page that is not answered before. */
  gateAt: { readonly page: number; readonly opened: Promise<void> } | undefined;

  constructor(
    readonly size: number,
    readonly perPage: number,
    readonly rare: ReadonlySet<number>,
  ) {}

  page(address: string): object {
    this.asked += 1;
    const begin = Number(new URL(address).searchParams.get('cursor') ?? 0);
    const end = Math.min(begin + this.perPage, this.size);
    const servers = Array.from({ length: end - begin }, (_, place) => this.item(begin + place));
    const next = end < this.size ? { nextCursor: String(end) } : {};
    return { servers, metadata: { count: servers.length, ...next } };
  }

  private item(place: number): object {
    const now = '2026-01-01T00:00:00Z';
    const remotes = [{ type: this.rare.has(place) ? 'sse' : 'streamable-http', url: 'https://example.com/' }];
    const server = { name: `long/server-${place}`, description: 'One of many', version: '1.0.0', remotes };
    const state = { status: 'active', isLatest: true };
    return {
      server,
      _meta: { [OFFICIAL]: { ...state, publishedAt: now, updatedAt: now, statusChangedAt: now } },
    };
  }
}

describe('a long list', () => {
  const nobody = new Person(null).comes();

  const shows = async (list: LongList, query: string) => {
    await nobody.page.unrouteAll({ behavior: 'ignoreErrors' });
    await nobody.page.route('**/registry/long/v0.1/servers?**', async (route) => {
      const json = list.page(route.request().url());
      if (list.asked === list.gateAt?.page) await list.gateAt.opened;
      await route.fulfill({ json });
    });
    await nobody.goes('/nowhere');
    await nobody.goes(`/catalogue/long${query}`);
  };
  const count = () => nobody.page.locator('.count').innerText();

  it('shows by a filter what stands far down, without being told to look further', async () => {
    await shows(new LongList(2_000, 100, new Set([1_650, 1_999])), '?transport=sse');
    await expect.poll(count).toBe('2 servers');
    expect(await nobody.cards()).toEqual(['long/server-1650', 'long/server-1999']);
  });

  it('says how far it was looked through, stops when told to, and goes on', async () => {
    const list = new LongList(2_000, 100, new Set([1_650]));
    let release = () => {};
    const gate = new Promise<void>((done) => (release = done));
    // The first pages come at once, the fifth is waited for.
    list.gateAt = { page: 5, opened: gate };
    await shows(list, '?transport=sse');
    const progress = nobody.page.locator('.paused');
    await progress.getByText('0 of 400 servers looked at so far…').waitFor();
    await progress.getByRole('button', { name: 'Stop' }).click();
    await progress.getByText('0 of 400 servers looked at so far.').waitFor();
    release();
    await progress.getByRole('button', { name: 'Look further' }).click();
    await expect.poll(count).toBe('1 server');
  });

  it('is not looked through without an end', async () => {
    const list = new LongList(100_000, 1, new Set());
    await shows(list, '?transport=sse');
    await nobody.page.getByRole('button', { name: 'Look further' }).waitFor();
    expect(list.asked).toBe(200);
    expect(await nobody.main.innerText()).not.toContain('Nothing you may see matches');
  });

  it('is scrolled with a few cards in the document, page by page', async () => {
    const list = new LongList(3_000, 100, new Set());
    await shows(list, '');
    await nobody.page.locator('.card').first().waitFor();
    for (let turn = 0; turn < 30; turn += 1) await nobody.page.mouse.wheel(0, 2_000);
    await expect.poll(() => list.asked).toBeGreaterThan(5);
    expect(await nobody.page.locator('.card').count()).toBeLessThan(100);
  });

  it('is where it was, search and all, when one comes back', async () => {
    await shows(new LongList(3_000, 100, new Set()), '');
    await nobody.page.getByLabel('Search').fill('server');
    await nobody.page.waitForURL(/search=server/);
    await nobody.page.locator('.card').first().waitFor();
    await nobody.page.evaluate(() => window.scrollTo(0, 2_500));
    await expect
      .poll(() => nobody.page.evaluate(() => (history.state as { scrollY?: number } | null)?.scrollY))
      .toBe(2_500);
    await nobody.page.locator('.card').nth(20).click();
    await nobody.page.locator('.entry').waitFor();
    await nobody.page.goBack();
    await expect.poll(() => nobody.page.evaluate(() => window.scrollY)).toBe(2_500);
  });
});
