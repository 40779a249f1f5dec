import { describe, expect, it } from 'vitest';
import { BrowserUser } from './browser-user.js';

const LEDGER = '/catalogue/acme/server/com.example.payments%2Fledger';
const HIDDEN = '/catalogue/acme/server/com.example.platform%2FSecrets-Audit';

describe('web UI: visitor who is not logged in', () => {
  const visitor = new BrowserUser(null).start();

  it('sees only the catalog and a login button', async () => {
    await visitor.main.getByRole('button', { name: 'Log in' }).waitFor();
    expect(await visitor.menu()).toEqual(['Catalog']);
  });

  it('opens the page without causing a refusal in the audit trail', async () => {
    const asked: string[] = [];
    visitor.page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await visitor.open('/catalogue');
    await visitor.main.getByRole('button', { name: 'Log in' }).waitFor();
    await visitor.page.waitForLoadState('networkidle');
    expect(asked).toContain('/config.json');
    expect(asked.filter((path) => /^\/(v1|registry)\b/.test(path))).toEqual([]);
    visitor.page.removeAllListeners('request');
  });

  it('sees "Log in to see this" at a registry that requires a token', async () => {
    await visitor.goTo('/catalogue/acme');
    expect(await visitor.refusal()).toEqual({
      sentence: 'Log in to see this',
      code: 'token_missing',
      hasRequest: true,
    });
    expect(await visitor.main.getByRole('button', { name: 'Log in' }).count()).toBe(1);
  });

  it('returns to the requested page after logging in', async () => {
    await visitor.goTo(LEDGER);
    await visitor.refusal();
    await visitor.main.getByRole('button', { name: 'Log in' }).click();
    await visitor.page.getByRole('button', { name: 'dev' }).click();
    await visitor.page.getByRole('heading', { name: 'Ledger' }).waitFor();
    expect(new URL(visitor.page.url())).toMatchObject({ search: '', hash: `#${LEDGER}` });
  });

  it('stays logged in after a reload, without a stored token', async () => {
    const stored = await visitor.page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
    expect(stored).not.toMatch(/eyJ|access_token|refresh_token|id_token/);
    expect(await visitor.page.evaluate(() => document.cookie)).toBe('');
    await visitor.page.reload();
    await visitor.page.locator('.account summary', { hasText: 'dev' }).waitFor();
    await visitor.page.getByRole('heading', { name: 'Ledger' }).waitFor();
  });

  it('reloads a page restored from the back/forward cache after another login', async () => {
    await visitor.page.evaluate(() => {
      sessionStorage.setItem('registry.loaded', 'another page load');
      window.violations = ['restored'];
      window.dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }));
    });
    await expect.poll(() => visitor.page.evaluate(() => window.violations)).toEqual([]);
    await visitor.page.getByRole('heading', { name: 'Ledger' }).waitFor();
  });

  it('sees no entries after logging out, and must log in again', async () => {
    await visitor.page.locator('.account summary').click();
    await visitor.page.getByRole('button', { name: 'Log out' }).click();
    await visitor.page.getByRole('heading', { name: 'MCP servers and skills' }).waitFor();
    expect(await visitor.main.innerText()).not.toContain('Ledger');
    await visitor.goTo(LEDGER);
    expect(await visitor.refusal()).toMatchObject({ code: 'token_missing' });
    await visitor.logIn('ext');
  });

  it('can access only the registry of their organization after logging in', async () => {
    await visitor.goTo('/catalogue');
    expect((await visitor.cards()).every((name) => name.startsWith('io.github.example/'))).toBe(true);
    await expect
      .poll(() => visitor.page.getByRole('list', { name: 'Registries' }).getByRole('link').allInnerTexts())
      .toEqual([expect.stringMatching(/^community \d+ servers · \d+ skill/)]);
    await visitor.goTo('/catalogue/acme');
    expect(await visitor.refusal()).toMatchObject({ code: 'registry_forbidden', hasRequest: true });
  });
});

