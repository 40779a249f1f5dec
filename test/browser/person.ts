import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, inject } from 'vitest';

/** What the browser itself says of an answer that is a refusal. */
const OF_A_REFUSAL = /^Failed to load resource: the server responded with a status of 4\d\d/;

declare global {
  interface Window {
    violations?: string[];
  }
}

/** Somebody at the page, logged in once for all tests of a file. After each, nothing may have been complained about. */
export class Person {
  page!: Page;
  context!: BrowserContext;
  readonly origin = inject('demo').origin;
  /** Of the page, without a slash. */
  address = this.origin;
  private browser!: Browser;
  private complaints: string[] = [];

  /**
   * @param user of the demo; null: nobody has logged in.
   * @param at where the page is, if it is not at the root of the demo.
   */
  constructor(
    private readonly user: string | null,
    private readonly at?: () => Promise<string>,
  ) {}

  comes(): this {
    beforeAll(async () => {
      this.browser = await chromium.connect(inject('browser'));
      this.context = await this.browser.newContext({ viewport: { width: 1280, height: 900 } });
      await this.context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: this.origin });
      this.context.setDefaultTimeout(15_000);
      await this.context.addInitScript(() => {
        window.violations = [];
        document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
          window.violations?.push(`${violatedDirective} ${blockedURI}`),
        );
      });
      this.page = await this.context.newPage();
      this.page.on('console', (message) => {
        const text = message.text();
        if (['error', 'warning'].includes(message.type()) && !OF_A_REFUSAL.test(text))
          this.complaints.push(text);
      });
      this.page.on('pageerror', (error) => this.complaints.push(error.message));
      if (this.at) this.address = await this.at();
      await this.page.goto(`${this.address}/`);
      if (this.user !== null) await this.logsIn(this.user);
    });
    afterAll(() => this.browser?.close());
    afterEach(async () => {
      const violations = await this.page.evaluate(() => window.violations);
      expect({ violations: violations ?? [], complaints: this.complaints.splice(0) }).toEqual({
        violations: [],
        complaints: [],
      });
    });
    return this;
  }

  async logsIn(user: string): Promise<void> {
    await this.page.getByRole('button', { name: 'Log in' }).first().click();
    await this.page.getByRole('button', { name: user }).click();
    await this.page.locator('.who summary', { hasText: user }).waitFor();
  }

  /** Holds requests of this address back until what comes from here is called. */
  async holdsBack(url: string): Promise<() => Promise<void>> {
    let letGo = (): void => undefined;
    const held = new Promise<void>((resolve) => (letGo = resolve));
    await this.page.route(url, async (route) => {
      await held;
      await route.continue();
    });
    return () => {
      letGo();
      return this.page.unrouteAll({ behavior: 'wait' });
    };
  }

  /** Goes to a place of the page by its address. */
  async opens(place: string): Promise<void> {
    await this.page.goto('about:blank');
    await this.page.goto(`${this.address}/#${place}`);
  }

  /** The same without loading the page again. */
  async goes(place: string): Promise<void> {
    await this.page.evaluate((hash) => {
      location.hash = hash;
    }, place);
  }

  async menu(): Promise<string[]> {
    return this.page.locator('header nav a').allInnerTexts();
  }

  /** Names on the cards that are there. */
  async cards(): Promise<string[]> {
    await this.page.locator('.card, .empty, .refusal').first().waitFor();
    return this.page.locator('.card .card-name').allInnerTexts();
  }

  /** What the page shows of a refusal: the sentence and the code. */
  async refusal(): Promise<{ sentence: string; code: string; hasRequest: boolean }> {
    const refusal = this.page.locator('main .refusal').first();
    await refusal.waitFor();
    const codes = await refusal.locator('.refusal-source code').allInnerTexts();
    return {
      sentence: await refusal.locator('.refusal-sentence').innerText(),
      code: codes[0] ?? '',
      hasRequest: /^[0-9a-f-]{36}$/.test(codes[1] ?? ''),
    };
  }

  get main() {
    return this.page.locator('main');
  }

  button(name: string) {
    return this.main.getByRole('button', { name, exact: true });
  }

  link(name: string) {
    return this.main.getByRole('link', { name, exact: true });
  }
}
