import { describe, expect, inject, it } from 'vitest';
import { shrunkSentence } from '../../dist/sync/sync-run.js';
import { Person } from './person.js';

describe('a manager', () => {
  const manager = new Person('max').comes();

  it('is offered all pages', async () => {
    expect(await manager.menu()).toEqual([
      'Catalogue',
      'Publish',
      'Sources',
      'Registries',
      'Access',
      'Activity',
    ]);
  });

  it('sees at a glance how the sources are', async () => {
    await manager.goes('/sources');
    const rows = manager.page.locator('tbody tr');
    await expect.poll(() => rows.count()).toBeGreaterThanOrEqual(4);
    expect(await rows.filter({ hasText: 'platform' }).innerText()).toMatch(/file\s+complete/);
  });

  it('sees the last runs of a source, and starts one', async () => {
    await manager.goes('/sources/platform');
    await manager.page.getByRole('img', { name: /\d+ runs?; the last \d+ added/ }).waitFor();
    await manager.page.getByText('The same as a table').click();
    expect(await manager.page.locator('details tbody tr').first().innerText()).toMatch(/\d m?s$/);
    const before = await manager.page.locator('dd time').first().getAttribute('datetime');
    await manager.button('Sync now').click();
    await expect
      .poll(() => manager.page.locator('dd time').first().getAttribute('datetime'))
      .not.toBe(before);
    await manager.page.locator('h1 .badge', { hasText: 'complete' }).waitFor();
  });

  it('lets a source lose most of its entries by saying so', async () => {
    const error = shrunkSentence(40, 3);
    await manager.page.route('**/v1/sources/platform', async (route) => {
      const response = await route.fetch();
      const source = (await response.json()) as { sync: object };
      await route.fulfill({
        response,
        json: { ...source, sync: { ...source.sync, status: 'failed', error } },
      });
    });
    await manager.goes('/sources');
    await manager.goes('/sources/platform');
    const [request] = await Promise.all([
      manager.page.waitForRequest((sent) => sent.url().endsWith('/sync')),
      manager.button('Sync and let it lose most of its entries').click(),
    ]);
    expect(request.postDataJSON()).toEqual({ allowShrink: true });
    await manager.page.unrouteAll({ behavior: 'wait' });
  });

  it('can only look at what comes from the configuration', async () => {
    await manager.goes('/sources/platform');
    await manager.button('Sync now').waitFor();
    expect(await manager.button('Delete').count()).toBe(0);
    await manager.goes('/registries/acme');
    await manager.link('Catalogue').waitFor();
    expect(await manager.button('Delete').count()).toBe(0);
    await manager.page.locator('.order li').first().waitFor();
    expect(await manager.page.locator('.order button').count()).toBe(0);
  });

  it('makes a source by a form, and is told at the field what is wrong', async () => {
    await manager.goes('/sources/+new');
    await manager.page.getByLabel('Name', { exact: true }).fill('elsewhere');
    await manager.page.getByText('Another MCP registry').click();
    await manager.page.getByLabel('Endpoint').fill('ftp://registry.invalid');
    await manager.page.getByLabel('Claims: key').fill('org');
    await manager.page.getByLabel('Claims: value').fill('acme');
    await manager.page.keyboard.press('Enter');
    await manager.page.locator('summary', { hasText: 'Filter' }).click();
    await manager.page.locator('summary', { hasText: 'Names' }).click();
    await manager.page.getByLabel('Include').first().focus();
    await manager.page.keyboard.type('com.example/*');
    expect(await manager.page.getByLabel('Include').first().inputValue()).toBe('com.example/*');
    await manager.button('Create').click();
    expect(await manager.refusal()).toMatchObject({ code: 'invalid_body' });
    expect(
      await manager.page
        .locator('.field', { has: manager.page.getByLabel('Endpoint') })
        .last()
        .innerText(),
    ).toContain('http');
    await manager.page.getByLabel('Endpoint').fill('https://registry.invalid');
    await manager.button('Create').click();
    await manager.page.getByRole('heading', { name: 'elsewhere' }).waitFor();
  });

  it('reads in words why a source could not be synced', async () => {
    await manager.goes('/sources/elsewhere');
    await manager.page.locator('h1 .badge', { hasText: 'failed' }).waitFor();
    await expect
      .poll(() => manager.page.locator('.refusal-sentence').innerText())
      .toContain('registry.invalid');
    await manager.goes('/sources');
    await manager.page.getByText('1 of 6 could not be synced').waitFor();
  });

  it('changes a source, and deletes it once they have confirmed it', async () => {
    await manager.goes('/sources/elsewhere/edit');
    await manager.page.getByLabel('Interval').fill('2h');
    await manager.button('Save').click();
    await manager.page.getByLabel('Settings').getByText('"interval": "2h"').waitFor();
    await manager.button('Delete').click();
    await manager.page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await manager.page.waitForURL(/#\/sources$/);
    await expect.poll(() => manager.main.innerText()).not.toContain('elsewhere');
  });

  it('makes a registry of two sources', async () => {
    await manager.goes('/registries/+new');
    await manager.page.getByLabel('Name', { exact: true }).fill('mixed');
    for (const source of ['company', 'community', 'published']) {
      await manager.page.getByLabel('Source', { exact: true }).fill(source);
      await manager.page.keyboard.press('Enter');
    }
    await manager.page.getByLabel('Claims: key', { exact: true }).fill('org');
    await manager.page.getByLabel('Claims: value', { exact: true }).fill('acme');
    // Left without pressing anything: it counts.
    await manager.page.keyboard.press('Tab');
    await manager.button('Create').click();
    await manager.page.getByRole('heading', { name: 'mixed' }).waitFor();
    expect(await manager.page.locator('.facts .chip').allInnerTexts()).toEqual(['org acme']);
  });

  const order = () => manager.page.locator('.order li bdi').allInnerTexts();

  it('changes the order of sources by keyboard', async () => {
    await manager.goes('/registries/mixed');
    await manager.page.getByRole('button', { name: 'Move community up' }).focus();
    await manager.page.keyboard.press('ArrowUp');
    await expect.poll(order).toEqual(['community', 'company', 'published']);
    await manager.page.keyboard.press('ArrowDown');
    await manager.page.keyboard.press('ArrowDown');
    await expect.poll(order).toEqual(['company', 'published', 'community']);
    await manager.button('Save the order').click();
    await manager.button('Save the order').waitFor({ state: 'detached' });
    await manager.page.reload();
    await manager.page.locator('.order li').first().waitFor();
    expect(await order()).toEqual(['company', 'published', 'community']);
  });

  it('changes the order of sources by buttons, as on a phone', async () => {
    await manager.page.getByRole('button', { name: 'Move community up' }).click();
    await expect.poll(order).toEqual(['company', 'community', 'published']);
    await manager.page.getByRole('button', { name: 'Move community down' }).click();
    await expect.poll(order).toEqual(['company', 'published', 'community']);
  });

  it('changes the order of sources by dragging', async () => {
    await manager.goes('/registries/mixed');
    await manager.page.locator('.order li').nth(2).dragTo(manager.page.locator('.order li').nth(1));
    await expect.poll(order).toEqual(['company', 'community', 'published']);
    await manager.button('As it was').click();
    await expect.poll(order).toEqual(['company', 'published', 'community']);
  });

  it('sees which names are in several sources, and which comes first', async () => {
    const { origin, tokens } = inject('demo');
    const server = { name: 'io.github.example/weather', description: 'Ours', version: '9.0.0' };
    const reply = await fetch(`${origin}/v1/entries`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${tokens['max']}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ server, claims: { org: 'acme' } }),
    });
    expect(reply.status).toBe(201);
    await manager.goes('/registries');
    await manager.goes('/registries/mixed');
    const row = manager.page.locator('tr', { hasText: 'io.github.example/weather' });
    await row.waitFor();
    expect(await row.innerText()).toMatch(/weather\s+published\s+org acme\s+community\s+groups everyone/);
  });

  it('deletes a registry', async () => {
    await manager.goes('/registries/mixed');
    await manager.button('Delete').click();
    await manager.page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await manager.page.waitForURL(/#\/registries$/);
    await expect.poll(() => manager.main.innerText()).not.toContain('mixed');
  });

  const as = (claims: object) => encodeURIComponent(JSON.stringify(claims));

  it('is told why somebody else does not see an entry, and what is missing', async () => {
    const claims = as({ org: 'acme', team: ['data'], groups: ['everyone'] });
    await manager.goes(`/access?registry=acme&entry=com.example.platform%2FSecrets-Audit&as=${claims}`);
    await manager.page.locator('.decision .badge', { hasText: 'hidden' }).waitFor();
    await expect
      .poll(() => manager.page.locator('.missing').first().innerText())
      .toContain('team needs platform, held: data');
  });

  it('sees what somebody else sees', async () => {
    await manager.goes(
      `/access?registry=acme&as=${as({ org: 'acme', team: ['data'], groups: ['everyone'] })}`,
    );
    const preview = manager.page.locator('.preview');
    await expect.poll(() => preview.innerText()).toContain('com.example.data/warehouse');
    expect(await preview.innerText()).not.toContain('com.example.platform');
  });

  it('asks by the form, and the address keeps the question', async () => {
    await manager.goes('/access');
    await manager.page.getByLabel('Registry').fill('community');
    await manager.page.getByText('Somebody with these claims').click();
    await manager.button('Explain').click();
    await manager.page.locator('.decision').waitFor();
    expect(decodeURIComponent(manager.page.url())).toContain('registry=community&as={');
    const again = manager.page.waitForResponse('**/v1/access/explain');
    await manager.button('Explain').click();
    await again;
  });

  it('types the name of a registry while the page asks which there are', async () => {
    const letAnswer = await manager.holdsBack('**/registry');
    await manager.opens('/access');
    const registry = manager.page.getByLabel('Registry');
    await registry.focus();
    await letAnswer();
    await manager.page.locator('#access-registries option').first().waitFor({ state: 'attached' });
    await manager.page.keyboard.type('community');
    expect(await registry.inputValue()).toBe('community');
  });

  it('sees in one picture who sees how much', async () => {
    await manager.goes('/access');
    const picture = manager.page.locator('.picture table');
    await picture.waitFor();
    expect(await picture.locator('thead').innerText()).toMatch(/acme\s+community/);
    await picture.locator('a[aria-label*="entries of acme"]').first().click();
    await manager.page.locator('.decision').waitFor();
  });

  it('reads who did what, narrowed to one thing', async () => {
    await manager.goes('/activity');
    // Both at once: neither takes the other back.
    await manager.page.getByLabel('To what').fill('mixed');
    await manager.page
      .locator('label', { hasText: /^What/ })
      .locator('select')
      .selectOption('registry.create');
    await manager.page.waitForURL(/action=registry.create&target=mixed/);
    await expect.poll(() => manager.page.locator('.events tbody tr').count()).toBe(1);
    await manager.button('More').click();
    await expect.poll(() => manager.page.getByLabel('After').innerText()).toContain('community');
  });
});

