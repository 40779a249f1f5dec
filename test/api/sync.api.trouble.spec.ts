import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { aServer } from '../support/documents.js';
import { expectRefused, pauseInSeconds, versionsIn } from '../support/matchers.js';
import { keepSecret } from '../support/secrets.js';
import { aService, type ServiceUnderTest } from '../support/service.js';
import { anUpstreamRegistry } from '../support/upstream-registry.js';

const TOKEN = keepSecret('a-very-secret-upstream-token');
const upstream = anUpstreamRegistry().runs();
const elsewhere = anUpstreamRegistry().runs();

const list = async (service: ServiceUnderTest, registry = 'main') =>
  versionsIn(await service.get(`/registry/${registry}/v0.1/servers?limit=100`));

describe('a registry in trouble', () => {
  const mirror = aService();
  let folder: string;
  const tokenFile = () => join(folder, 'token');
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'registry-token-'));
    await writeFile(tokenFile(), `${TOKEN}\n`);
    mirror.source('main', {
      kind: 'api',
      settings: { endpoint: upstream.url, timeout: '1s', tokenFile: tokenFile() },
    });
  });
  afterAll(() => rm(folder, { recursive: true }));
  mirror.registry('main', { sources: ['main'] }).runs();

  const everythingNext = () => mirror.database.query(`update source_sync set fetch_state = null`);
  const servers = (count: number) =>
    Array.from({ length: count }, (_, index) => aServer(`io.acme/s${index}`));

  beforeEach(async () => {
    upstream.reset().put([aServer('io.acme/stays')]);
    elsewhere.reset();
    await everythingNext();
    await mirror.synced('main');
    await everythingNext();
    upstream.pages();
  });

  it('changes nothing when it fails on page 57, and is asked again', async () => {
    upstream.put(servers(6_000)).fails(57, 'error');
    const report = await mirror.synced('main');
    expect(report).toMatchObject({ status: 'failed', attempts: 1 });
    expect(report.error).toMatch(/\/v0\.1\/servers: the answer has status 500/);
    expect(await list(mirror)).toEqual(['io.acme/stays@1.0.0']);
    // Three more tries of the same page: no page before it is read again.
    expect(upstream.pages()).toHaveLength(60);
    upstream.recovers();
    expect(await mirror.synced('main')).toMatchObject({ status: 'complete', counts: { entries: 6_001 } });
  });

  it('may fail for a moment: the page is asked for again in the same run', async () => {
    upstream.put(servers(300)).fails(2, { status: 503, times: 2 });
    expect(await mirror.synced('main')).toMatchObject({ status: 'complete', counts: { entries: 301 } });
    expect(upstream.pages()).toHaveLength(6);
  });

  it('is given the time it asks for', async () => {
    upstream.put(servers(150)).fails(2, { status: 429, headers: { 'Retry-After': '2' }, times: 1 });
    expect(await mirror.synced('main')).toMatchObject({ status: 'complete', counts: { entries: 151 } });
    const [, first, second] = upstream.pages();
    expect(Number(second?.at) - Number(first?.at)).toBeGreaterThanOrEqual(1_990);
  });

  it('is not waited for longer than a minute', async () => {
    upstream.fails(1, { status: 429, headers: { 'Retry-After': '3600' } });
    expect((await mirror.synced('main')).error).toMatch(/asks for a pause of 3600 s/);
    expect(upstream.pages()).toHaveLength(1);
    expect(await pauseInSeconds(mirror)).toBeGreaterThanOrEqual(3_600);
  });

  it('is left alone until the time it asks for, also when the page is not asked for again', async () => {
    upstream.fails(1, { status: 403, headers: { 'Retry-After': '600' } });
    expect((await mirror.synced('main')).error).toMatch(/status 403/);
    expect(await pauseInSeconds(mirror)).toBeGreaterThanOrEqual(600);
    expect(await pauseInSeconds(mirror)).toBeLessThan(700);
  });

  it.each([
    ['a page for people', 'html', /no page of an MCP registry: .*malformed/],
    ['half a page', 'garbage', /no page of an MCP registry: .*closed/],
    ['another document', { answer: { entries: [] } }, /no page of an MCP registry: .*list "servers"/],
    ['a list', { answer: [] }, /no page of an MCP registry/],
    ['an empty list', { answer: { servers: null } }, /The registry holds no entries/],
    [
      'no valid entry',
      { answer: { servers: [{ server: {} }] } },
      /None of the 1 entries is valid; .*servers\[0\]/,
    ],
    ['a cursor that is none', { answer: { servers: [], metadata: { nextCursor: 5 } } }, /no cursor/],
    ['one byte at a time', 'drip', /no whole answer within 1 s/],
    ['nothing', 'hang', /no whole answer within 1 s/],
    ['an unauthorized', { status: 401 }, /status 401: .*token/],
    ['a forbidden', { status: 403 }, /status 403/],
    ['a not found', { status: 404 }, /status 404: .*base/],
    ['a closed connection', 'down', /v0\.1\/servers: /],
    ['a redirect in circles', { redirect: '/v0.1/servers' }, /redirects more than five times/],
  ] as const)('keeps the earlier entries, and the status says why: %s', async (_what, how, why) => {
    upstream.fails(1, how);
    const report = await mirror.synced('main');
    expect(report.status).toBe('failed');
    expect(report.error).toMatch(why);
    expect(await list(mirror)).toEqual(['io.acme/stays@1.0.0']);
  });

  it.each([
    ['same-cursor', /leads back to an earlier one/],
    ['new-cursors', /without end/],
  ] as const)('is left when its pages never end: %s', async (endless, why) => {
    upstream.habits = { endless };
    expect((await mirror.synced('main')).error).toMatch(why);
    expect(await list(mirror)).toEqual(['io.acme/stays@1.0.0']);
  });

  it('is followed to another origin, which does not get the token', async () => {
    elsewhere.put([aServer('io.acme/moved')]);
    upstream.fails(1, { redirect: `${elsewhere.url}/v0.1/servers` });
    expect(await mirror.synced('main')).toMatchObject({ status: 'complete' });
    expect(await list(mirror)).toEqual(['io.acme/moved@1.0.0']);
    expect(upstream.pages()[0]?.authorization).toBe(`Bearer ${TOKEN}`);
    expect(elsewhere.pages().map(({ authorization }) => authorization)).toEqual([undefined]);
  });

  it('gets the token that is in the file at that time; a file without one is said to be so', async () => {
    const second = keepSecret('another-very-secret-token');
    await writeFile(tokenFile(), second);
    await mirror.synced('main');
    expect(upstream.pages()[0]?.authorization).toBe(`Bearer ${second}`);
    await writeFile(tokenFile(), 'two words of a secret');
    expect((await mirror.synced('main')).error).toMatch(/token holds no bearer token$/);
    await rm(tokenFile());
    expect((await mirror.synced('main')).error).toMatch(/token could not be opened: there is no such file/);
    expect(upstream.pages()).toEqual([]);
    await writeFile(tokenFile(), TOKEN);
  });
});

