import { createServer } from 'node:http';
import { beforeEach, describe, expect, it } from 'vitest';
import { outcomeOf } from '../support/answers.js';
import { aCatalogue, aServer } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { listensMeanwhile, urlOf } from '../support/loopback.js';
import { expectRefused } from '../support/matchers.js';
import { pollNow } from '../support/polling.js';
import { aService } from '../support/service.js';
import { anUpstreamRegistry } from '../support/upstream-registry.js';

const syncPolicy = { interval: '1h' };
const servers = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => aServer(`io.acme/s${from + index}`));

interface SyncAnswer {
  status: string;
  lastAttemptAt: string | null;
  error?: string;
  counts: Record<string, number>;
}

/** Requests a sync with this body and returns the outcome of that run. */
async function requested(name: string, body?: object): Promise<SyncAnswer> {
  const state = async () => ((await service.get(`/v1/sources/${name}`)).json as { sync: SyncAnswer }).sync;
  const { lastAttemptAt: before } = await state();
  expect((await service.post(`/v1/sources/${name}/sync`, body)).status).toBe(202);
  pollNow();
  for (;;) {
    const now = await state();
    if (now.lastAttemptAt !== before && !['pending', 'syncing'].includes(now.status)) return now;
    await new Promise((done) => setTimeout(done, 25));
  }
}

const entries = async (name: string) =>
  (
    (await service.get(`/v1/sources/${name}/entries`)).json as {
      entries: { versions: { status: string }[] }[];
    }
  ).entries.filter(({ versions }) => versions.some(({ status }) => status !== 'deleted')).length;

const folder = aFolder();
const service = aService().configuration({ adminAllowPrivateIP: true, adminFileRoot: folder.path }).runs();

describe('a source whose upstream registry loses entries', () => {
  const upstream = anUpstreamRegistry().runs();
  let name = '';
  let made = 0;
  const holds = async (count: number, more: object = {}) => {
    name = `mirror-${made++}`;
    upstream.reset().put(servers(count));
    const put = await service.put(`/v1/sources/${name}`, {
      api: { endpoint: upstream.url },
      syncPolicy,
      ...more,
    });
    expect(outcomeOf(put)).toBe('201');
    expect(await service.synced(name)).toMatchObject({ status: 'complete', counts: { entries: count } });
  };
  const keeps = (count: number) => void upstream.reset().put(servers(count));

  it('fails with `shrunk`, keeps the entries and mentions allowShrink, unless at least half remain', async () => {
    await holds(20);
    keeps(9);
    const report = await requested(name);
    expect(report.status).toBe('failed');
    expect(report.error).toMatch(/shrunk from 20 entries to 9, .*allowShrink/);
    expect(await entries(name)).toBe(20);
    keeps(10);
    expect(await requested(name)).toMatchObject({ status: 'complete', counts: { entries: 10 } });
    expect(await entries(name)).toBe(10);
  });

  it('counts replacements: fails when too few entries remain in total, and not when enough do', async () => {
    await holds(20);
    upstream.reset().put(servers(9, 1_000));
    expect((await requested(name)).error).toMatch(/shrunk/);
    upstream.put(servers(1, 2_000));
    expect(await requested(name)).toMatchObject({ status: 'complete', counts: { removed: 20 } });
  });

  it('fails when the content is no longer valid', async () => {
    await holds(20);
    upstream.reset().put([...servers(5), ...servers(15, 5).map((server) => ({ ...server, description: 5 }))]);
    expect((await requested(name)).error).toMatch(/shrunk from 20 entries to 5/);
    expect(await entries(name)).toBe(20);
  });

  it('counts entries, not versions', async () => {
    await holds(10);
    upstream.put(Array.from({ length: 10 }, (_, n) => aServer('io.acme/s0', `2.0.${n}`)));
    expect(await requested(name)).toMatchObject({ status: 'complete', counts: { entries: 20 } });
    keeps(1);
    expect(await requested(name)).toMatchObject({ status: 'complete', counts: { entries: 1 } });
  });

  it('fails when most become deleted, even in an incremental run', async () => {
    await holds(20);
    upstream.put(servers(11), { status: 'deleted' });
    upstream.pages();
    const report = await service.synced(name);
    expect(upstream.pages()[0]?.query.has('updated_since')).toBe(true);
    expect(report).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/shrunk from 20 entries to 9/),
    });
    expect(await entries(name)).toBe(20);
    expect(await requested(name, { allowShrink: true })).toMatchObject({ status: 'complete' });
    expect(await entries(name)).toBe(9);
  });

  it('allows half of them to become deleted', async () => {
    await holds(20);
    upstream.put(servers(10), { status: 'deleted' });
    expect(await service.synced(name)).toMatchObject({ status: 'complete' });
    expect(await entries(name)).toBe(10);
  });

  it('removes them, down to 0, with allowShrink on the source', async () => {
    await holds(20, { allowShrink: true });
    expect((await service.get(`/v1/sources/${name}`)).json).toMatchObject({ allowShrink: true });
    keeps(0);
    expect(await requested(name)).toMatchObject({ status: 'complete', counts: { entries: 0 } });
    expect(await entries(name)).toBe(0);
  });

  it('removes them once allowShrink is added, and keeps the other settings', async () => {
    await holds(20);
    keeps(2);
    expect((await requested(name)).error).toMatch(/shrunk/);
    expect((await service.get(`/v1/sources/${name}`)).json).not.toHaveProperty('allowShrink');
    const allowing = { api: { endpoint: upstream.url }, syncPolicy, allowShrink: true };
    expect((await service.put(`/v1/sources/${name}`, allowing)).status).toBe(200);
    expect(await requested(name)).toMatchObject({ status: 'complete', counts: { entries: 2 } });
  });

  it('removes them in the one manual sync with allowShrink and in no later one', async () => {
    await holds(20);
    keeps(3);
    expect((await requested(name, { allowShrink: false })).error).toMatch(/shrunk/);
    expect((await requested(name, {})).error).toMatch(/shrunk/);
    expect(await requested(name, { allowShrink: true })).toMatchObject({ status: 'complete' });
    expect(await entries(name)).toBe(3);
    upstream.put(servers(20));
    expect(await requested(name)).toMatchObject({ status: 'complete', counts: { entries: 20 } });
    keeps(3);
    expect((await requested(name)).error).toMatch(/shrunk/);
  });

  it("uses up a manual sync's allowShrink even when that sync fails", async () => {
    await holds(20);
    upstream.fails(1, { status: 404 });
    expect((await requested(name, { allowShrink: true })).error).toMatch(/404/);
    keeps(1);
    expect((await requested(name)).error).toMatch(/shrunk/);
  });

  it("removes them when the source's location changes, which is intended", async () => {
    await holds(20);
    keeps(1);
    const api = { endpoint: `${upstream.url}/other` };
    expect((await service.put(`/v1/sources/${name}`, { api, syncPolicy })).status).toBe(200);
    expect(await service.synced(name)).toMatchObject({ status: 'complete', counts: { entries: 1 } });
  });

  it('refuses a manual sync with any other body', async () => {
    await holds(1);
    const bodies = [
      { allowShrink: 'yes' },
      { allowShrink: null },
      { allowshrink: true },
      [],
      { allowShrink: true, more: 1 },
    ];
    for (const body of bodies)
      expectRefused(await service.post(`/v1/sources/${name}/sync`, body), 400, 'invalid_body');
  });
});

