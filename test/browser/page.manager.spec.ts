import { describe, expect, inject, it } from 'vitest';
import { shrunkSentence } from '../../dist/sync/shrink-guard.js';
import { BrowserUser } from './browser-user.js';

describe('web UI: manager', () => {
  const manager = new BrowserUser('max').start();

  it('has all pages in the menu', async () => {
    expect(await manager.menu()).toEqual([
      'Catalog',
      'Connect',
      'Publish',
      expect.stringMatching(/^Review/),
      'Sources',
      'Registries',
      'Access',
      'Activity',
    ]);
  });

  it('sees the current page in the menu on a phone', async () => {
    await manager.page.setViewportSize({ width: 390, height: 844 });
    await manager.goTo('/activity');
    const current = manager.page.locator('header nav a[aria-current]', { hasText: 'Activity' });
    await expect
      .poll(() => current.evaluate((link) => link.getBoundingClientRect().right))
      .toBeLessThanOrEqual(390);
    await manager.page.setViewportSize({ width: 1280, height: 900 });
  });

  it('sees the status of all sources', async () => {
    await manager.goTo('/sources');
    const rows = manager.page.locator('tbody tr');
    await expect.poll(() => rows.count()).toBeGreaterThanOrEqual(4);
    expect(await rows.filter({ hasText: 'platform' }).innerText()).toMatch(/file\s+up to date/);
  });

  it('sees recent runs of a source and starts a sync', async () => {
    await manager.goTo('/sources/platform');
    await manager.page.getByRole('img', { name: /\d+ runs?; the latest \d+ added/ }).waitFor();
    await manager.page.getByText('Show as table').click();
    expect(await manager.page.locator('details tbody tr').first().innerText()).toMatch(/\d m?s$/);
    const before = await manager.page.locator('dd time').first().getAttribute('datetime');
    await manager.button('Sync now').click();
    await expect
      .poll(() => manager.page.locator('dd time').first().getAttribute('datetime'))
      .not.toBe(before);
    await manager.page.locator('h1 .badge', { hasText: 'up to date' }).waitFor();
  });

  it('syncs a shrunk source with allowShrink', async () => {
    const error = shrunkSentence(40, 3);
    await manager.page.route('**/v1/sources/platform', async (route) => {
      const response = await route.fetch();
      const source = (await response.json()) as { sync: object };
      await route.fulfill({
        response,
        json: { ...source, sync: { ...source.sync, status: 'failed', error } },
      });
    });
    await manager.goTo('/sources');
    await manager.goTo('/sources/platform');
    const [request] = await Promise.all([
      manager.page.waitForRequest((sent) => sent.url().endsWith('/sync')),
      manager.button('Sync and remove most entries').click(),
    ]);
    expect(request.postDataJSON()).toEqual({ allowShrink: true });
    await manager.page.unrouteAll({ behavior: 'wait' });
  });

  it('cannot change sources and registries of origin config', async () => {
    await manager.goTo('/sources/platform');
    await manager.button('Sync now').waitFor();
    expect(await manager.button('Delete').count()).toBe(0);
    await manager.goTo('/registries/acme');
    await manager.link('Catalog').waitFor();
    expect(await manager.button('Delete').count()).toBe(0);
    await manager.page.locator('.order li').first().waitFor();
    expect(await manager.page.locator('.order button').count()).toBe(0);
  });

  it('creates a source in a form that shows problems at their fields', async () => {
    await manager.goTo('/sources/+new');
    await manager.page.getByLabel('Name', { exact: true }).fill('elsewhere');
    await manager.page.getByText('Another MCP registry').click();
    await manager.page.getByLabel('Endpoint').fill('ftp://registry.invalid');
    expect(await manager.page.getByRole('combobox', { name: 'Everyone in' }).inputValue()).toContain('acme');
    await manager.page.locator('summary', { hasText: 'Filter' }).click();
    await manager.page.getByLabel('Only these names').focus();
    await manager.page.keyboard.type('com.example/*');
    expect(await manager.page.getByLabel('Only these names').inputValue()).toBe('com.example/*');
    await manager.button('Create').click();
    expect(await manager.refusal()).toMatchObject({ code: 'invalid_body' });
    expect(
      await manager.page
        .locator('.field', { has: manager.page.getByLabel('Endpoint') })
        .last()
        .innerText(),
    ).toContain('http');
    // Shown once, at the field, which has the focus.
    expect(await manager.main.locator('.refusal').innerText()).not.toContain('endpoint');
    expect(
      await manager.page.getByLabel('Endpoint').evaluate((field) => field === document.activeElement),
    ).toBe(true);
    await manager.page.getByLabel('Endpoint').fill('https://registry.invalid');
    await manager.button('Create').click();
    await manager.page.getByRole('heading', { name: 'elsewhere' }).waitFor();
  });

  it('sees only settings that the server accepts, and only the fields of the chosen alternative', async () => {
    await manager.goTo('/sources/+new');
    await manager.page.getByText('One commit').waitFor();
    // The demo has a managed source, no namespaces and no folders for administrators.
    for (const refused of ['Published entries', 'Kubernetes cluster', 'Private key (ssh)'])
      expect(await manager.page.getByText(refused).count(), refused).toBe(0);
    await manager.page.route('**/v1/source-kinds', (route) =>
      route.fulfill({ json: { kinds: ['file', 'git', 'kubernetes'], files: true } }),
    );
    await manager.goTo('/sources');
    await manager.link('New source').click();
    await manager.page.getByText('Kubernetes cluster').waitFor();
    await manager.page.getByText('One commit').waitFor();
    expect(await manager.page.getByLabel('Commit', { exact: true }).count()).toBe(0);
    await manager.page.getByText('One commit').click();
    await manager.page.getByLabel('Commit', { exact: true }).fill('abc');
    await manager.page.getByText('A branch', { exact: true }).click();
    expect(await manager.page.getByLabel('Branch', { exact: true }).inputValue()).toBe('');
    await manager.page.getByText('Private key (ssh)').click();
    await manager.page.getByLabel('Private key file').waitFor();
    expect(await manager.page.getByLabel('Password file', { exact: true }).count()).toBe(0);
    await manager.page.unrouteAll({ behavior: 'wait' });
  });

  it('chooses who sees the entries of a source: nobody is left out by accident', async () => {
    await manager.goTo('/sources');
    await manager.goTo('/sources/+new');
    const { page } = manager;
    await page.getByLabel('Super-admins only').check();
    await page.getByText('Nobody else sees its entries').waitFor();
    expect(await manager.button('Create').isEnabled()).toBe(true);
    await page.getByLabel('People with these claims').check();
    expect(await manager.button('Create').isEnabled()).toBe(false);
    await page.getByLabel('Claims: key').fill('team');
    await page.getByLabel('Claims: value').fill('data');
    await page.keyboard.press('Enter');
    expect(await manager.button('Create').isEnabled()).toBe(true);
  });

  it('sees who gains and loses access before changed claims are saved', async () => {
    await manager.goTo('/sources/elsewhere/edit');
    const { page } = manager;
    const change = (sentence: string, claims: object, more: object) => ({
      sentence,
      claims,
      ...{ gains: 0, loses: 0, moves: 0 },
      ...more,
    });
    const changes = [
      change('org is acme', { org: 'acme' }, { loses: 1_200 }),
      change('org is acme and team is data', { org: 'acme', team: 'data' }, { gains: 1, moves: 2 }),
    ];
    await page.route('**/v1/sources/elsewhere/access', (route) =>
      route.request().method() === 'POST' ? route.fulfill({ json: { changes } }) : route.continue(),
    );
    const sent = page.waitForRequest((request) => request.method() === 'POST');
    await page.getByRole('combobox', { name: 'Everyone in' }).selectOption({ label: 'team data' });
    expect((await sent).postDataJSON()).toMatchObject({ claims: { team: 'data' } });
    await page.getByText('People whose org is acme lose 1,200 entries').waitFor();
    await page.getByText('gain 1 entry and get 2 entries from another source').waitFor();
    await page.unrouteAll({ behavior: 'wait' });
    await page.getByLabel('Super-admins only').check();
    await page.getByText('Nobody gains or loses access to entries.').waitFor();
  });

  it('can set the format of a repository and the namespace of its plugins', async () => {
    const git = {
      repository: 'https://git.invalid/acme/plugins.git',
      format: 'marketplace',
      namespace: 'com.acme',
    };
    await manager.goTo('/sources/+new');
    await manager.page.getByLabel('Name', { exact: true }).fill('named');
    await manager.page.getByLabel('Repository', { exact: true }).fill(git.repository);
    await manager.page.getByLabel('Format', { exact: true }).selectOption('Plugin marketplace');
    await manager.page.getByLabel('Namespace of plugins and skills').fill(git.namespace);
    const result = { status: 'failed', error: 'No such host', counts: {}, skipped: [] };
    await manager.page.route('**/v1/sources/named/test', (route) => route.fulfill({ json: result }));
    const sent = manager.page.waitForRequest('**/v1/sources/named/test');
    await manager.button('Test').click();
    expect((await sent).postDataJSON()).toMatchObject({ git });
    await manager.page.getByText('No such host').waitFor();
    await manager.page.unrouteAll({ behavior: 'wait' });
  });

  it('tests settings before saving them', async () => {
    await manager.goTo('/sources/+new');
    await manager.page.getByLabel('Name', { exact: true }).fill('tried');
    await manager.page.getByText('Another MCP registry').click();
    await manager.page.getByLabel('Endpoint').fill('https://registry.invalid');
    await manager.button('Test').click();
    await manager.page.getByText('The source cannot be read').waitFor();
    expect(await manager.main.getByRole('status').last().innerText()).toContain('registry.invalid');
    const skipped = [{ name: 'io.acme/broken', version: null, reasons: ['server.description: is required'] }];
    const counts = { entries: 471, skipped: 3, filtered: 0 };
    await manager.page.route('**/v1/sources/tried/test', (route) =>
      route.fulfill({ json: { status: 'complete', format: 'marketplace', counts, skipped } }),
    );
    await manager.button('Test').click();
    await manager.page.getByText('The source can be read: 471 versions, 3 skipped as invalid.').waitFor();
    await manager.page.getByText('Format: plugin marketplace.').waitFor();
    await manager.page.getByText('io.acme/broken').waitFor();
    // A result for other settings would be misleading.
    await manager.page.getByLabel('Endpoint').fill('https://other.invalid');
    expect(await manager.page.getByText('The source can be read').count()).toBe(0);
    await manager.page.unrouteAll({ behavior: 'wait' });
    await manager.goTo('/sources');
    await manager.page.getByRole('link', { name: 'platform' }).waitFor();
    expect(await manager.main.innerText()).not.toContain('tried');
  });

  it('lists the entries of a source', async () => {
    await manager.goTo('/sources/platform');
    await manager.page.locator('summary', { hasText: 'Entries' }).click();
    await manager.page.getByText('com.example.platform/logs').waitFor();
  });

  it('finds out who sees an entry, and why someone does not', async () => {
    await manager.goTo('/catalogue/acme/server/com.example.payments%2Fledger');
    await manager.link('Who sees this').click();
    await manager.page.getByRole('heading', { name: /^Who sees/ }).waitFor();
    await manager.page.goBack();
    await manager.link("Why can't someone see this?").click();
    await manager.page.locator('.decision').waitFor();
    expect(await manager.page.locator('#access-entry').inputValue()).toBe('com.example.payments/ledger');
    expect(await manager.page.getByLabel('Someone with these claims').isChecked()).toBe(true);
    expect(await manager.page.locator('.deciding').innerText()).toMatch(/org\s+needs\s+acme/);
  });

  it('sees why a sync failed, even in a banner, and the next step for a new source', async () => {
    await manager.goTo('/sources/elsewhere');
    await manager.page.locator('h1 .badge', { hasText: 'failed' }).waitFor();
    await expect
      .poll(() => manager.page.locator('.refusal-sentence').innerText())
      .toContain('registry.invalid');
    const next = manager.link('Create a registry with it');
    expect(await next.getAttribute('href')).toBe('#/registries/%2Bnew?source=elsewhere');
    await manager.goTo('/sources');
    await manager.page.getByText('1 source failed to sync').waitFor();
    const published = manager.page.locator('tbody tr', { hasText: 'published' });
    await expect.poll(() => published.locator('.number').innerText()).toMatch(/^\d+$/);
    await manager.goTo('/sources/platform');
    await manager.page.locator('dd', { hasText: /^\d+ servers?/ }).waitFor();
    await manager.page.locator('dd').getByRole('link', { name: 'acme' }).click();
    await manager.main.locator('.trouble').getByRole('link', { name: 'elsewhere' }).waitFor();
    await manager.button('Dismiss').click();
    expect(await manager.main.locator('.trouble').count()).toBe(0);
  });

  it('edits a source, and deletes it after confirmation', async () => {
    await manager.goTo('/sources/elsewhere/edit');
    await manager.page.getByLabel('Interval').fill('2h');
    await manager.button('Save').click();
    await manager.page.getByLabel('Settings').getByText('"interval": "2h"').waitFor();
    await manager.button('Delete').click();
    await manager.page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await manager.page.waitForURL(/#\/sources$/);
    await expect.poll(() => manager.main.innerText()).not.toContain('elsewhere');
  });

  it('has fields for every part of a registry and of the admission of a source', async () => {
    await manager.goTo('/registries/+new');
    for (const [group, field] of [
      ['Anonymous', 'Anonymous claims: key'],
      ['Marketplace', 'Owner'],
    ] as const) {
      await manager.page.locator('summary', { hasText: group }).click();
      await manager.page.getByLabel(field).first().waitFor();
    }
    await manager.page.getByRole('group', { name: 'Keys' }).getByRole('button', { name: 'Add' }).click();
    await manager.page.getByLabel('Secret file').waitFor();
    await manager.goTo('/sources/+new');
    await manager.page.locator('summary', { hasText: 'Admission' }).click();
    await manager.page.getByLabel('Min age').first().waitFor();
  });

  it('creates a registry of several sources', async () => {
    await manager.goTo('/registries/+new');
    await manager.page.getByRole('textbox', { name: 'Name', exact: true }).fill('mixed');
    for (const source of ['company', 'community', 'published']) {
      await manager.page.getByLabel('Source', { exact: true }).fill(source);
      await manager.page.keyboard.press('Enter');
    }
    // A claim that the readers of other specs lack: they run concurrently and list their registries.
    await manager.page.getByLabel('Claims: key', { exact: true }).fill('role');
    await manager.page.getByLabel('Claims: value', { exact: true }).fill('admin');
    // Leaving the fields and their button adds the claim.
    for (let times = 0; times < 2; times += 1) await manager.page.keyboard.press('Tab');
    await manager.page
      .getByText(/People whose .*role is admin.* gain \d+ entries/)
      .first()
      .waitFor();
    await manager.button('Create').click();
    await manager.page.getByRole('heading', { name: 'mixed' }).waitFor();
    await manager.link('Connect your editor to it').waitFor();
    await expect.poll(() => manager.page.locator('.facts .chip').allInnerTexts()).toEqual(['role admin']);
  });

  it('sees the settings of clients on the page of a registry', async () => {
    await manager.page.getByText('Connect clients').click();
    const address = `${manager.origin}/registry/mixed/mcp`;
    await expect.poll(() => manager.page.getByLabel('Codex').innerText()).toContain(address);
  });

  const order = () => manager.page.locator('.order li bdi').allInnerTexts();

  it('reorders sources by keyboard', async () => {
    await manager.goTo('/registries/mixed');
    await manager.page.getByRole('button', { name: 'Move community up' }).focus();
    await manager.page.keyboard.press('ArrowUp');
    await expect.poll(order).toEqual(['community', 'company', 'published']);
    await manager.page.keyboard.press('ArrowDown');
    await manager.page.keyboard.press('ArrowDown');
    await expect.poll(order).toEqual(['company', 'published', 'community']);
    await manager.page.getByText('Nobody gains or loses access to entries.').waitFor();
    await manager.button('Save order').click();
    await manager.button('Save order').waitFor({ state: 'detached' });
    await manager.page.reload();
    await manager.page.locator('.order li').first().waitFor();
    expect(await order()).toEqual(['company', 'published', 'community']);
  });

  it('keeps settings that the page does not know', async () => {
    const later = { later: { is: [1] } };
    const shown = {
      mixed: { name: 'mixed', sources: ['company', 'community'] },
      other: { name: 'other', kind: 'api', api: { endpoint: 'https://other.invalid' } },
    };
    const sent: unknown[] = [];
    await manager.page.route(/\/v1\/(registries|sources)\/(mixed|other)$/, (route) => {
      const request = route.request();
      if (request.method() === 'PUT') sent.push(request.postDataJSON());
      const resource = shown[request.url().endsWith('mixed') ? 'mixed' : 'other'];
      return route.fulfill({ json: { ...resource, claims: { org: 'acme' }, origin: 'api', ...later } });
    });
    for (const [path, button] of [
      ['/registries/mixed', 'Save order'],
      ['/registries/mixed/edit', 'Save'],
      ['/sources/other/edit', 'Save'],
    ] as const) {
      await manager.goTo('/registries');
      await manager.goTo(path);
      if (button === 'Save order') await manager.button('Move community up').click();
      await manager.button(button).click();
      await expect.poll(() => sent.length).toBe(1);
      expect(sent.pop()).toMatchObject({ claims: { org: 'acme' }, ...later });
    }
    await manager.page.unrouteAll({ behavior: 'wait' });
    await manager.goTo('/registries/mixed');
  });

  it('reorders sources with buttons', async () => {
    await manager.page.getByRole('button', { name: 'Move community up' }).click();
    await expect.poll(order).toEqual(['company', 'community', 'published']);
    await manager.page.getByRole('button', { name: 'Move community down' }).click();
    await expect.poll(order).toEqual(['company', 'published', 'community']);
  });

  it('reorders sources by dragging', async () => {
    await manager.goTo('/registries/mixed');
    await manager.page.locator('.order li').nth(2).dragTo(manager.page.locator('.order li').nth(1));
    await expect.poll(order).toEqual(['company', 'community', 'published']);
    await manager.button('Reset').click();
    await expect.poll(order).toEqual(['company', 'published', 'community']);
  });

  it('sees shadowed names and which source wins', async () => {
    const { origin, tokens } = inject('demo');
    const server = { name: 'io.github.example/weather', description: 'Ours', version: '9.0.0' };
    const reply = await fetch(`${origin}/v1/entries`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${tokens['max']}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ server, claims: { org: 'acme' } }),
    });
    expect(reply.status).toBe(201);
    await manager.goTo('/registries');
    await manager.goTo('/registries/mixed');
    const row = manager.page.locator('tr', { hasText: 'io.github.example/weather' });
    await row.waitFor();
    expect(await row.innerText()).toMatch(/weather\s+published\s+org acme\s+community\s+groups everyone/);
  });

  it('deletes a registry', async () => {
    await manager.goTo('/registries/mixed');
    await manager.button('Delete').click();
    await manager.page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await manager.page.waitForURL(/#\/registries$/);
    await expect.poll(() => manager.main.innerText()).not.toContain('mixed');
  });

  const as = (claims: object) => encodeURIComponent(JSON.stringify(claims));

  it('sees why another caller cannot see an entry, and the missing claims', async () => {
    const claims = as({ org: 'acme', team: ['data'], groups: ['everyone'] });
    await manager.goTo(`/access?registry=acme&entry=com.example.platform%2FSecrets-Audit&as=${claims}`);
    await manager.page.locator('.decision .badge', { hasText: 'hidden' }).waitFor();
    expect(await manager.page.locator('.deciding').innerText()).toContain('Access to the entry');
    await expect
      .poll(() => manager.page.locator('.missing').first().innerText())
      .toContain('team needs platform, held: data');
  });

  it('previews what another caller sees', async () => {
    await manager.goTo(
      `/access?registry=acme&as=${as({ org: 'acme', team: ['data'], groups: ['everyone'] })}`,
    );
    const preview = manager.page.locator('.preview');
    await expect.poll(() => preview.innerText()).toContain('com.example.data/warehouse');
    expect(await preview.innerText()).not.toContain('com.example.platform');
  });

  it('asks for an explanation in the form, with the question in the URL', async () => {
    await manager.goTo('/access');
    await manager.page.getByLabel('Registry').fill('community');
    await manager.page.getByText('Someone with these claims').click();
    await manager.button('Explain').click();
    await manager.page.locator('.decision').waitFor();
    expect(decodeURIComponent(manager.page.url())).toContain('registry=community&as={');
    const again = manager.page.waitForResponse('**/v1/access/explain');
    await manager.button('Explain').click();
    await again;
  });

  it('explains what the holder of a pasted token can access, without sending the token', async () => {
    await manager.goTo('/access');
    await manager.page.getByText('The holder of a token').click();
    const claims = { sub: 'dirk', org: 'acme', team: ['data'], groups: ['everyone'] };
    const payload = Buffer.from(JSON.stringify(claims)).toString('base64url');
    const token = `eyJhbGciOiJSUzI1NiJ9.${payload}.c2lnbmF0dXJl`;
    await manager.page.getByLabel('Registry').fill('acme');
    await manager.page.getByLabel('Token or its claims').fill(token);
    expect(JSON.parse(await manager.page.getByLabel('Token or its claims').inputValue())).toEqual(claims);
    await manager.page.getByLabel('Provider').fill('demo');
    const asked = manager.page.waitForRequest('**/v1/access/explain');
    await manager.button('Explain').click();
    const body = (await asked).postData() ?? '';
    expect(JSON.parse(body)).toMatchObject({ as: { token: { provider: 'demo', claims } } });
    expect(body + manager.page.url()).not.toContain(payload);
    await manager.page.locator('.decision').waitFor();
  });

  it('keeps the registry name typed while the registries load', async () => {
    const release = await manager.holdRequests('**/registry');
    await manager.open('/access');
    const registry = manager.page.getByLabel('Registry');
    await registry.focus();
    await release();
    await manager.page.locator('#access-registries option').first().waitFor({ state: 'attached' });
    await manager.page.keyboard.type('community');
    expect(await registry.inputValue()).toBe('community');
  });

  it('sees how many entries each claim set makes visible', async () => {
    await manager.goTo('/access');
    const matrix = manager.page.locator('.access-matrix table');
    await matrix.waitFor();
    expect(await matrix.locator('thead').innerText()).toMatch(/acme\s+community/);
    await matrix.locator('a[aria-label*="entries in acme"]').first().click();
    await manager.page.locator('.decision').waitFor();
  });

  it('filters the activity by action and target', async () => {
    await manager.goTo('/activity');
    // Two changes in quick succession must not undo each other.
    await manager.page.getByLabel('Target').fill('mixed');
    await manager.page
      .locator('label', { hasText: /^Action/ })
      .locator('select')
      .selectOption('registry.create');
    await manager.page.waitForURL(/action=registry.create&target=mixed/);
    await expect.poll(() => manager.page.locator('.events tbody tr').count()).toBe(1);
    await manager.button('Details').click();
    await expect.poll(() => manager.page.getByLabel('After').innerText()).toContain('community');
  });

  it('sees what a change changed, and exports the activity', async () => {
    await manager.goTo('/activity?action=source.update&target=elsewhere');
    await manager.button('Details').click();
    await expect.poll(() => manager.page.locator('.diff ins').innerText()).toContain('"interval": "2h"');
    for (const [button, begin] of [
      ['Export CSV', '"id","time","action"'],
      ['Export NDJSON', '{"id":"'],
    ] as const) {
      const download = manager.page.waitForEvent('download');
      await manager.button(button).click();
      const parts = await (await (await download).createReadStream()).toArray();
      const lines = Buffer.concat(parts as Buffer[])
        .toString()
        .trim()
        .split('\n');
      expect(lines[0]?.startsWith(begin)).toBe(true);
      expect(lines.at(-1)).toContain('source.update');
      expect(lines).toHaveLength(button === 'Export CSV' ? 2 : 1);
    }
  });

  it('is guided through the setup of an empty server', async () => {
    const { page } = manager;
    const lists = { sources: [] as object[], registries: [] as object[] };
    await page.route(/\/(registry|v1\/(registries|sources))(\?.*)?$/, (route) => {
      const noun = route.request().url().includes('sources') ? 'sources' : 'registries';
      return route.fulfill({ json: { [noun]: lists[noun], metadata: { count: 0 } } });
    });
    await manager.goTo('/connect');
    await page.getByText('Set up your registry').waitFor();
    await manager.link('Add a source').waitFor();
    lists.sources.push({ name: 'official' });
    await manager.goTo('/activity');
    await manager.goTo('/connect');
    await manager.link('Create a registry').waitFor();
    expect(await manager.link('Create a registry').getAttribute('href')).toContain('source=official');
    await page.unrouteAll({ behavior: 'wait' });
    await manager.goTo('/activity');
  });
});

