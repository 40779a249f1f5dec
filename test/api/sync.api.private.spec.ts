import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aServer } from '../support/documents.js';
import { expectRefused } from '../support/matchers.js';
import { keepSecret } from '../support/secrets.js';
import { aService, type ServiceUnderTest } from '../support/service.js';
import { anUpstreamRegistry } from '../support/upstream-registry.js';

const TOKEN = keepSecret('a-very-secret-upstream-token');
const upstream = anUpstreamRegistry().runs();

describe('an upstream registry at a private address', () => {
  let root: string;
  let outside: string;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'registry-root-'));
    outside = await mkdtemp(join(tmpdir(), 'registry-outside-'));
    upstream.reset().put([aServer('io.acme/private')]);
    await writeFile(join(root, 'token'), TOKEN);
    await writeFile(join(outside, 'token'), TOKEN);
    for (const service of [closed, open]) service.configuration({ adminFileRoot: root });
  });
  afterAll(async () => {
    await rm(root, { recursive: true });
    await rm(outside, { recursive: true });
  });
  const closed = aService().source('main', { kind: 'api', settings: { endpoint: 'http://127.0.0.1:9' } });
  const open = aService().configuration({ adminAllowPrivateIP: true });
  beforeAll(() => {
    closed.source('main', { kind: 'api', settings: { endpoint: upstream.url } });
  });
  closed.registry('main', { sources: ['main'] }).runs();
  open.runs();

  const put = (service: ServiceUnderTest, name: string, api: object) =>
    service.put(`/v1/sources/${name}`, { api, syncPolicy: { interval: '1h' } });

  it('is read for a source of the configuration, but not for an API-made one', async () => {
    expect(await closed.synced('main')).toMatchObject({ status: 'complete' });
    upstream.pages();
    const { port } = new URL(upstream.url);
    for (const [index, host] of [
      '127.0.0.1',
      'localhost',
      '[::ffff:127.0.0.1]',
      'nowhere.invalid',
    ].entries()) {
      const name = `made-${index}`;
      expect((await put(closed, name, { endpoint: `http://${host}:${port}` })).status).toBe(201);
      const report = await closed.synced(name);
      expect(report.status).toBe('failed');
      expect(report.error).toMatch(/its host is unknown, at a private address, or refuses connections/);
    }
    expect(upstream.pages()).toEqual([]);
  });

  it('is read for an API-made source where the configuration allows it', async () => {
    expect((await put(open, 'made', { endpoint: upstream.url })).status).toBe(201);
    expect(await open.synced('made')).toMatchObject({ status: 'complete', counts: { entries: 1 } });
  });

  it('gets a token only from a file below adminFileRoot, checked in each run', async () => {
    const api = (tokenFile: string) => ({ endpoint: upstream.url, tokenFile });
    expectRefused(await put(open, 'moved', api(join(outside, 'token'))), 400, 'path_not_allowed');
    expect((await put(open, 'moved', api(join(root, 'token')))).status).toBe(201);
    expect(await open.synced('moved')).toMatchObject({ status: 'complete' });
    expect(upstream.pages().at(-1)?.authorization).toBe(`Bearer ${TOKEN}`);
    expect((await open.get('/v1/sources/moved')).json).toMatchObject({ api: api(join(root, 'token')) });
    await rm(join(root, 'token'));
    await symlink(join(outside, 'token'), join(root, 'token'));
    expect((await open.synced('moved')).error).toMatch(/token is not allowed/);
    expect(upstream.pages()).toEqual([]);
  });
});
