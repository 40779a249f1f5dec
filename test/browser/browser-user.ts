import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, inject } from 'vitest';
import { axeFindings } from './axe.js';

/** Logged by the browser itself for every 4xx response, and while the server is busy. */
const CLIENT_ERROR_LOG = /^Failed to load resource: the server responded with a status of (4\d\d|503)/;

declare global {
  interface Window {
    violations?: string[];
  }
}

/** A user of the web UI, logged in once per `describe`. Every test fails on console errors and CSP violations. */
export class BrowserUser {
  page!: Page;
  context!: BrowserContext;
  readonly origin = inject('demo').origin;
  /** Address of the web UI without a trailing slash. */
  address = this.origin;
  private browser!: Browser;
  private consoleErrors: string[] = [];

  /**
   * @param user demo user; null for a visitor who is not logged in.
   * @param findAddress address of the web UI if it is not the demo's root.
   */
  constructor(
    private readonly user: string | null,
    private readonly findAddress?: () => Promise<string>,
  ) {}

  /**
   * Registers the hooks that open the browser, log in and close it.
   *
   * @param checksAxe whether every test also fails on what axe finds on its last page.
   */
  start({ checksAxe = true } = {}): this {
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
        if (['error', 'warning'].includes(message.type()) && !CLIENT_ERROR_LOG.test(text))
          this.consoleErrors.push(text);
      });
      this.page.on('pageerror', (error) => this.consoleErrors.push(error.message));
      if (this.findAddress) this.address = await this.findAddress();
      await this.page.goto(`${this.address}/`);
      if (this.user !== null) await this.logIn(this.user);
    });
    afterAll(() => this.browser?.close());
    afterEach(async () => {
      if (checksAxe) expect(await axeFindings(this.page)).toEqual([]);
      const violations = await this.page.evaluate(() => window.violations);
      expect({ violations: violations ?? [], consoleErrors: this.consoleErrors.splice(0) }).toEqual({
        violations: [],
        consoleErrors: [],
      });
    });
    return this;
  }

  async logIn(user: string): Promise<void> {
    await this.page.getByRole('button', { name: 'Log in' }).first().click();
    await this.page.getByRole('button', { name: user }).click();
    await this.page.locator('.account summary', { hasText: user }).waitFor();
  }

  /** Delays matching requests until the returned function is called. */
  async holdRequests(url: string): Promise<() => Promise<void>> {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    await this.page.route(url, async (route) => {
      await held;
      await route.continue();
    });
    return () => {
      release();
      return this.page.unrouteAll({ behavior: 'wait' });
    };
  }

  /** Loads the web UI at this hash. */
  async open(path: string): Promise<void> {
    await this.page.goto('about:blank');
    await this.page.goto(`${this.address}/#${path}`);
  }

  /** Changes the hash without a reload, and waits until the previous page is gone. */
  async goTo(path: string): Promise<void> {
    await this.page.evaluate(async (hash) => {
      const before = location.hash;
      location.hash = hash;
      if (location.hash === before) return;
      await new Promise((done) => window.addEventListener('hashchange', done, { once: true }));
      // Chromium sometimes stops drawing a page that it does not show.
      const drawn = () =>
        Promise.race([new Promise(requestAnimationFrame), new Promise((done) => setTimeout(done, 1_000))]);
      for (let frames = 0; frames < 2; frames += 1) await drawn();
    }, path);
  }

  async menu(): Promise<string[]> {
    return this.page.locator('header nav a').allInnerTexts();
  }

  /** Names on the rendered cards. */
  async cards(): Promise<string[]> {
    await this.page.locator('.results:not(.is-stale) .card, .empty, .refusal').first().waitFor();
    return this.page
      .locator('.card')
      .evaluateAll((cards) => cards.map((card) => card.getAttribute('data-name') ?? ''));
  }

  /** The error message shown in the web UI. */
  async refusal(): Promise<{ sentence: string; code: string; hasRequest: boolean }> {
    const refusal = this.page.locator('main .refusal').first();
    await refusal.waitFor();
    const codes = await refusal.locator('.refusal-source code').allTextContents();
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
