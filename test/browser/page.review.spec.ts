import { describe, expect, inject, it } from 'vitest';
import { BrowserUser } from './browser-user.js';

// The data team reviews these names (demo/registry.yaml).
const NAME = 'com.example.reviewed/pay';
const documentOf = (version: string, description = 'Pays invoices') => ({
  $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
  name: NAME,
  description,
  version,
});

const call = (user: string, method: string, path: string, body?: object) => {
  const { origin, tokens } = inject('demo');
  return fetch(origin + path, {
    method,
    headers: { Authorization: `Bearer ${tokens[user]}`, 'Content-Type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
};

interface Item {
  readonly id: string;
  readonly digest: string;
  readonly version: string;
}

const waiting = async (): Promise<Item[]> => {
  const reply = await call('pia', 'GET', `/v1/admission?name=${encodeURIComponent(NAME)}`);
  return ((await reply.json()) as { items: Item[] }).items;
};

describe('web UI: review', () => {
  const publisher = new BrowserUser('pia').start();
  const reviewer = new BrowserUser('dev').start();
  const editor = () => publisher.page.getByLabel('Document');
  const badge = () => reviewer.page.locator('header .badge.count');
  const openItem = async (user: BrowserUser, version: string) => {
    const item = (await waiting()).find((each) => each.version === version);
    await user.goTo(`/review/${item?.id}`);
    await user.page.locator('.item').waitFor();
  };

  it('shows the publisher before and after publishing that the version waits for review', async () => {
    await publisher.goTo('/publish');
    await editor().fill(JSON.stringify(documentOf('1.0.0'), null, 2));
    await publisher.page.locator('button.chip', { hasText: 'acme' }).click();
    await publisher.page.getByText('It will wait for review').waitFor();
    await publisher.button('Publish').click();
    await publisher.page.getByText(`${NAME} 1.0.0 is waiting for review.`).waitFor();
    await publisher.page
      .locator('.waiting-items')
      .getByRole('link', { name: `${NAME} 1.0.0` })
      .waitFor();
    await publisher.link('Follow the review').click();
    await publisher.page.getByText('You published this version, so somebody else must decide.').waitFor();
    expect(await publisher.button('Approve').count()).toBe(0);
    expect(await publisher.button('Withdraw').count()).toBe(1);
  });

  it('shows a reviewer without a role what they have to decide', async () => {
    await reviewer.page.reload();
    await badge().waitFor();
    expect(await badge().innerText()).toMatch(/^1\s+to decide$/);
    await reviewer.page.locator('header').getByRole('link', { name: 'Review' }).click();
    await reviewer.page.getByLabel('For me to decide').check();
    await reviewer.page.waitForURL(/view=decide/);
    await reviewer.link(NAME).click();
    await expect.poll(() => reviewer.main.innerText()).toContain('This entry has no approved version yet.');
    expect(await reviewer.page.getByLabel('Document').innerText()).toContain('Pays invoices');
  });

  it('filters the queue', async () => {
    for (const [query, shown] of [
      ['reason=review', true],
      ['reason=block', false],
      [`name=${encodeURIComponent(NAME)}`, true],
      ['name=com.example.reviewed', false],
      ['view=mine', false],
      ['status=rejected', false],
    ] as const) {
      await reviewer.goTo(`/review?${query}`);
      await reviewer.page.locator(shown ? '.queue tbody tr' : '.empty').waitFor();
    }
    await reviewer.page.getByLabel('Reason').selectOption({ label: 'Review' });
    await reviewer.page.waitForURL(/reason=review/);
  });

  it('needs a comment to reject, and keeps comments', async () => {
    await openItem(reviewer, '1.0.0');
    expect(await reviewer.button('Reject').isDisabled()).toBe(true);
    await reviewer.page.getByLabel('Comment').fill('Which team runs it?');
    expect(await reviewer.button('Reject').isDisabled()).toBe(false);
    await reviewer.button('Comment').click();
    await reviewer.page.locator('.decisions').getByText('Which team runs it?').waitFor();
    expect(await reviewer.page.getByLabel('Comment').inputValue()).toBe('');
  });

  it('refuses to decide on a changed digest, and rereads the item with a notice', async () => {
    await openItem(reviewer, '1.0.0');
    const answer = { error: 'The digest of this item is different', code: 'digest_mismatch' };
    await reviewer.page.route('**/approve', (route) => route.fulfill({ status: 409, json: answer }));
    const again = reviewer.page.waitForResponse(/\/v1\/admission\/[0-9a-f-]{36}$/);
    await reviewer.button('Approve').click();
    await again;
    await reviewer.page.getByText('This changed while you were reading, so nothing was decided.').waitFor();
    await reviewer.button('Approve').waitFor();
    await reviewer.page.unrouteAll({ behavior: 'wait' });
  });

  it('approves the digest that is shown, and the version is served', async () => {
    const [item] = await waiting();
    await openItem(reviewer, '1.0.0');
    const sent = reviewer.page.waitForRequest('**/approve');
    await reviewer.button('Approve').click();
    expect((await sent).postDataJSON()).toEqual({ digest: item?.digest });
    await reviewer.page.locator('.item .badge', { hasText: 'accepted' }).waitFor();
    await badge().waitFor({ state: 'detached' });
    await reviewer.page.locator('header').getByRole('link', { name: 'Review' }).click();
    await reviewer.page.getByLabel('Decided').check();
    await reviewer.link(NAME).waitFor();
    await reviewer.goTo(`/catalogue/acme/server/${encodeURIComponent(NAME)}`);
    await reviewer.page.locator('.entry h1').waitFor();
  });

  it('starts a new version from the document and claims of the last one', async () => {
    await publisher.goTo(`/publish/server/${encodeURIComponent(NAME)}`);
    await publisher.link('New version').click();
    await expect.poll(() => editor().inputValue()).toContain('"version": "1.0.1"');
    await editor().fill((await editor().inputValue()).replace('Pays invoices', 'Pays bills'));
    expect(await publisher.page.locator('button.chip[aria-pressed=true]').allInnerTexts()).toEqual([
      'org acme',
    ]);
    await publisher.page.getByText('It will wait for review').waitFor();
  });

  it('keeps the draft over navigation and a reload, and asks before it is replaced', async () => {
    await publisher.goTo('/catalogue/acme');
    await publisher.page.locator('.card').first().waitFor();
    await publisher.page.reload();
    await publisher.page.locator('.account summary', { hasText: 'pia' }).waitFor();
    await publisher.goTo(`/publish?type=server&name=${encodeURIComponent(NAME)}`);
    await publisher.button('Keep the draft').click();
    expect(await editor().inputValue()).toContain('Pays bills');
    await publisher.button('Publish').click();
    await publisher.page.getByText(`${NAME} 1.0.1 is waiting for review.`).waitFor();
    expect(await editor().inputValue()).toBe('');
  });

  it('shows how a version differs from the one that is served', async () => {
    await openItem(reviewer, '1.0.1');
    await reviewer.page.locator('.diff').waitFor();
    expect(await reviewer.page.locator('.diff del').allInnerTexts()).toEqual([
      '-   "description": "Pays invoices",',
      '-   "version": "1.0.0"',
    ]);
    expect(await reviewer.page.locator('.diff ins').allInnerTexts()).toEqual([
      '+   "description": "Pays bills",',
      '+   "version": "1.0.1"',
    ]);
  });

  it('says that somebody else decided in the meantime', async () => {
    await openItem(reviewer, '1.0.1');
    const [item] = await waiting();
    await call('pia', 'POST', `/v1/admission/${item?.id}/withdraw`, { digest: item?.digest });
    await reviewer.button('Approve').click();
    await reviewer.page.getByText('Somebody else has decided this in the meantime.').waitFor();
    await reviewer.page.locator('.item .badge', { hasText: 'withdrawn' }).waitFor();
    expect(await reviewer.button('Approve').count()).toBe(0);
  });

  it('asks before clearing claims, says who loses access, and shows the pending change', async () => {
    await publisher.goTo(`/publish/server/${encodeURIComponent(NAME)}`);
    await publisher.button('Change').click();
    await publisher.page.locator('button.chip', { hasText: 'platform' }).click();
    await publisher.page.getByText('People without team platform lose access.').waitFor();
    for (const text of ['platform', 'acme'])
      await publisher.page.locator('button.chip', { hasText: text }).click();
    await publisher.button('Save claims').click();
    const dialog = publisher.page.getByRole('dialog');
    await dialog.getByText('because they hold org acme loses access').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await publisher.page.locator('button.chip', { hasText: 'acme' }).click();
    await publisher.page.locator('button.chip', { hasText: 'platform' }).click();
    await publisher.button('Save claims').click();
    await publisher.page.locator('.waiting-items').getByText('change to its claims').click();
    await publisher.page.getByText('Claims then').waitFor();
    await publisher.button('Withdraw').click();
    await dialog.getByRole('button', { name: 'Withdraw' }).click();
    await publisher.page.locator('.item .badge', { hasText: 'withdrawn' }).waitFor();
  });

  it('shows publishers who sees an entry', async () => {
    await publisher.goTo(`/publish/server/${encodeURIComponent(NAME)}`);
    await publisher.link('Who sees this').click();
    const row = publisher.page.locator('tbody tr').first();
    await expect.poll(() => row.innerText()).toMatch(/org acme\s+acme\s*$/);
    await call('pia', 'DELETE', `/v1/entries/server/${encodeURIComponent(NAME)}/versions/1.0.0`);
  });
});

describe('web UI: blocks', () => {
  const admin = new BrowserUser('ada').start();
  const BLOCKED = 'io.github.example/*';

  it('counts what a block would hold before it is created', async () => {
    await admin.goTo('/review');
    await admin.link('Blocks').click();
    await admin.link('New block').click();
    await admin.page.getByLabel('Id').fill('sec-14');
    await admin.page.getByLabel('Names').fill(BLOCKED);
    await admin.page.getByLabel('Versions').fill('not a range!');
    await admin.page.getByLabel('Reason').fill('SEC-14: taken over');
    await admin.page.getByText(/^Shown to people who publish .* Readers do not see it\.$/).waitFor();
    await admin.button('Preview').click();
    await admin.page
      .locator('.field', { has: admin.page.getByLabel('Versions') })
      .locator('.problem')
      .waitFor();
    await admin.page.getByLabel('Versions').fill('');
    await admin.button('Preview').click();
    const counted = await admin.page.getByText(/^This block withdraws \d+ current versions/).innerText();
    expect(Number(/\d+/.exec(counted)?.[0])).toBeGreaterThan(3);
    expect((await call('ada', 'GET', '/v1/blocks')).status).toBe(200);
    await admin.page.getByLabel('Names').fill('io.github.example/none');
    await admin.button('Preview').click();
    await admin.page.getByText('No current version matches.').waitFor();
    await admin.button('Create block').click();
    await admin.page.locator('tbody tr', { hasText: 'sec-14' }).waitFor();
  });

  it('does not replace an existing block', async () => {
    await admin.goTo('/review/blocks/+new?names=x');
    await admin.page.getByLabel('Id').fill('sec-14');
    await admin.page.getByLabel('Reason').fill('another');
    await admin.button('Preview').click();
    await admin.button('Create block').click();
    expect(await admin.refusal()).toMatchObject({ code: 'precondition_failed' });
  });

  it('lifts a block after confirmation, which is not the default', async () => {
    await admin.goTo('/review/blocks');
    await admin.button('Lift').click();
    const dialog = admin.page.getByRole('dialog');
    await dialog.getByText('Lift the block sec-14?').waitFor();
    await admin.page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    expect(await admin.page.locator('tbody tr').count()).toBe(1);
    await admin.button('Lift').click();
    await dialog.getByRole('button', { name: 'Lift' }).click();
    await admin.page.getByText('Nothing is blocked').waitFor();
  });
});

describe('web UI: webhooks', () => {
  const admin = new BrowserUser('ada').start();

  it('shows the state of webhooks, resumes them and sends events again after confirmation', async () => {
    const { page } = admin;
    const webhook = {
      name: 'siem',
      host: 'siem.example.com',
      actions: ['entry.*'],
      status: 'paused',
      lag: 7_200,
      lastError: 'The receiver returned status 500',
    };
    const delivery = {
      id: 'x',
      type: 'entry.publish',
      status: 'failed',
      attempts: 7,
      at: '2026-01-01T00:00:00Z',
    };
    const sent: [path: string, body: unknown][] = [];
    await page.route('**/v1/webhooks**', (route) =>
      route.fulfill({ json: { webhooks: [webhook], metadata: { count: 1 } } }),
    );
    await page.route('**/v1/webhooks/**', (route) => {
      const request = route.request();
      const path = new URL(request.url()).pathname;
      if (request.method() === 'GET')
        return route.fulfill({ json: { deliveries: [delivery], metadata: { count: 1 } } });
      sent.push([path, request.postDataJSON()]);
      return route.fulfill(path.endsWith('resume') ? { status: 204 } : { status: 202, json: webhook });
    });
    await admin.goTo('/activity');
    await admin.main.locator('.trouble').getByRole('link', { name: 'siem' }).waitFor();
    await admin.button('Dismiss').click();
    await admin.link('Webhooks').click();
    await expect.poll(() => page.locator('tbody tr').innerText()).toMatch(/siem\s+paused\s+waits for 2 h/);
    await admin.link('siem').click();
    await expect.poll(() => page.locator('tbody tr').innerText()).toMatch(/entry.publish\s+failed\s+7/);
    await admin.button('Resume').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click();
    await page.getByLabel('Send again since').fill('2026-01-02T03:04');
    await admin.button('Replay').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Replay' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(sent).toEqual([
      ['/v1/webhooks/siem/resume', null],
      [
        '/v1/webhooks/siem/replay',
        { since: expect.stringMatching(/^2026-01-0\dT\d\d:04:00.000Z$/) as string },
      ],
    ]);
    await page.unrouteAll({ behavior: 'wait' });
  });

  it('is refused to everybody but super-admins', async () => {
    expect((await call('max', 'GET', '/v1/webhooks')).status).toBe(403);
  });
});