describe('web UI: super-admin', () => {
  const admin = new BrowserUser('ada').start();

  it('has all pages in the menu and sees every entry', async () => {
    expect(await admin.menu()).toHaveLength(8);
    for (const team of ['data', 'platform']) {
      await admin.goTo(`/catalogue/acme?search=com.example.${team}%2F`);
      await expect
        .poll(async () => (await admin.cards()).some((name) => name.startsWith(`com.example.${team}/`)))
        .toBe(true);
    }
  });

  it('sees refused requests in the activity', async () => {
    await fetch(`${admin.origin}/registry`, { headers: { Authorization: 'Bearer none' } });
    await admin.goTo('/activity?action=auth.refused');
    await admin.page.locator('.events, .empty').first().waitFor();
    await expect
      .poll(
        async () => {
          await admin.button('Refresh').click();
          return admin.main.innerText();
        },
        { timeout: 15_000, interval: 250 },
      )
      .toContain('token_invalid');
  });

  it('can explain the access of any caller', async () => {
    const claims = encodeURIComponent(JSON.stringify({ org: 'contoso' }));
    await admin.goTo(`/access?registry=acme&as=${claims}`);
    await admin.page.locator('.decision .badge', { hasText: 'refused' }).waitFor();
    await expect
      .poll(() => admin.page.locator('.missing').first().innerText())
      .toContain('org needs acme, held: contoso');
  });
});
