import { describe, expect, it } from 'vitest';
import { Person } from './person.js';

const LEDGER = '/catalogue/acme/server/com.example.payments%2Fledger';
const HIDDEN = '/catalogue/acme/server/com.example.platform%2FSecrets-Audit';

describe('somebody who has not logged in', () => {
  const nobody = new Person(null).comes();

  it('is asked to, and offered nothing else', async () => {
    await nobody.main.getByRole('button', { name: 'Log in' }).waitFor();
    expect(await nobody.menu()).toEqual(['Catalogue']);
  });

  it('reads the refusal of a registry that asks for a token, with a way to log in', async () => {
    await nobody.goes('/catalogue/acme');
    expect(await nobody.refusal()).toMatchObject({ code: 'token_missing', hasRequest: true });
    expect(await nobody.main.getByRole('button', { name: 'Log in' }).count()).toBe(1);
  });

  it('comes to the place they wanted once they have logged in', async () => {
    await nobody.goes(LEDGER);
    await nobody.refusal();
    await nobody.main.getByRole('button', { name: 'Log in' }).click();
    await nobody.page.getByRole('button', { name: 'dev' }).click();
    await nobody.page.getByRole('heading', { name: 'Ledger' }).waitFor();
    expect(new URL(nobody.page.url())).toMatchObject({ search: '', hash: `#${LEDGER}` });
  });

  it('stays logged in when the page is loaded again, though the token was kept nowhere', async () => {
    const stored = await nobody.page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
    expect(stored).not.toMatch(/eyJ|access_token|refresh_token|id_token/);
    expect(await nobody.page.evaluate(() => document.cookie)).toBe('');
    await nobody.page.reload();
    await nobody.page.locator('.who summary', { hasText: 'dev' }).waitFor();
    await nobody.page.getByRole('heading', { name: 'Ledger' }).waitFor();
  });

  it('is shown nothing of a page that the browser kept from before somebody else logged in', async () => {
    await nobody.page.evaluate(() => {
      sessionStorage.setItem('registry.loaded', 'by another load of the page');
      window.violations = ['kept'];
      window.dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }));
    });
    await expect.poll(() => nobody.page.evaluate(() => window.violations)).toEqual([]);
    await nobody.page.getByRole('heading', { name: 'Ledger' }).waitFor();
  });

  it('sees nothing any more after logging out, and is asked who they are the next time', async () => {
    await nobody.page.locator('.who summary').click();
    await nobody.page.getByRole('button', { name: 'Log out' }).click();
    await nobody.page.getByRole('heading', { name: 'MCP servers and skills' }).waitFor();
    expect(await nobody.main.innerText()).not.toContain('Ledger');
    await nobody.goes(LEDGER);
    expect(await nobody.refusal()).toMatchObject({ code: 'token_missing' });
    await nobody.logsIn('ext');
  });

  it('of another organisation enters the registry that is theirs, and no other', async () => {
    await nobody.goes('/catalogue');
    expect((await nobody.cards()).every((name) => name.startsWith('io.github.example/'))).toBe(true);
    expect(nobody.page.url()).toContain('#/catalogue/community');
    await nobody.goes('/catalogue/acme');
    expect(await nobody.refusal()).toMatchObject({ code: 'registry_forbidden', hasRequest: true });
  });
});

