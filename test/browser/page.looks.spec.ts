import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { Person } from './person.js';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Finding {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string }[];
}

interface Axe {
  run(what: Document, options: object): Promise<{ violations: Finding[] }>;
}

/** Places of the page, and what is there once it is ready to be looked at. */
const PLACES = [
  ['/catalogue/acme', '.card'],
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
  ['/access?registry=acme', '.decision'],
  ['/activity', '.events tbody tr'],
] as const;

describe('every place of the page', () => {
  const manager = new Person('max').comes();

  it.each(PLACES)('is accessible in light and dark, and fits a phone: %s', async (place, ready) => {
    const { page } = manager;
    await manager.goes(place);
    await page.locator(ready).first().waitFor();
    await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
    expect(await serious()).toEqual([]);
    // Of all that is looked for, the colours alone are others.
    await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
    expect(await serious(['color-contrast'])).toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  const serious = async (rules?: readonly string[]) => {
    if (!(await manager.page.evaluate(() => 'axe' in window))) await manager.page.evaluate(AXE);
    const findings = await manager.page.evaluate(async (only) => {
      const { axe } = window as unknown as { axe: Axe };
      const options = { resultTypes: ['violations'], ...(only ? { runOnly: only } : {}) };
      return (await axe.run(document, options)).violations;
    }, rules);
    return findings
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`);
  };
});
