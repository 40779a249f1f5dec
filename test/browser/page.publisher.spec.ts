import { describe, expect, inject, it } from 'vitest';
import { aSkillFile, aZip } from '../support/archives.js';
import { BrowserUser } from './browser-user.js';

const NAME = 'com.example.journeys/journey';
const documentOf = (version: string, more: object = {}) =>
  JSON.stringify(
    {
      $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
      name: NAME,
      description: 'Plans journeys',
      version,
      ...more,
    },
    null,
    2,
  );

describe('web UI: publisher', () => {
  const publisher = new BrowserUser('pia').start();
  const editor = () => publisher.page.getByLabel('Document');
  const problems = () => publisher.page.getByLabel('Problems').innerText();
  const claim = (text: string) => publisher.page.locator('button.chip', { hasText: text });
  const openPublishPage = async () => {
    await publisher.goTo('/publish');
    await editor().waitFor();
  };

  it('has a menu without sources and registries', async () => {
    expect(await publisher.menu()).toEqual(['Catalog', 'Connect', 'Publish', 'Review', 'Access', 'Activity']);
  });

  it.each(['/sources', '/registries/acme'])('shows role_required at %s', async (path) => {
    await publisher.goTo(path);
    expect(await publisher.refusal()).toMatchObject({ code: 'role_required' });
  });

  it("cannot see another team's entries", async () => {
    await publisher.goTo('/catalogue/acme/server/com.example.data%2Fwarehouse');
    expect(await publisher.refusal()).toMatchObject({ code: 'entry_not_found' });
  });

  it('sees validation problems by line while typing', async () => {
    await openPublishPage();
    await editor().fill(
      '{\n  "name": "x y",\n  "version": "1.0.0",\n  "remotes": [\n    { "type": "carrier-pigeon" }\n  ]\n}',
    );
    await expect.poll(problems).toContain('line 2');
    const text = await problems();
    expect(text).toMatch(/line 1\s+description is required/);
    expect(text).toMatch(/line 5\s+type must be one of/);
    await expect
      .poll(() => publisher.page.locator('.gutter .marked').allInnerTexts())
      .toEqual(['1', '2', '5']);
  });

  it('sees the line of a JSON syntax error', async () => {
    await openPublishPage();
    await editor().fill('{\n  "name": "a",\n  version: 1\n}');
    await expect.poll(problems).toMatch(/line 3\s+Expected a name in quotes, not "v"/);
    expect(await publisher.button('Publish').isDisabled()).toBe(true);
  });

  it('sees claims_required for a document without claims', async () => {
    await openPublishPage();
    await editor().fill(documentOf('1.0.0'));
    expect(await publisher.refusal()).toMatchObject({ code: 'claims_required', hasRequest: true });
  });

  it('sees claims_not_subset for a claim they do not hold', async () => {
    await openPublishPage();
    await editor().fill(documentOf('1.0.0'));
    await publisher.page.getByText('Other claims', { exact: true }).click();
    await publisher.page.getByLabel('Claim: key').fill('team');
    await publisher.page.getByLabel('Claim: value').fill('data');
    await publisher.page.keyboard.press('Enter');
    await expect.poll(async () => (await publisher.refusal()).code).toBe('claims_not_subset');
    expect((await publisher.refusal()).sentence).toContain('team=data');
    await publisher.page.getByRole('button', { name: 'Remove team data' }).click();
  });

  it('publishes with claims of their token, and finds the entry in the catalog', async () => {
    await openPublishPage();
    await editor().fill(documentOf('1.0.0'));
    for (const text of ['acme', 'platform'])
      if ((await claim(text).getAttribute('aria-pressed')) === 'false') await claim(text).click();
    await publisher.page.getByText('Ready to publish.').waitFor();
    await publisher.button('Publish').click();
    await publisher.page.getByText(`${NAME} 1.0.0 is published.`).waitFor();
    await publisher.link('View it in acme').waitFor();
    await publisher.page.locator('.published').getByRole('link', { name: NAME }).waitFor();
    await publisher.goTo('/catalogue/acme?search=journey');
    await expect.poll(() => publisher.cards()).toEqual([NAME]);
    await publisher.main.locator('.card time').waitFor();
    await publisher.main.locator('.card').click();
    await publisher.page.getByText(/^published (now|\d+ (second|minute)s? ago)$/).waitFor();
  });

  it('sees version_exists before publishing', async () => {
    await openPublishPage();
    await editor().fill(documentOf('1.0.0'));
    for (const text of ['acme', 'platform']) await claim(text).click();
    await expect.poll(async () => (await publisher.refusal()).code).toBe('version_exists');
  });

  it('chooses a file, and keeps text typed while publishing', async () => {
    await openPublishPage();
    const release = await publisher.holdRequests('**/v1/entries');
    await publisher.page.locator('input[type=file]').setInputFiles({
      name: 'server.json',
      mimeType: 'application/json',
      buffer: Buffer.from(documentOf('1.1.0', { title: 'Journey' })),
    });
    await expect.poll(() => editor().inputValue()).toContain('"1.1.0"');
    for (const text of ['acme', 'platform'])
      if ((await claim(text).getAttribute('aria-pressed')) === 'false') await claim(text).click();
    await publisher.page.getByText('Ready to publish.').waitFor();
    await publisher.button('Publish').click();
    await editor().fill('another one');
    await release();
    await publisher.page.getByText(`${NAME} 1.1.0 is published.`).waitFor();
    expect(await editor().inputValue()).toBe('another one');
  });

  it('starts a new version of an entry that they manage from the catalog', async () => {
    const asked = publisher.page.waitForResponse(/\/v1\/entries[/?]/);
    await publisher.goTo('/catalogue/acme/server/com.example.platform%2Flogs');
    await publisher.link('Who sees this').waitFor();
    // Nobody publishes it here, which is not an error.
    expect((await asked).status()).toBe(200);
    expect(await publisher.link('New version').isVisible()).toBe(false);
    await publisher.goTo(`/catalogue/acme/server/${encodeURIComponent(NAME)}`);
    await publisher.link('Manage').waitFor();
    await publisher.link("Why can't someone see this?").waitFor();
    await publisher.link('New version').click();
    // The text from the previous test.
    await publisher.button('Replace the draft').click();
    await expect.poll(() => editor().inputValue()).toContain('"version": "1.1.1"');
    await editor().fill('');
  });

  it('sees who sees their entry and why others do not, without the previews of managers', async () => {
    await publisher.goTo(`/access/who/server/${encodeURIComponent(NAME)}?registry=acme`);
    await publisher.page.locator('tbody tr').first().waitFor();
    expect(await publisher.link('What they see').isVisible()).toBe(false);
    await publisher.link("Why can't someone see it?").click();
    await publisher.page.locator('.deciding').waitFor();
    expect(await publisher.main.innerText()).toMatch(/team\s+needs\s+platform/);
    expect(await publisher.page.locator('.refusal').isVisible()).toBe(false);
  });

  it('sees which checks are hidden from them, instead of an entry that seems to be missing', async () => {
    const as = encodeURIComponent(JSON.stringify({ org: 'acme', team: ['platform'] }));
    await publisher.goTo(`/access?registry=acme&entry=${encodeURIComponent(NAME)}&as=${as}`);
    await publisher.page.getByText('You are not allowed to know the result of every check').waitFor();
    await publisher.page.locator('.step.passed', { hasText: 'Access to the entry' }).waitFor();
    expect(await publisher.page.locator('.decision .badge, .deciding').count()).toBe(0);
  });

  it('deprecates a version with a message for readers', async () => {
    await publisher.goTo(`/publish/server/${encodeURIComponent(NAME)}`);
    await publisher.page.getByLabel('Status of 1.1.0').selectOption('deprecated');
    await publisher.page.getByLabel('Status message of 1.1.0').fill('Use com.example.platform/way');
    await publisher.button('Set').click();
    await publisher.page.locator('td .badge', { hasText: 'deprecated' }).waitFor();
    await publisher.goTo(`/catalogue/acme/server/${encodeURIComponent(NAME)}/1.1.0`);
    await publisher.page.getByText('Use com.example.platform/way').waitFor();
  });

  it('sets the status deleted, and a link to the version still works', async () => {
    await publisher.goTo(`/publish/server/${encodeURIComponent(NAME)}`);
    await publisher.page.getByLabel('Status of 1.1.0').selectOption('deleted');
    await publisher.button('Set').click();
    await publisher.page.locator('td .badge', { hasText: 'deleted' }).waitFor();
    await publisher.goTo(`/catalogue/acme/server/${encodeURIComponent(NAME)}/1.1.0`);
    await publisher.page.locator('.entry-head .badge', { hasText: 'deleted' }).waitFor();
    await publisher.page.getByRole('link', { name: 'Latest version: 1.0.0' }).click();
    await publisher.page.locator('.entry-head .badge', { hasText: 'deleted' }).waitFor({ state: 'detached' });
  });

  const chips = () => publisher.page.locator('main .chips').first().locator('.chip').allInnerTexts();

  it('does not overwrite claims that were changed concurrently (If-Match)', async () => {
    const { origin, tokens } = inject('demo');
    await publisher.goTo(`/publish/server/${encodeURIComponent(NAME)}`);
    await publisher.button('Change').click();
    await publisher.button('Save claims').waitFor();
    const reply = await fetch(`${origin}/v1/entries/server/${encodeURIComponent(NAME)}/claims`, {
      method: 'PUT',
      headers: { Authorization: `Bearer ${tokens['max']}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ claims: { org: 'acme' } }),
    });
    expect(reply.status).toBe(204);
    await publisher.button('Save claims').click();
    expect(await publisher.refusal()).toMatchObject({ code: 'precondition_failed' });
    await publisher.button('Cancel').click();
    await expect.poll(chips).toEqual(['org acme']);
  });

  it('changes the claims of an entry', async () => {
    await publisher.goTo(`/publish/server/${encodeURIComponent(NAME)}`);
    await publisher.button('Change').click();
    await claim('platform').click();
    await publisher.button('Save claims').click();
    await publisher.button('Change').waitFor();
    await expect.poll(chips).toEqual(['org acme', 'team platform']);
  });

  it('sees their changes in the activity', async () => {
    await publisher.goTo(`/activity?target=${encodeURIComponent(NAME)}`);
    await expect.poll(() => publisher.page.locator('.events tbody tr').count()).toBe(6);
    await expect
      .poll(() => publisher.page.locator('.events tbody').innerText())
      .toContain('entry.claims.update');
  });

  it('deletes versions after confirmation, and the entry with the last version', async () => {
    await publisher.goTo(`/publish/server/${encodeURIComponent(NAME)}`);
    for (const version of ['1.1.0', '1.0.0']) {
      const row = publisher.page.locator('tr', { hasText: version });
      await row.getByRole('option', { name: 'Deleted (can be undone)' }).waitFor({ state: 'attached' });
      await row.getByRole('button', { name: 'Delete for good' }).click();
      const dialog = publisher.page.getByRole('dialog');
      await dialog.getByText(`Delete version ${version} for good?`).waitFor();
      await dialog.getByRole('button', { name: 'Delete for good' }).click();
      await row.waitFor({ state: 'detached' });
    }
    await publisher.page.waitForURL(/#\/publish$/);
    await publisher.goTo('/catalogue/acme?search=journey');
    await publisher.page.getByText('No matches').waitFor();
  });

  it('sees the files of a skill with its SKILL.md, and downloads them', async () => {
    const [namespace, name, version, description] = [
      'com.example.journeys',
      'packing',
      '1.0.0',
      'Packs bags',
    ];
    const send = (method: string, path: string, type: string, body: string | Buffer<ArrayBuffer>) =>
      fetch(`${publisher.origin}/v1/entries${path}`, {
        method,
        headers: { Authorization: `Bearer ${inject('demo').tokens['pia'] ?? ''}`, 'Content-Type': type },
        body,
      }).then(({ status }) => status);
    const skill = { namespace, name, version, description };
    const claims = { org: 'acme', team: 'platform' };
    expect(await send('POST', '', 'application/json', JSON.stringify({ skill, claims }))).toBe(201);
    const body = [
      '# How to pack',
      '- socks first',
      '- [list](https://example.com/list) and <b>no HTML</b>',
      '',
      '| item | where |',
      '| - | - |',
      '| socks | *left* |',
      // Uses two code blocks: as landmarks, they would need different names.
      '```\npack --socks\n```\n\n```\npack --shoes\n```\n',
    ].join('\n');
    const zip = aZip([
      { name: 'SKILL.md', data: aSkillFile(name, description, body) },
      { name: 'scripts/pack.sh', data: 'echo packed\n', mode: 0o100755 },
    ]);
    const path = `/skill/${namespace}%2F${name}/versions/${version}/content`;
    expect(await send('PUT', path, 'application/zip', Buffer.from(zip))).toBe(204);
    await publisher.goTo(`/catalogue/acme/skill/${namespace}%2F${name}`);
    await publisher.page.getByRole('heading', { name: 'How to pack' }).waitFor();
    expect(await publisher.page.locator('.readme li').allInnerTexts()).toEqual([
      'socks first',
      'list (https://example.com/list) and <b>no HTML</b>',
    ]);
    expect(await publisher.page.locator('.readme td').allInnerTexts()).toEqual(['socks', 'left']);
    expect(await publisher.page.locator('.readme td em').innerText()).toBe('left');
    expect(await publisher.page.getByRole('group', { name: 'Code' }).allInnerTexts()).toEqual([
      expect.stringContaining('name: packing'),
      'pack --socks',
      'pack --shoes',
    ]);
    expect(await publisher.page.locator('.files').last().innerText()).toMatch(
      /SKILL\.md.*scripts\/pack\.sh.*executable/s,
    );
    const downloading = publisher.page.waitForEvent('download');
    await publisher.main.getByRole('button', { name: /^Download/ }).click();
    expect((await downloading).suggestedFilename()).toBe('com.example.journeys-packing-1.0.0.zip');
  });
});
