import { describe, expect, it } from 'vitest';
import { axeFindings } from './axe.js';
import { BrowserUser } from './browser-user.js';

/** Pages, each with a selector that is present once the page has rendered. */
const PAGES: readonly (readonly [path: string, ready: string])[] = [
  ['/catalogue', '.card'],
  ['/catalogue/acme', '.card'],
  ['/catalogue/acme/skill/com.example.platform%2Fincident-review', '.install'],
  ['/connect/acme', '.connect-grid'],
  ['/catalogue/acme?search=nothing-like-this', '.empty'],
  ['/catalogue/acme/server/com.example.payments%2Fledger', '.entry h1'],
  ['/catalogue/none', '.refusal'],
  ['/publish', '.editor'],
  ['/sources', 'tbody tr'],
  ['/sources/platform', '.bars'],
  ['/sources/+new', '.field'],
  ['/registries/+new', '.field'],
  ['/publish/server/io.modelcontextprotocol.example%2Fnone', '.refusal'],
  ['/registries', 'tbody tr'],
  ['/registries/acme', '.order li'],
  ['/access', '.aside'],
  ['/access?registry=acme', '.decision'],
  ['/activity', '.events tbody tr'],
  ['/review', '.queue, .empty'],
];
const SUPER_ADMIN_PAGES: typeof PAGES = [
  ['/review/blocks', 'table, .empty'],
  ['/review/blocks/+new', '.field'],
  ['/access/who/server/com.example.payments%2Fledger?registry=acme', 'tbody tr'],
  ['/webhooks', '.empty'],
];

describe.each([
  ['max', PAGES],
  ['ada', SUPER_ADMIN_PAGES],
] as const)('web UI: every page of %s', (user, pages) => {
  const manager = new BrowserUser(user).start({ checksAxe: false });

  it.each(pages)('passes axe in light and dark mode and fits a phone: %s', async (path, ready) => {
    const { page } = manager;
    await manager.goTo(path);
    await page.locator(ready).first().waitFor();
    await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
    expect(await axeFindings(page)).toEqual([]);
  });
});