describe('a file that loses entries', () => {
  let content = '';
  const upstream = createServer((_request, response) => void response.end(content));
  listensMeanwhile(upstream);
  beforeEach(() => void (content = JSON.stringify(aCatalogue(servers(20)))));
  const url = () => `${urlOf(upstream)}/catalogue.json`;

  it('fails behind a URL, down to 9 or 0, until a sync allows it', async () => {
    await service.put('/v1/sources/url', { file: { url: url() }, syncPolicy });
    expect(await service.synced('url')).toMatchObject({ status: 'complete', counts: { entries: 20 } });
    for (const after of [9, 0]) {
      content = JSON.stringify(aCatalogue(servers(after)));
      expect((await service.synced('url')).error).toContain(`shrunk from 20 entries to ${after},`);
      expect(await entries('url')).toBe(20);
    }
    expect(await requested('url', { allowShrink: true })).toMatchObject({ status: 'complete' });
    expect(await entries('url')).toBe(0);
  });

  it('loses half of them behind a URL, and any number with allowShrink', async () => {
    await service.put('/v1/sources/half', { file: { url: url() }, syncPolicy });
    await service.put('/v1/sources/any', { file: { url: url() }, syncPolicy, allowShrink: true });
    for (const name of ['half', 'any']) await service.synced(name);
    content = JSON.stringify(aCatalogue(servers(10)));
    expect(await service.synced('half')).toMatchObject({ status: 'complete', counts: { entries: 10 } });
    content = JSON.stringify(aCatalogue(servers(1)));
    expect(await service.synced('any')).toMatchObject({ status: 'complete', counts: { entries: 1 } });
  });

  it('on disk may lose any number, but not all', async () => {
    const path = folder.catalogue('local', servers(20));
    await service.put('/v1/sources/local', { file: { path }, syncPolicy });
    await service.synced('local');
    folder.catalogue('local', servers(1));
    expect(await service.synced('local')).toMatchObject({ status: 'complete', counts: { entries: 1 } });
    folder.catalogue('local', []);
    expect((await service.synced('local')).error).toMatch(/The file has no entries/);
    expect((await requested('local', { allowShrink: true })).error).toMatch(/The file has no entries/);
  });

  it('refuses allowShrink where it has no meaning', async () => {
    const path = folder.catalogue('plain', servers(1));
    for (const source of [{ file: { path }, syncPolicy }, { managed: {} }])
      expectRefused(
        await service.put('/v1/sources/plain', { ...source, allowShrink: true }),
        400,
        'invalid_body',
      );
  });
});
