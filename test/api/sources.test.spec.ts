import { createServer, type ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { outcomeOf } from '../support/answers.js';
import { ACME_ADMIN, ACME_DATA, CONTOSO_ADMIN, SUPER_ADMIN } from '../support/callers.js';
import { aCatalogue, aServer } from '../support/documents.js';
import { close, listen, urlOf } from '../support/loopback.js';
import { aService } from '../support/service.js';

const claims = { org: 'acme' };
const broken = { ...aServer('io.acme/broken'), description: 7 };
/** Responses by path; `/slow` waits until it is released. */
const waiting: ServerResponse[] = [];
const upstream = createServer(({ url }, response) => {
  const files: Record<string, unknown> = {
    '/good.json': aCatalogue([aServer('io.acme/a'), aServer('io.acme/b'), broken], []),
    '/many-broken.json': aCatalogue([aServer('io.acme/a'), ...Array.from({ length: 30 }, () => broken)], []),
  };
  if (url === '/slow.json') return void waiting.push(response);
  const file = files[url ?? ''];
  response.writeHead(file ? 200 : 404).end(JSON.stringify(file));
});
const settings = (path: string) => ({
  file: { url: `${urlOf(upstream)}${path}` },
  syncPolicy: { interval: '1h' },
  claims,
});

describe('a test of a source', () => {
  beforeAll(() => listen(upstream));
  afterAll(() => close(upstream));
  const service = aService({ mode: 'full' })
    .configuration({ adminAllowPrivateIP: true })
    .source('declared', { claims, servers: [aServer('io.acme/declared')] })
    .source('managed', { kind: 'managed', claims })
    .registry('main', { sources: ['declared'] })
    .runs();
  const test = (body: unknown, name = 'new', caller: Record<string, unknown> = ACME_ADMIN) =>
    service.as(caller).post(`/v1/sources/${name}/test`, body);

  it('counts what a sync would read, with the first problems', async () => {
    const reply = await test({
      ...settings('/good.json'),
      filter: { names: { exclude: ['io.acme/b'] } },
    });
    expect(reply.status).toBe(200);
    expect(reply.json).toEqual({
      status: 'complete',
      format: 'registry',
      counts: { entries: 1, skipped: 1, filtered: 1 },
      skipped: [
        { name: 'io.acme/broken', version: '1.0.0', reasons: [expect.stringContaining('description')] },
      ],
    });
  });

  it('lists at most 20 problems and counts all', async () => {
    const { json } = await test(settings('/many-broken.json'));
    expect(json).toMatchObject({ counts: { entries: 1, skipped: 30 } });
    expect((json as { skipped: unknown[] }).skipped).toHaveLength(20);
  });

  it('reports why the source cannot be read', async () => {
    const { status, json } = await test(settings('/none.json'));
    expect(status).toBe(200);
    expect(json).toMatchObject({ status: 'failed', counts: {}, skipped: [] });
    expect((json as { error: string }).error).toContain('status 404');
  });

  it('stores nothing', async () => {
    const before = (await service.as(SUPER_ADMIN).get('/v1/sources')).text;
    expect((await test(settings('/good.json'))).status).toBe(200);
    expect(outcomeOf(await service.as(SUPER_ADMIN).get('/v1/sources/new'))).toBe('404 source_not_found');
    expect((await service.as(SUPER_ADMIN).get('/v1/sources')).text).toBe(before);
  });

  it.each<[string, unknown, string, Record<string, unknown>, string]>([
    ['a reader', {}, 'new', ACME_DATA, '403 role_required'],
    [
      'claims that the caller does not hold',
      { claims: { org: 'acme' } },
      'new',
      CONTOSO_ADMIN,
      '400 claims_not_subset',
    ],
    ['a source of the configuration', {}, 'declared', ACME_ADMIN, '403 config_managed'],
    ['a source of another tenant', { claims: {} }, 'declared', CONTOSO_ADMIN, '404 source_not_found'],
    [
      'a kind that is not synced',
      { file: undefined, syncPolicy: undefined, managed: {} },
      'new',
      ACME_ADMIN,
      '400 not_synced',
    ],
    [
      'a file outside adminFileRoots',
      { file: { path: '/etc/passwd' } },
      'new',
      ACME_ADMIN,
      '400 path_not_allowed',
    ],
    ['invalid settings', { file: {} }, 'new', ACME_ADMIN, '400 invalid_body'],
    ['a name that is not a DNS label', {}, 'No_Name', ACME_ADMIN, '400 invalid_name'],
  ])('is refused for %s, like PUT', async (_, more, name, caller, outcome) => {
    const body = { ...settings('/good.json'), ...(more as object) };
    expect(outcomeOf(await test(body, name, caller))).toBe(outcome);
    if (outcome !== '400 not_synced')
      expect(outcomeOf(await service.as(caller).put(`/v1/sources/${name}`, body))).toBe(outcome);
  });

  it('runs one at a time for each caller, and changes do not wait for it', async () => {
    const first = test(settings('/slow.json'));
    await expect.poll(() => waiting.length).toBe(1);
    expect(outcomeOf(await test(settings('/good.json')))).toBe('429 too_many_requests');
    const other = await test({ ...settings('/good.json'), claims: { org: 'contoso' } }, 'new', CONTOSO_ADMIN);
    expect(other.json).toMatchObject({ status: 'complete' });
    for (let change = 0; change < 4; change += 1)
      expect(
        (await service.as(ACME_ADMIN).put('/v1/sources/changed', settings(`/${change}.json`))).status,
      ).toBeLessThan(300);
    waiting.shift()?.writeHead(500).end();
    expect((await first).json).toMatchObject({ status: 'failed' });
    expect((await test(settings('/good.json'))).json).toMatchObject({ status: 'complete' });
  });

  it('runs for five callers at most', async () => {
    const tests = Array.from({ length: 5 }, (_, index) =>
      test(settings('/slow.json'), 'new', { ...ACME_ADMIN, sub: `tester-${index}` }),
    );
    await expect.poll(() => waiting.length).toBe(5);
    expect(outcomeOf(await test(settings('/good.json')))).toBe('503 overloaded');
    for (const response of waiting.splice(0)) response.writeHead(500).end();
    for (const reply of await Promise.all(tests)) expect(reply.json).toMatchObject({ status: 'failed' });
  });

  it('ends after 20 seconds', async () => {
    const timeout = AbortSignal.timeout.bind(AbortSignal);
    const shortened = vi
      .spyOn(AbortSignal, 'timeout')
      .mockImplementation((ms) => timeout(ms === 20_000 ? 200 : ms));
    const { json } = await test(settings('/slow.json'));
    shortened.mockRestore();
    expect((json as { error: string }).error).toContain('more than 20 seconds');
    waiting.shift()?.destroy();
  });
});

describe('a test of a source that hides private addresses', () => {
  beforeAll(() => listen(upstream));
  afterAll(() => close(upstream));
  const service = aService({ mode: 'full' })
    .source('main', { claims, servers: [aServer('io.acme/a')] })
    .registry('main', { sources: ['main'] })
    .runs();

  it('responds the same for a private address and an unknown name', async () => {
    const errors = [];
    for (const host of ['127.0.0.1:9', 'unknown.invalid']) {
      const body = { file: { url: `https://${host}/a.json` }, syncPolicy: { interval: '1h' }, claims };
      const { json } = await service.as(ACME_ADMIN).post('/v1/sources/new/test', body);
      errors.push(String((json as { error: string }).error).replace(host, '{host}'));
    }
    expect(errors[1]).toBe(errors[0]);
  });
});