describe('web UI: reader', () => {
  const reader = new BrowserUser('dev').start();

  it('starts at the registries they can access, with counts', async () => {
    await expect
      .poll(() => reader.page.getByRole('list', { name: 'Registries' }).getByRole('link').allInnerTexts())
      .toEqual([
        expect.stringMatching(/^acme \d+ servers · \d+ skills?/),
        expect.stringMatching(/^community \d+/),
      ]);
    await reader.page.getByRole('heading', { name: 'Featured' }).waitFor();
    const names = await reader.cards();
    expect(names).toEqual([...new Set(names)]);
    await reader.page.setViewportSize({ width: 390, height: 844 });
    await reader.page.getByRole('list', { name: 'Tags' }).getByRole('link').first().click();
    await reader.page.waitForURL(/[?]tag=/);
    await reader.page.setViewportSize({ width: 1280, height: 900 });
    await reader.goTo('/catalogue');
    await expect
      .poll(() => reader.main.locator('.count').innerText())
      .toMatch(/^\d+ entries in 2 registries$/);
    expect(await reader.page.getByLabel('Registry').locator('option').allInnerTexts()).toEqual([
      'All registries',
      'acme',
      'community',
    ]);
  });

  it('sees new entries by their stated date', async () => {
    const item = { type: 'server', version: '1.0.0', status: 'active', tags: [], transports: [] };
    const found = (name: string, more: object) => ({
      ...item,
      name,
      installable: true,
      updatedAt: '',
      ...more,
    });
    const items = [
      found('a.acme/old', { clients: ['vscode'], statedAt: '2020-01-01T00:00:00Z' }),
      found('a.acme/gone', { clients: ['vscode'], statedAt: '2022-01-01T00:00:00Z', status: 'deprecated' }),
      found('a.acme/new', { clients: ['toolhive'], publishedAt: '2021-01-01T00:00:00Z' }),
      found('a.acme/between', { clients: ['vscode'], statedAt: '2020-06-01T00:00:00Z' }),
    ];
    await reader.page.route('**/x/search?*dated=true*', (route) =>
      route.fulfill({ json: { items, facets: { type: {}, tag: {}, transport: {} }, metadata: {} } }),
    );
    const section = reader.main.locator('section', { hasText: 'New and updated' });
    const names = () =>
      section.locator('.card').evaluateAll((cards) => cards.map((card) => card.dataset['name']));
    for (const registry of ['', '/acme']) {
      await reader.goTo('/nowhere');
      await reader.goTo(`/catalogue${registry}`);
      await expect.poll(names).toEqual(['a.acme/new', 'a.acme/between', 'a.acme/old']);
    }
    await section.getByRole('link', { name: 'Show all by date' }).click();
    await reader.page.waitForURL(/catalogue\/acme\?sort=updated/);
    await expect.poll(() => section.count()).toBe(0);
    // Too few.
    items.pop();
    await reader.goTo('/nowhere');
    await reader.goTo('/catalogue/acme');
    await reader.page.locator('.virtual .card').first().waitFor();
    expect(await section.count()).toBe(0);
    await reader.page.unrouteAll({ behavior: 'wait' });
  });

  it('loads little script with the first page', async () => {
    await reader.open('/catalogue');
    await reader.cards();
    const bytes = await reader.page.evaluate(() =>
      (performance.getEntriesByType('resource') as PerformanceResourceTiming[])
        .filter(({ name }) => name.endsWith('.js'))
        .map(({ encodedBodySize }) => encodedBodySize),
    );
    expect(bytes).not.toContain(0);
    expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(60_000);
  });

  it('searches all registries together, or one of them', async () => {
    await reader.goTo('/catalogue?search=no-such-entry');
    await reader.page.getByText('No matches').waitFor();
    expect(await reader.main.locator('.count').innerText()).toBe('0 entries in 2 registries');
    await reader.goTo('/catalogue');
    await reader.cards();
    await reader.page.getByLabel('Search').fill('weather');
    await reader.page.waitForURL(/search=weather/);
    await expect.poll(() => reader.main.locator('.count').innerText()).toMatch(/^1 entry in 2 registries$/);
    expect(await reader.cards()).toEqual(['io.github.example/weather']);
    await reader.page.locator('.found-in').getByRole('link', { name: 'community' }).click();
    await reader.page.waitForURL(/catalogue\/community\?search=weather/);
    await expect.poll(async () => (await reader.cards())[0]).toBe('io.github.example/weather');
    await reader.page.locator('.elsewhere').getByRole('link', { name: 'acme' }).click();
    await reader.page.waitForURL(/catalogue\/acme\?search=weather/);
  });

  it('sees which words and tools matched', async () => {
    for (const registry of ['', '/community']) {
      await reader.goTo(`/catalogue${registry}?search=wether`);
      await reader.page.getByText('Showing results for weather').waitFor();
      await expect.poll(() => reader.cards()).toEqual(['io.github.example/weather']);
    }
    await reader.goTo('/catalogue/acme?search=list_accounts');
    await expect.poll(() => reader.cards()).toEqual(['com.example.payments/ledger']);
    expect(await reader.page.locator('.card').innerText()).toContain('tool list_accounts');
  });

  it('waits while the server prepares the search of a large registry', async () => {
    const busy = { error: 'The search takes too long', code: 'search_too_broad', requestId: 'none' };
    await reader.page.route('**/x/search?*', (route) => route.fulfill({ status: 503, json: busy }), {
      times: 1,
    });
    await reader.goTo('/catalogue/community?search=issues');
    await expect.poll(() => reader.cards()).toEqual(['io.github.example/issues']);
    expect(await reader.main.locator('.refusal').count()).toBe(0);
  });

  it('has a menu without manager pages', async () => {
    // They may have something to review: another spec publishes it.
    const menu = (await reader.menu()).filter((page) => !page.startsWith('Review'));
    expect(menu).toEqual(['Catalog', 'Connect', 'Access']);
  });

  it("sees their own team's entries and none of another team's", async () => {
    await reader.goTo('/catalogue/acme?search=com.example.data%2F');
    await expect.poll(() => reader.cards()).toContain('com.example.data/warehouse');
    await reader.goTo('/catalogue/acme?search=com.example.platform%2F');
    await reader.page.getByText('No matches').waitFor();
  });

  it('gets the same 404 for a hidden entry as for a missing one', async () => {
    const shown = [];
    for (const path of [HIDDEN, '/catalogue/acme/server/com.example.platform%2Fnone']) {
      await reader.goTo(path);
      await reader.page.waitForURL((url) => url.hash === `#${path}`);
      shown.push(await reader.refusal());
    }
    expect(shown[0]).toEqual({
      sentence: 'This does not exist, or you cannot see it',
      code: 'entry_not_found',
      hasRequest: true,
    });
    expect(shown[1]).toEqual(shown[0]);
  });

  it('asks why from every 404, in a prefilled form, and sees the check that decides first', async () => {
    await reader.goTo(HIDDEN);
    await reader.link("Why can't I see this?").click();
    await reader.page.waitForURL(/#\/access\?/);
    expect(await reader.page.getByLabel('Registry').inputValue()).toBe('acme');
    expect(await reader.page.locator('#access-entry').inputValue()).toBe(
      'com.example.platform/Secrets-Audit',
    );
    await reader.page.locator('.decision .badge', { hasText: 'not found' }).waitFor();
    expect(await reader.page.locator('.step').first().innerText()).toContain('Access to the entry');
    expect(await reader.page.getByText('Valid token').isVisible()).toBe(false);
    await reader.page.getByText('Other checks').click();
    await reader.page.getByText('Valid token').waitFor();
  });

  it('copies a message that asks for access, with the request ID', async () => {
    await reader.goTo('/catalogue/acme/server/com.example.platform%2Fnone');
    const refusal = reader.page.locator('.refusal');
    await refusal.getByText('Ask for access').click();
    await refusal.getByRole('button', { name: 'Copy' }).click();
    await refusal.getByText('Copied').waitFor();
    const message = await reader.page.evaluate(() => navigator.clipboard.readText());
    expect(message).toContain('the server com.example.platform/none in the registry acme?');
    expect(message).toContain('I am logged in as dev');
    expect(message).toContain(await refusal.locator('.refusal-source code').last().innerText());
    const [, question = ''] = /why: \S+#\/access\?(\S+)$/.exec(message) ?? [];
    const { as = '{}', ...asked } = Object.fromEntries(new URLSearchParams(question));
    expect(asked).toEqual({ registry: 'acme', entry: 'com.example.platform/none' });
    expect(JSON.parse(as)).toMatchObject({ org: 'acme', team: ['data'] });
  });

  it('finds their own claims in the menu', async () => {
    await reader.page.locator('.account summary').click();
    await reader.page.locator('.account').getByRole('link', { name: 'My claims' }).click();
    await reader.page.getByRole('heading', { name: 'My claims' }).waitFor();
    expect(await reader.main.locator('.aside .chip').allInnerTexts()).toContain('team data');
  });

  it('searches while typing, with the search in the URL', async () => {
    await reader.goTo('/catalogue/acme');
    await reader.page.locator('.card').first().waitFor();
    await reader.page.keyboard.press('/');
    await reader.page.keyboard.type('ledger');
    await expect.poll(() => reader.cards()).toEqual(['com.example.payments/ledger']);
    await reader.page.waitForURL(/search=ledger/);
    await reader.page.getByLabel('Search').fill('');
    await expect.poll(async () => (await reader.cards()).length).toBeGreaterThan(5);
  });

  it('opens an entry by keyboard and returns to the search', async () => {
    await reader.goTo('/catalogue/acme?search=ledger');
    await expect.poll(() => reader.cards()).toEqual(['com.example.payments/ledger']);
    await reader.page.getByLabel('Search').focus();
    await reader.page.keyboard.press('ArrowDown');
    await reader.page.keyboard.press('Enter');
    await reader.page.getByRole('heading', { name: 'Ledger' }).waitFor();
    await expect.poll(() => reader.page.title()).toBe('com.example.payments/ledger · Catalog · Registry');
    await reader.page.goBack();
    await expect.poll(() => reader.cards()).toEqual(['com.example.payments/ledger']);
    await expect.poll(() => reader.page.title()).toBe('acme · Catalog · Registry');
    await expect.poll(() => reader.page.getByLabel('Search').inputValue()).toBe('ledger');
  });

  it('sees the versions, packages, tools and document of an entry', async () => {
    await reader.goTo(LEDGER);
    await reader.page.locator('.entry h1', { hasText: /^Ledger$/ }).waitFor();
    const text = await reader.main.innerText();
    for (const part of [
      'general ledger',
      '1.10.0',
      '1.9.0',
      'oci',
      'LEDGER_TOKEN',
      'secret',
      'list_accounts',
    ])
      expect(text).toContain(part);
    await reader.page.getByRole('link', { name: '1.9.0' }).click();
    await reader.page.getByText('Newer version available').waitFor();
    await reader.page.getByText('Published document').click();
    await expect.poll(() => reader.page.getByLabel('Document').innerText()).toContain('"version": "1.9.0"');
  });

  it('goes to the latest version, which is older than one that was deleted', async () => {
    const versions = '**/servers/*/versions?*';
    await reader.page.route(versions, async (route) => {
      const response = await route.fetch();
      const list = (await response.json()) as {
        servers: { server: object; _meta: Record<string, object> }[];
      };
      const official = 'io.modelcontextprotocol.registry/official';
      const [latest] = list.servers;
      const deleted = { ...latest?._meta[official], status: 'deleted', isLatest: false };
      const newer = {
        server: { ...latest?.server, version: '2.0.0' },
        _meta: { ...latest?._meta, [official]: deleted },
      };
      await route.fulfill({ response, json: { ...list, servers: [newer, ...list.servers] } });
    });
    await reader.goTo('/nowhere');
    await reader.goTo(`${LEDGER}/2.0.0`);
    await reader.page.locator('.entry-head .badge', { hasText: 'deleted' }).waitFor();
    expect(await reader.page.getByText('Newer version available').count()).toBe(0);
    await reader.main.getByRole('link', { name: /^Latest version: / }).click();
    await reader.page.locator('.entry-head .badge', { hasText: 'deleted' }).waitFor({ state: 'detached' });
    expect(await reader.page.getByText(/^(Newer version available|Latest version)/).count()).toBe(0);
    await reader.page.unroute(versions);
  });

  it.each([
    [LEDGER, 1_280],
    [LEDGER, 390],
    ['/catalogue/acme/server/io.github.example%2Fweather', 390],
    ['/catalogue/acme/skill/com.example.data%2Fexplain-query', 390],
  ])('sees no layout shifts while %s loads at %d pixels', async (path, width) => {
    const { page } = reader;
    await page.setViewportSize({ width, height: 844 });
    // One response after another: each is shown before the next arrives.
    let last = Promise.resolve();
    await page.route(/\/(registry|v1)\//, (route) => {
      last = last.then(() => new Promise((done) => setTimeout(done, 150))).then(() => route.continue());
      return last;
    });
    await reader.open(path);
    await page.locator('.install').first().waitFor();
    await page.waitForLoadState('networkidle');
    expect(await page.evaluate(layoutShift)).toBeLessThanOrEqual(0.1);
    await page.unrouteAll({ behavior: 'wait' });
    await page.setViewportSize({ width: 1_280, height: 900 });
  });

  it('enters values once for every client, which never leave the browser', async () => {
    const { page } = reader;
    const sent: string[] = [];
    page.on('request', (request) => sent.push(`${request.url()} ${request.postData() ?? ''}`));
    await reader.goTo(LEDGER);
    await page.getByRole('heading', { name: 'Install' }).waitFor();
    await page.getByRole('radio', { name: 'Claude Code' }).check();
    const command = page.getByLabel('Command for Claude Code');
    expect(await command.textContent()).toContain('--env LEDGER_TOKEN=YOUR_VALUE');
    await page.getByLabel('LEDGER_URL').fill('https://ledger.example');
    await page.getByLabel('LEDGER_TOKEN').fill('a-secret');
    await page.locator('.install').getByRole('button', { name: 'Copy' }).first().click();
    await page.getByText('Copied').waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toMatch(
      /^claude mcp remove --scope user ledger 2>\/dev\/null\nclaude mcp add --scope user --env LEDGER_URL=https:\/\/ledger.example --env LEDGER_TOKEN=a-secret --transport stdio ledger -- docker run /,
    );
    // The other clients read a project file, which uses the same name for the server.
    await page.getByLabel('Install it').selectOption('project');
    expect(await command.textContent()).not.toContain('a-secret');
    await page.getByText('Or add this to').click();
    const file = await page.getByLabel('Configuration for Claude Code').textContent();
    expect(file).toMatch(/"ledger": [^]*"LEDGER_URL": "https:\/\/ledger.example"/);
    expect(file).not.toContain('a-secret');
    await page.getByText('Set these environment variables first').waitFor();
    await page.getByRole('radio', { name: 'ToolHive' }).check();
    expect(await page.getByLabel('Command for ToolHive').textContent()).toContain(
      'thv run --name ledger --env LEDGER_URL=https://ledger.example com.example.payments/ledger',
    );
    await page.getByRole('radio', { name: 'Copilot CLI' }).check();
    expect(await page.getByLabel('Configuration for Copilot CLI').textContent()).toContain('a-secret');
    expect([...sent, page.url()].join('\n')).not.toMatch(/a-secret|ledger\.example/);
    expect(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).not.toContain(
      'a-secret',
    );
    page.removeAllListeners('request');
  });

  it('finds their client still selected after a reload', async () => {
    await reader.page.reload();
    await reader.page.getByRole('heading', { name: 'Install' }).waitFor();
    expect(await reader.page.getByRole('radio', { name: 'Copilot CLI' }).isChecked()).toBe(true);
  });

  it('uses ToolHive to install what no editor can start', async () => {
    const omitted = { reason: 'unsupported_transport', explanation: 'The package listens on a port' };
    const options = [{ kind: 'package', index: 0, clients: [{ client: 'copilot', omitted }] }];
    await reader.page.route('**/x/setup/**', (route) =>
      route.fulfill({ json: { options, runsInToolHive: true } }),
    );
    await reader.goTo('/nowhere');
    await reader.goTo(LEDGER);
    await reader.page.getByLabel('Command for ToolHive').waitFor();
    await reader.page.getByText('Why no other client can start it').click();
    await reader.page.getByText('The package listens on a port.').waitFor();
    await reader.page.unroute('**/x/setup/**');
  });

  it('installs by a link in VS Code and Cursor', async () => {
    await reader.goTo('/nowhere');
    await reader.goTo(LEDGER);
    await reader.page.getByRole('radio', { name: 'Cursor' }).check();
    const cursor = await reader.link('Add to Cursor').getAttribute('href');
    expect(cursor).toMatch(
      /^cursor:\/\/anysphere\.cursor-deeplink\/mcp\/install\?name=[\w.%-]+&config=[\w%]+$/,
    );
    await reader.page.getByRole('radio', { name: 'VS Code' }).check();
    const link = (await reader.link('Install in VS Code').getAttribute('href')) ?? '';
    expect(JSON.parse(decodeURIComponent(link.replace('vscode:mcp/install?', '')))).toMatchObject({
      name: 'com.example.payments/ledger',
      gallery: `${reader.origin}/registry/acme`,
      version: '2.0.0-rc.1',
      env: { LEDGER_TOKEN: '${input:com.example.payments/ledger/LEDGER_TOKEN}' },
    });
  });

  it('chooses the remote or package, and keeps the client', async () => {
    const entry = (url: string) => ({ configuration: { mcpServers: { x: { url } } } });
    const clients = (url: string) => [{ client: 'copilot', ...entry(url) }];
    const omitted = { reason: 'invalid_package', explanation: 'The package is not valid' };
    const options = [
      { kind: 'package', index: 0, clients: [{ client: 'copilot', omitted }] },
      { kind: 'remote', index: 0, clients: clients('https://one.example') },
      { kind: 'remote', index: 1, clients: clients('https://two.example') },
    ];
    await reader.page.route('**/x/setup/**', (route) => route.fulfill({ json: { options } }));
    await reader.page.getByRole('radio', { name: 'Copilot CLI' }).check();
    await reader.goTo('/nowhere');
    await reader.goTo(LEDGER);
    const code = reader.page.getByLabel('Configuration for Copilot CLI');
    await expect.poll(() => code.textContent()).toContain('https://one.example');
    await reader.page.getByLabel('Run as').selectOption({ index: 1 });
    await expect.poll(() => code.textContent()).toContain('https://two.example');
    await reader.page.unroute('**/x/setup/**');
  });

  it('sees why a server cannot be installed', async () => {
    const explanation = 'The package listens on a port';
    const clients = [{ client: 'cursor', omitted: { reason: 'unsupported_transport', explanation } }];
    await reader.page.route('**/x/setup/**', (route) =>
      route.fulfill({ json: { options: [{ kind: 'package', index: 0, clients }] } }),
    );
    await reader.goTo('/nowhere');
    await reader.goTo(LEDGER);
    await reader.page.getByText(`Not installable from here. ${explanation}.`).waitFor();
    await reader.page.unroute('**/x/setup/**');
  });

  it('sees every argument and variable of the configuration', async () => {
    const args = [...Array.from({ length: 2_000 }, (_, n) => `${'a'.repeat(30)}${n}`), 'b'.repeat(9_000)];
    const env = { LAST: `${' '.repeat(3_000)}last` };
    const configuration = { mcpServers: { 'io.acme/long': { command: 'npx', args, env } } };
    const clients = [{ client: 'copilot', configuration }];
    await reader.page.route('**/x/setup/**', (route) =>
      route.fulfill({ json: { options: [{ kind: 'package', index: 0, clients }] } }),
    );
    await reader.goTo('/nowhere');
    await reader.goTo(LEDGER);
    const code = reader.page.getByLabel('Configuration for Copilot CLI');
    expect(await code.textContent()).toBe(JSON.stringify(configuration, null, 2));
    expect(
      await code.evaluate(
        ({ scrollWidth, clientWidth, scrollHeight, clientHeight }) =>
          scrollWidth > clientWidth || scrollHeight > clientHeight,
      ),
    ).toBe(false);
    await reader.page.unroute('**/x/setup/**');
  });

  it('connects clients to a registry', async () => {
    await reader.goTo('/catalogue/community');
    await reader.link('Connect').click();
    const base = `${reader.origin}/registry/community`;
    await expect.poll(() => reader.page.getByLabel('Base URL').innerText()).toBe(base);
    expect(await reader.page.getByLabel('MCP URL', { exact: true }).innerText()).toBe(`${base}/mcp`);
    for (const client of [
      'VS Code',
      'GitHub Copilot',
      'Claude Code',
      'Cursor',
      'Codex',
      'ToolHive',
      'mcp-publisher',
    ])
      expect(await reader.page.getByRole('group', { name: client, exact: true }).innerText()).toContain(base);
  });

  it('sees how to install a skill', async () => {
    await reader.goTo('/catalogue/acme/skill/com.example.docs%2Fplain-language');
    await reader.page.getByRole('radio', { name: 'Codex' }).check();
    expect(await reader.page.getByLabel('Commands', { exact: true }).innerText()).toMatch(
      /^source=\$\(mktemp -d\)\ngit clone .*\nmkdir -p ~\/\.agents\/skills\/[\w-]+\ngit -C "\$source" archive /,
    );
    await reader.page.getByRole('radio', { name: 'ToolHive' }).check();
    expect(await reader.page.getByLabel('Commands for ToolHive').innerText()).toContain('thv skill install ');
  });

  it('finds as many entries with each filter as its count says', async () => {
    // Other specs publish in acme at the same time.
    await reader.goTo('/catalogue/community');
    await reader.cards();
    const all = await reader.main.locator('.count').innerText();
    for (const [group, key] of [
      ['Type', 'type'],
      ['Tag', 'tag'],
      ['Transport', 'transport'],
      ['Publisher', 'publisher'],
      ['Installation', 'installable'],
    ] as const) {
      const value = reader.main.getByRole('group', { name: group }).getByRole('button').first();
      const count = (await value.innerText()).split('\n').at(-1) ?? '';
      await value.click();
      await reader.page.waitForURL(new RegExp(`[?]${key}=`));
      await expect
        .poll(() => reader.main.locator('.count').innerText())
        .toBe(`${count} ${count === '1' ? 'entry' : 'entries'}`);
      await reader.button('Clear filters').click();
      await reader.page.waitForURL((url) => !url.hash.includes('?'));
      await expect.poll(() => reader.main.locator('.count').innerText()).toBe(all);
    }
  });

  it('never sees the time of a sync as the date of an entry', async () => {
    // Its entries come from a file whose documents state no date.
    await reader.goTo('/catalogue/community');
    expect((await reader.cards()).length).toBeGreaterThan(0);
    expect(await reader.main.locator('.card time').count()).toBe(0);
    await reader.goTo('/catalogue?search=weather');
    await expect.poll(() => reader.main.locator('.count').innerText()).toMatch(/^1 entry/);
    expect(await reader.main.locator('.card time').count()).toBe(0);
    await reader.main.locator('.card').first().click();
    await reader.page
      .getByText(/^added here \w+ \d+, \d{4}$/)
      .first()
      .waitFor();
    expect(await reader.main.locator('.entry-facts time').count()).toBe(0);
    await reader.link('← Search results').click();
    await reader.page.waitForURL(/catalogue\?search=weather$/);
    await reader.goTo('/catalogue/community');
    await reader.cards();
  });

  it('sorts by date and name', async () => {
    await reader.page.getByLabel('Sort').selectOption('name');
    await reader.page.waitForURL(/sort=name/);
    await expect
      .poll(async () => {
        const names = await reader.cards();
        return names.every((name, index) => index === 0 || (names[index - 1] ?? '') < name);
      })
      .toBe(true);
  });

  it('clears a search and filters without matches', async () => {
    await reader.goTo('/catalogue/acme?search=ledger&transport=sse&tag=constructor');
    await reader.page.getByText('No matches').waitFor();
    await reader.button('Clear search and filters').click();
    await expect.poll(async () => (await reader.cards()).length).toBeGreaterThan(5);
  });

  it('opens the filters on a phone by a button', async () => {
    await reader.page.setViewportSize({ width: 390, height: 844 });
    const tags = reader.main.getByRole('group', { name: 'Tag' });
    expect(await tags.isVisible()).toBe(false);
    await reader.button('Filters').click();
    await tags.waitFor();
    await reader.page.setViewportSize({ width: 1280, height: 900 });
  });

  it.each(['/sources', '/registries', '/publish', '/activity', '/sources/platform', '/registries/acme'])(
    'sees role_required at %s',
    async (path) => {
      await reader.goTo(path);
      expect(await reader.refusal()).toMatchObject({ code: 'role_required', hasRequest: true });
    },
  );

  it('gets an explanation of why they see an entry', async () => {
    await reader.goTo('/access?registry=acme&entry=com.example.data%2Fwarehouse');
    await reader.page.locator('.decision .badge', { hasText: 'visible' }).waitFor();
    expect(await reader.page.locator('.step.passed').count()).toBeGreaterThan(2);
    expect(await reader.page.locator('.deciding').count()).toBe(0);
  });

  it('gets the same explanation for a hidden entry as for a missing one', async () => {
    const shown = [];
    for (const name of ['com.example.platform/Secrets-Audit', 'com.example.platform/none']) {
      await reader.goTo(`/access?registry=acme&entry=${encodeURIComponent(name)}`);
      await reader.page.locator('.decision .badge', { hasText: 'not found' }).waitFor();
      shown.push(await reader.page.getByLabel('Explanation').innerText());
      await reader.goTo('/access');
      await reader.page.locator('.aside').waitFor();
    }
    expect(shown[1]).toBe(shown[0]);
  });

  it("sees role_required when explaining another caller's access", async () => {
    await reader.goTo(`/access?registry=acme&as=${encodeURIComponent('{"org":"acme","team":"platform"}')}`);
    expect(await reader.refusal()).toMatchObject({ code: 'role_required' });
  });

  it('sees "Page not found" for an unknown page', async () => {
    await reader.goTo('/nowhere');
    await reader.page.getByText('Page not found').waitFor();
  });
});

/** Returns the Cumulative Layout Shift so far (https://web.dev/articles/cls). */
async function layoutShift(): Promise<number> {
  let sum = 0;
  const add = (entries: PerformanceEntryList) => {
    for (const { value, hadRecentInput } of entries as (PerformanceEntry & {
      value: number;
      hadRecentInput: boolean;
    })[])
      if (!hadRecentInput) sum += value;
  };
  const observer = new PerformanceObserver((list) => add(list.getEntries()));
  observer.observe({ type: 'layout-shift', buffered: true });
  // Entries of earlier frames arrive in a separate task.
  for (let frames = 0; frames < 3; frames += 1) await new Promise(requestAnimationFrame);
  await new Promise((done) => setTimeout(done));
  add(observer.takeRecords());
  return sum;
}
