import { beforeAll, describe, expect, it } from 'vitest';
import { outcomeOf, serversIn } from '../support/answers.js';
import { ACME_ADMIN, ACME_DATA } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import type { Headers } from '../support/http.js';
import { aService } from '../support/service.js';

const DATE = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/) as string;

describe('a registry created through the API', () => {
  const claims = { org: 'acme' };
  const service = aService({ mode: 'full' })
    .source('first', { claims, servers: [aServer('io.acme/first'), aServer('io.acme/both', '1.0.0')] })
    .source('second', { claims, servers: [aServer('io.acme/second'), aServer('io.acme/both', '2.0.0')] })
    .registry('configured', { sources: ['first'], claims })
    .runs();
  const admin = () => service.as(ACME_ADMIN);
  const stored = async (name: string) =>
    (await admin().get(`/v1/registries/${name}`)).json as {
      createdAt: string;
      updatedAt: string;
      sources: string[];
    };

  it('is created, read and served', async () => {
    const body = { sources: ['second', 'first'], claims };
    expect(outcomeOf(await admin().put('/v1/registries/created', body))).toBe('201');
    expect(await stored('created')).toEqual({
      name: 'created',
      ...body,
      origin: 'api',
      createdAt: DATE,
      updatedAt: DATE,
    });
    const list = await service.as(ACME_DATA).get('/registry/created/v0.1/servers');
    expect(serversIn(list)).toEqual(['io.acme/both', 'io.acme/first', 'io.acme/second']);
  });

  it('keeps the order of its sources, which decides shadowing', async () => {
    const latest = '/registry/ordered/v0.1/servers/io.acme%2Fboth/versions/latest';
    for (const [sources, version] of [
      [['first', 'second'], '1.0.0'],
      [['second', 'first'], '2.0.0'],
    ] as const) {
      await admin().put('/v1/registries/ordered', { sources });
      expect((await stored('ordered')).sources).toEqual(sources);
      expect((await service.as(ACME_DATA).get(latest)).json).toMatchObject({ server: { version } });
    }
  });

  it('is replaced as a whole: omitted claims are removed', async () => {
    await admin().put('/v1/registries/replaced', { sources: ['first', 'second'], claims });
    const before = await stored('replaced');
    expect(outcomeOf(await admin().put('/v1/registries/replaced', { sources: ['second'] }))).toBe('200');
    const after = await stored('replaced');
    expect(after).toMatchObject({ sources: ['second'], claims: {}, createdAt: before.createdAt });
    expect(Date.parse(after.updatedAt)).toBeGreaterThan(Date.parse(before.updatedAt));
  });

  it('accepts the same PUT twice', async () => {
    const body = { sources: ['first'], claims };
    expect(outcomeOf(await admin().put('/v1/registries/twice', body))).toBe('201');
    expect(outcomeOf(await admin().put('/v1/registries/twice', body))).toBe('200');
  });

  it('is removed by DELETE, and its sources stay', async () => {
    await admin().put('/v1/registries/deleted', { sources: ['first'] });
    const reply = await admin().delete('/v1/registries/deleted');
    expect({ status: reply.status, text: reply.text }).toEqual({ status: 204, text: '' });
    for (const [method, below] of [
      ['GET', ''],
      ['DELETE', ''],
      ['GET', '/entries'],
    ] as const)
      expect(outcomeOf(await admin().send(method, `/v1/registries/deleted${below}`))).toBe(
        '404 registry_not_found',
      );
    const consumer = await service.as(ACME_DATA).get('/registry/deleted/v0.1/servers');
    expect(outcomeOf(consumer)).toBe('404 registry_not_found');
    expect(outcomeOf(await admin().get('/v1/sources/first'))).toBe('200');
  });

  it.each(['a', '0', 'a-b', 'x'.repeat(63)])('may be named %s', async (name) => {
    expect(outcomeOf(await admin().put(`/v1/registries/${name}`, { sources: ['first'] }))).toBe('201');
  });

  it.each(['A', 'a_b', '-a', 'a-', 'a.b', 'x'.repeat(64), '%20', 'a%2Fb', '%C3%A4', 'a%00'])(
    'cannot be named %s',
    async (name) => {
      const reply = await admin().put(`/v1/registries/${name}`, { sources: ['first'] });
      expect(outcomeOf(reply)).toBe('400 invalid_name');
      expect(outcomeOf(await admin().get(`/v1/registries/${name}`))).toBe('404 registry_not_found');
    },
  );

  // oxfmt-ignore
  it.each<[string, unknown, string]>([
    ['no sources', { claims }, 'sources'],
    ['an empty list of sources', { sources: [] }, 'sources'],
    ['sources that are a string', { sources: 'first' }, 'sources'],
    ['sources that are null', { sources: null }, 'sources'],
    ['a source that is a number', { sources: ['first', 1] }, 'sources[1]'],
    ['a source that is an object', { sources: [{ name: 'first' }] }, 'sources[0]'],
    ['a duplicate source', { sources: ['first', 'first'] }, 'sources[1]'],
    ['an invalid source name', { sources: ['First'] }, 'sources[0]'],
    ['claims that are an array', { sources: ['first'], claims: [] }, 'claims'],
    ['a claim that is a number', { sources: ['first'], claims: { level: 3 } }, 'claims.level'],
    ['a claim that belongs to a token (exp)', { sources: ['first'], claims: { org: 'acme', nbf: '1' } }, 'claims.nbf'],
    ['a claim that is an empty array', { sources: ['first'], claims: { org: [] } }, 'claims.org'],
    ['an unknown member', { sources: ['first'], title: 'x' }, 'title'],
    ['a different name', { sources: ['first'], name: 'first' }, 'name'],
    ['a different origin', { sources: ['first'], origin: 'api' }, 'origin'],
  ])('is refused with %s', async (_what, body, path) => {
    const reply = await admin().put('/v1/registries/refused', body);
    expect(outcomeOf(reply)).toBe('400 invalid_body');
    const { details } = reply.json as { details: string[] };
    expect(details.map((sentence) => sentence.split(': ')[0])).toContain(path);
    expect(outcomeOf(await admin().get('/v1/registries/refused'))).toBe('404 registry_not_found');
  });

  it('is refused with the name of an unknown source', async () => {
    const reply = await admin().put('/v1/registries/refused', { sources: ['first', 'nowhere', 'neither'] });
    expect(outcomeOf(reply)).toBe('400 unknown_source');
    const { details } = reply.json as { details: string[] };
    expect(details).toEqual([expect.stringContaining('nowhere'), expect.stringContaining('neither')]);
  });

  const json = { 'Content-Type': 'application/json' };
  it.each<[string, string | undefined, Headers, string]>([
    ['missing', undefined, {}, '400 invalid_body'],
    ['an array', '[]', json, '400 invalid_body'],
    ['truncated JSON', '{"sources":["first"]', json, '400 malformed_json'],
    ['text', '{"sources":["first"]}', { 'Content-Type': 'text/plain' }, '415 unsupported_media_type'],
  ])('is refused when the body is %s', async (_what, body, headers, answer) => {
    expect(outcomeOf(await admin().put('/v1/registries/refused', body, headers))).toBe(answer);
  });
});

