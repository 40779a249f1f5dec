import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const PHONE_WIDTH = 390;

interface Finding {
  readonly id: string;
  readonly nodes: readonly { readonly html: string }[];
}

interface Axe {
  run(context: Document, options: object): Promise<{ violations: Finding[] }>;
}

/** Returns all violations that axe finds on a page, as it is and on a phone in dark mode. */
export async function axeFindings(page: Page): Promise<string[]> {
  const size = page.viewportSize();
  const asShown = await findingsOf(page);
  await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
  await page.setViewportSize({ width: PHONE_WIDTH, height: 844 });
  const dark = await findingsOf(page);
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  if (size) await page.setViewportSize(size);
  const tooWide = width > PHONE_WIDTH ? [`on a phone: ${width} pixels wide`] : [];
  return [...asShown, ...dark.map((finding) => `on a phone, dark: ${finding}`), ...tooWide];
}

async function findingsOf(page: Page): Promise<string[]> {
  // The page's code is loaded when it is first shown.
  await page.locator('h1').first().waitFor({ state: 'attached' });
  // Results of an earlier search are faded until the new ones arrive.
  await page.waitForFunction(() => document.querySelector('.is-stale') === null, null, { polling: 100 });
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(AXE);
  const findings = await page.evaluate(async () => {
    const { axe } = window as unknown as { axe: Axe };
    return (
      await axe.run(document, { resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } })
    ).violations;
  });
  return findings.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`);
}