describe('a reader', () => {
  const reader = new Person('dev').comes();

  it('comes to the first registry they may enter', async () => {
    await reader.page.locator('.card').first().waitFor();
    expect(reader.page.url()).toMatch(/#\/catalogue\/acme$/);
    await expect
      .poll(() => reader.page.getByLabel('Registry').locator('option').allInnerTexts())
      .toEqual(['acme', 'community']);
  });

  it('is offered what readers do, and nothing of managers', async () => {
    expect(await reader.menu()).toEqual(['Catalogue', 'Access']);
  });

  it("sees their team's entries and none of the other team's", async () => {
    await reader.goes('/catalogue/acme?search=com.example.data');
    await expect.poll(() => reader.cards()).toContain('com.example.data/warehouse');
    await reader.goes('/catalogue/acme?search=com.example.platform');
    await reader.page.getByText('Nothing you may see matches').waitFor();
  });

  it('reads the same of a hidden entry as of one that is not there', async () => {
    const said = [];
    for (const place of [HIDDEN, '/catalogue/acme/server/com.example.platform%2Fnone']) {
      await reader.goes(place);
      await reader.page.waitForURL((url) => url.hash === `#${place}`);
      said.push(await reader.refusal());
    }
    expect(said[0]).toEqual({
      sentence: 'There is no such entry',
      code: 'entry_not_found',
      hasRequest: true,
    });
    expect(said[1]).toEqual(said[0]);
  });

  it('finds what they type, and the address keeps it', async () => {
    await reader.goes('/catalogue/acme');
    await reader.page.locator('.card').first().waitFor();
    await reader.page.keyboard.press('/');
    await reader.page.keyboard.type('ledger');
    await expect.poll(() => reader.cards()).toEqual(['com.example.payments/ledger']);
    await reader.page.waitForURL(/search=ledger/);
    await reader.page.getByLabel('Search').fill('');
    await expect.poll(async () => (await reader.cards()).length).toBeGreaterThan(5);
  });

  it('opens an entry by keyboard, and comes back to what they searched', async () => {
    await reader.goes('/catalogue/acme?search=ledger');
    await expect.poll(() => reader.cards()).toEqual(['com.example.payments/ledger']);
    await reader.page.getByLabel('Search').focus();
    await reader.page.keyboard.press('ArrowDown');
    await reader.page.keyboard.press('Enter');
    await reader.page.getByRole('heading', { name: 'Ledger' }).waitFor();
    expect(await reader.page.title()).toBe('com.example.payments/ledger · Catalogue · Registry');
    await reader.page.goBack();
    await expect.poll(() => reader.cards()).toEqual(['com.example.payments/ledger']);
    expect(await reader.page.title()).toBe('acme · Catalogue · Registry');
    await expect.poll(() => reader.page.getByLabel('Search').inputValue()).toBe('ledger');
  });

  it('looks at an entry: what it is, its versions, packages, tools and document', async () => {
    await reader.goes(LEDGER);
    await reader.page.getByRole('heading', { name: 'Ledger' }).waitFor();
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
    await reader.page.getByText('There is a newer version').waitFor();
    await reader.page.getByText('The document as it was published').click();
    await expect.poll(() => reader.page.getByLabel('Document').innerText()).toContain('"version": "1.9.0"');
  });

  it('copies the configuration that connects their client to it', async () => {
    await reader.goes(LEDGER);
    await reader.page.getByRole('heading', { name: 'Connect' }).waitFor();
    await reader.page.getByRole('radio', { name: 'Cursor' }).check();
    await reader.page.locator('.connect').getByRole('button', { name: 'Copy' }).click();
    await reader.page.getByText('Copied').waitFor();
    const copied = await reader.page.evaluate(() => navigator.clipboard.readText());
    expect(Object.keys((JSON.parse(copied) as { mcpServers: object }).mcpServers)).toHaveLength(1);
  });

  it('narrows by type, transport and package, and clears it again', async () => {
    await reader.goes('/catalogue/acme');
    await reader.cards();
    await reader.page.getByLabel('Transport').selectOption('sse');
    await expect.poll(() => reader.page.locator('.count').innerText()).toMatch(/^\d servers?$/);
    await reader.page.getByLabel('Package').selectOption('nuget');
    await reader.page.getByText('Nothing you may see matches').waitFor();
    await reader.button('Clear search and filters').click();
    await expect.poll(async () => (await reader.cards()).length).toBeGreaterThan(5);
    await reader.page.getByRole('radio', { name: 'Skills' }).check();
    await expect.poll(() => reader.page.locator('.count').innerText()).toContain('skill');
    expect(reader.page.url()).toContain('type=skill');
  });

  it.each(['/sources', '/registries', '/publish', '/activity', '/sources/platform', '/registries/acme'])(
    'reads at %s, which is not offered, what the API says',
    async (place) => {
      await reader.goes(place);
      expect(await reader.refusal()).toMatchObject({ code: 'role_required', hasRequest: true });
    },
  );

  it('is told why they see an entry', async () => {
    await reader.goes('/access?registry=acme&entry=com.example.data%2Fwarehouse');
    await reader.page.locator('.decision .badge', { hasText: 'shown' }).waitFor();
    expect(await reader.page.locator('.step.passed').count()).toBeGreaterThan(2);
  });

  it('is told of a hidden entry what they are told of a missing one', async () => {
    const said = [];
    for (const name of ['com.example.platform/Secrets-Audit', 'com.example.platform/none']) {
      await reader.goes(`/access?registry=acme&entry=${encodeURIComponent(name)}`);
      await reader.page.locator('.decision .badge', { hasText: 'absent' }).waitFor();
      said.push(await reader.page.getByLabel('Explanation').innerText());
      await reader.goes('/access');
      await reader.page.locator('.aside').waitFor();
    }
    expect(said[1]).toBe(said[0]);
  });

  it('may not ask about others: the refusal is shown', async () => {
    await reader.goes(`/access?registry=acme&as=${encodeURIComponent('{"org":"acme","team":"platform"}')}`);
    expect(await reader.refusal()).toMatchObject({ code: 'role_required' });
  });

  it('is told that a page is not there', async () => {
    await reader.goes('/nowhere');
    await reader.page.getByText('There is no such page').waitFor();
  });
});