describe('a super-admin', () => {
  const admin = new Person('ada').comes();

  it('is offered all pages, and sees every entry', async () => {
    expect(await admin.menu()).toHaveLength(6);
    for (const team of ['data', 'platform']) {
      await admin.goes(`/catalogue/acme?search=com.example.${team}`);
      await expect
        .poll(async () => (await admin.cards()).some((name) => name.startsWith(`com.example.${team}/`)))
        .toBe(true);
    }
  });

  it('reads refusals that are for nobody else', async () => {
    await fetch(`${admin.origin}/registry`, { headers: { Authorization: 'Bearer none' } });
    await admin.goes('/activity?action=auth.refused');
    await admin.page.locator('.events, .empty').first().waitFor();
    await expect
      .poll(
        async () => {
          await admin.button('Look again').click();
          return admin.main.innerText();
        },
        { timeout: 15_000, interval: 250 },
      )
      .toContain('token_invalid');
  });

  it('asks about anybody', async () => {
    const claims = encodeURIComponent(JSON.stringify({ org: 'contoso' }));
    await admin.goes(`/access?registry=acme&as=${claims}`);
    await admin.page.locator('.decision .badge', { hasText: 'refused' }).waitFor();
    await expect
      .poll(() => admin.page.locator('.missing').first().innerText())
      .toContain('org needs acme, held: contoso');
  });
});
