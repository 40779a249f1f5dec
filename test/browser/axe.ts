import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Finding {
  readonly id: string;
  readonly nodes: readonly { readonly html: string }[];
}

interface Axe {
  run(context: Document, options: object): Promise<{ violations: Finding[] }>;
}

/** Returns the violations that axe finds on a page, of any impact. */
export async function axeFindings(page: Page): Promise<string[]> {
  // The page's code is loaded when it is first shown.
  await page.locator('h1').first().waitFor({ state: 'attached' });
  // Results of an earlier search are faded until the new ones arrive.
  await page.waitForFunction(() => document.querySelector('.is-stale') === null);
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(AXE);
  const findings = await page.evaluate(async () => {
    const { axe } = window as unknown as { axe: Axe };
    return (await axe.run(document, { resultTypes: ['violations'] })).violations;
  });
  return findings.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`);
}
