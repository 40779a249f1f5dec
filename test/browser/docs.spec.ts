import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';

const demo = inject('demo');
let browser: Browser;
let context: BrowserContext;
let page: Page;
let consoleErrors: string[];

beforeAll(async () => {
  browser = await chromium.connect(inject('browser'));
});
afterAll(() => browser?.close());

beforeEach(async () => {
  context = await browser.newContext({ viewport: { width: 1200, height: 1000 } });
  // Swagger UI takes seconds to render, and much longer while other tests run.
  context.setDefaultTimeout(40_000);
  page = await context.newPage();
  consoleErrors = [];
  page.on('console', (message) => {
    if (message.type() === 'error') consoleErrors.push(message.text());
  });
  page.on('pageerror', (error) => consoleErrors.push(error.message));
});
afterEach(async () => {
  await context.close();
  expect(consoleErrors).toEqual([]);
});

describe('/docs (Swagger UI) in oauth mode', () => {
  it('shows 401 without a token, offers only the code flow, and accepts a pasted token', async () => {
    await page.goto(`${demo.origin}/docs`);
    expect(await tryMe()).toMatchObject({ status: '401', body: { code: 'token_missing' } });
    // The browser itself logs a 401.
    consoleErrors = consoleErrors.filter((text) => !text.includes('401'));
    await authorize();
    const forms = page.locator('.auth-container');
    await forms.nth(1).waitFor();
    expect(await forms.count()).toBe(2);
    expect(await forms.nth(1).locator('.scopes .checkbox').allInnerTexts()).toEqual([
      'openid',
      'mcp-registry:read',
      'mcp-registry:write',
    ]);
    const form = page.locator('.auth-container', { hasText: 'bearer' });
    await form.locator('input').fill(demo.tokens['pia'] ?? '');
    await form.getByRole('button', { name: 'Apply credentials' }).click();
    await page.locator('.modal-ux').getByRole('button', { name: 'Close' }).first().click();
    expect(await executeMe()).toMatchObject({ status: '200', body: { subject: 'pia' } });
  });

  it('requests only scopes that the provider lists', async () => {
    const jsonAt = async (url: string) => (await fetch(url)).json() as Promise<Record<string, unknown>>;
    const resource = await jsonAt(`${demo.origin}/.well-known/oauth-protected-resource`);
    const [provider] = resource['authorization_servers'] as string[];
    const document = await jsonAt(`${provider}/.well-known/openid-configuration`);
    // Responds immediately, because /docs waits for a provider only briefly.
    await page.route('**/.well-known/openid-configuration', (route) =>
      route.fulfill({
        headers: { 'Access-Control-Allow-Origin': '*' },
        json: { ...document, scopes_supported: ['email', 'mcp-registry:read'] },
      }),
    );
    await open(`${demo.origin}/docs`);
    const form = page.locator('.auth-container', { hasText: 'demo (OAuth2' });
    const scopes = ['openid', 'mcp-registry:read'];
    await form.getByLabel('client_id').fill('docs');
    expect(await form.locator('.scopes .checkbox').allInnerTexts()).toEqual(scopes);
    const [request] = await Promise.all([
      context.waitForEvent('request', (sent) => /\/auth\?/.test(sent.url())),
      form.getByRole('button', { name: 'Apply given OAuth2 credentials' }).click(),
    ]);
    expect(new URL(request.url()).searchParams.get('scope')).toBe(scopes.join(' '));
  });

  it.each([
    ['the printed address', () => `${demo.origin}/docs`],
    ['a trailing slash', () => `${demo.origin}/docs/`],
    ['another host name', () => `${demo.origin.replace('127.0.0.1', 'localhost')}/docs`],
  ])('logs in at the provider when opened at %s', async (_, address) => {
    await open(address());
    const form = page.locator('.auth-container', { hasText: 'demo (OAuth2' });
    await form.getByLabel('client_id').fill('docs');
    const [window] = await Promise.all([
      context.waitForEvent('page'),
      form.getByRole('button', { name: 'Apply given OAuth2 credentials' }).click(),
    ]);
    await Promise.all([
      window.waitForEvent('close'),
      window.getByRole('button', { name: 'dev' }).click({ noWaitAfter: true }),
    ]);
    await form.getByText('Authorized', { exact: true }).waitFor();
    await form.getByRole('button', { name: 'Close' }).click();
    expect(await tryMe()).toMatchObject({ status: '200', body: { subject: 'dev' } });
  });
});

async function open(address: string): Promise<void> {
  await page.goto(address);
  await authorize();
}

async function authorize(): Promise<void> {
  await page.locator('.scheme-container').getByRole('button', { name: 'Authorize' }).click();
}

/** Sends GET /v1/me with "Try it out". */
async function tryMe(): Promise<{ status: string; body: unknown }> {
  await me().locator('.opblock-summary-control').click();
  await me().getByRole('button', { name: 'Try it out' }).click();
  return executeMe();
}

async function executeMe(): Promise<{ status: string; body: unknown }> {
  const [response] = await Promise.all([
    page.waitForResponse('**/v1/me'),
    me().getByRole('button', { name: 'Execute' }).click(),
  ]);
  const row = me().locator('.live-responses-table tbody tr').first();
  await row.locator('.response-col_status', { hasText: String(response.status()) }).waitFor();
  const status = await row.locator('.response-col_status').innerText();
  const text = await row.locator('.highlight-code code').first().innerText();
  return { status: status.trim(), body: JSON.parse(text) };
}

function me() {
  return page.locator('.opblock', { has: page.locator('[data-path="/v1/me"]') });
}