describe('a registry at a private address', () => {
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

  it('is read for a source of the configuration, and not for one made through the API', async () => {
    expect(await closed.synced('main')).toMatchObject({ status: 'complete' });
    upstream.pages();
    const { port } = new URL(upstream.url);
    for (const [index, host] of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]'].entries()) {
      const name = `made-${index}`;
      expect((await put(closed, name, { endpoint: `http://${host}:${port}` })).status).toBe(201);
      const report = await closed.synced(name);
      expect(report.status).toBe('failed');
      expect(report.error).toMatch(/is at a private address, which is not allowed here/);
    }
    expect(upstream.pages()).toEqual([]);
  });

  it('is read for one made through the API where the configuration allows it', async () => {
    expect((await put(open, 'made', { endpoint: upstream.url })).status).toBe(201);
    expect(await open.synced('made')).toMatchObject({ status: 'complete', counts: { entries: 1 } });
  });

  it('gets a token of a file below adminFileRoot alone, which is looked at again in each run', async () => {
    const api = (tokenFile: string) => ({ endpoint: upstream.url, tokenFile });
    expectRefused(await put(open, 'told', api(join(outside, 'token'))), 400, 'path_not_allowed');
    expect((await put(open, 'told', api(join(root, 'token')))).status).toBe(201);
    expect(await open.synced('told')).toMatchObject({ status: 'complete' });
    expect(upstream.pages().at(-1)?.authorization).toBe(`Bearer ${TOKEN}`);
    expect((await open.get('/v1/sources/told')).json).toMatchObject({ api: api(join(root, 'token')) });
    await rm(join(root, 'token'));
    await symlink(join(outside, 'token'), join(root, 'token'));
    expect((await open.synced('told')).error).toMatch(/token may not be read/);
    expect(upstream.pages()).toEqual([]);
  });
});