describe.each(['sources', 'registries'])('the admin list of %s', (noun) => {
  const service = aService({ mode: 'full' }).source('zero', { servers: [aServer('io.acme/a')] });
  const names = ['alpha', 'beta', 'delta', 'gamma', 'omega'];
  for (const name of names) {
    if (noun === 'sources')
      service.source(name, {
        claims: { org: name === 'delta' ? 'contoso' : 'acme' },
        servers: [aServer('io.acme/a')],
      });
    service.registry(name, { sources: ['zero'], claims: { org: name === 'delta' ? 'contoso' : 'acme' } });
  }
  service.runs();
  interface Page {
    names: string[];
    count: number;
    next: string | undefined;
  }
  const page = async (query: string): Promise<Page> => {
    const reply = await service.as(ACME_ADMIN).get(`/v1/${noun}${query}`);
    expect(outcomeOf(reply)).toBe('200');
    const body = reply.json as Record<string, { name: string }[]> & {
      metadata: { count: number; nextCursor?: string };
    };
    const listed = body[noun]?.map(({ name }) => name) ?? [];
    return { names: listed, count: body.metadata.count, next: body.metadata.nextCursor };
  };
  const mine = [...names.filter((name) => name !== 'delta'), ...(noun === 'sources' ? ['zero'] : [])];
  let all: Page;
  beforeAll(async () => {
    all = await page('');
  });

  it('is complete and counts only visible items', () => {
    expect(all.names.toSorted()).toEqual(mine);
    expect(all).toMatchObject({ count: mine.length, next: undefined });
  });

  it.each([1, 2, 3, 4])('is paged by %i without gaps or duplicates', async (limit) => {
    const seen: string[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const { names: some, count, next } = await page(`?limit=${limit}${cursor ? `&cursor=${cursor}` : ''}`);
      expect(some.length).toBe(count);
      expect(count).toBeLessThanOrEqual(limit);
      seen.push(...some);
      cursor = next;
    }
    expect(seen).toEqual(all.names);
  });

  it('returns nothing hidden when another caller uses a cursor', async () => {
    const { next } = await page('?limit=2');
    const reply = await service.as({ org: 'contoso', role: 'admin' }).get(`/v1/${noun}?cursor=${next}`);
    const body = reply.json as Record<string, { name: string }[]>;
    expect(body[noun]?.filter(({ name }) => name !== 'zero' && name !== 'delta')).toEqual([]);
  });

  it('skips nothing when the last item of a page has been deleted', async () => {
    const body = {
      claims: { org: 'acme' },
      ...(noun === 'sources'
        ? { file: { url: 'https://192.0.2.1/a' }, syncPolicy: { interval: '1h' } }
        : { sources: ['zero'] }),
    };
    // Creation order differs from name order.
    for (const name of ['kappa', 'chi'])
      expect(outcomeOf(await service.as(ACME_ADMIN).put(`/v1/${noun}/${name}`, body))).toBe('201');
    const { names: before } = await page('');
    const { next } = await page(`?limit=${before.indexOf('kappa') + 1}`);
    const rest = before.slice(before.indexOf('kappa') + 1);
    expect((await page(`?cursor=${next}`)).names).toEqual(rest);
    await service.as(ACME_ADMIN).delete(`/v1/${noun}/kappa`);
    // Sources are sorted by name. The position of a deleted registry is unknown, so that list starts over.
    const left = noun === 'sources' ? rest : before.filter((name) => name !== 'kappa');
    expect((await page(`?cursor=${next}`)).names).toEqual(left);
    await service.as(ACME_ADMIN).delete(`/v1/${noun}/chi`);
  });

  it.each(['limit=0', 'limit=-1', 'limit=x', 'limit=', 'limit=1.5', 'limit=1&limit=2', 'limit=101'])(
    'refuses %s',
    async (query) => {
      expect(outcomeOf(await service.as(ACME_ADMIN).get(`/v1/${noun}?${query}`))).toBe(
        '400 invalid_parameter',
      );
    },
  );

  it.each(['x', 'AAAA', '%00', 'eyJhIjoxfQ', 'W10'])('refuses the cursor %s', async (cursor) => {
    expect(outcomeOf(await service.as(ACME_ADMIN).get(`/v1/${noun}?cursor=${cursor}`))).toBe(
      '400 invalid_cursor',
    );
  });
});
