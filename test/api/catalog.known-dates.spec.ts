import { beforeAll, describe, expect, it } from 'vitest';
import { aServer, aSkill } from '../support/documents.js';
import { aPublication } from '../support/publishing.js';
import { aService } from '../support/service.js';
import { anUpstreamRegistry } from '../support/upstream-registry.js';

const STATED = '2020-02-03T04:05:06.000Z';
const PUBLISHED = '2021-01-01T00:00:00.000Z';
const stated = {
  _meta: {
    'io.modelcontextprotocol.registry/publisher-provided': {
      'io.acme': { image: { metadata: { last_updated: STATED } } },
    },
  },
};
// A source that would lose most of its entries in one sync keeps them.
const others = [1, 2, 3, 4].map((number) => aServer(`io.file/other-${number}`));

const upstream = anUpstreamRegistry().runs();
const service = aService();
beforeAll(() => {
  upstream
    .put([aServer('io.upstream/dated')], { publishedAt: PUBLISHED })
    .put([aServer('io.upstream/stated', '1.0.0', stated)], { publishedAt: PUBLISHED })
    .put([aServer('io.upstream/undated')], { publishedAt: undefined, updatedAt: undefined });
  service.source('upstream', { kind: 'api', settings: { endpoint: upstream.url } });
});
service
  .source('file', {
    servers: [aServer('io.file/undated'), aServer('io.file/stated', '1.0.0', stated), ...others],
    skills: [aSkill('io.file/skill')],
  })
  .source('published', { kind: 'managed' })
  .registry('main', { sources: ['file', 'upstream', 'published'] })
  .runs();

interface Item {
  name: string;
  updatedAt: string;
  statedAt?: string;
  publishedAt?: string;
}

async function find(query: string): Promise<{ items: Item[]; metadata: { nextCursor?: string } }> {
  const reply = await service.get(`/registry/main/v0.1/x/search?${query}`);
  expect(reply.status).toBe(200);
  return reply.json as unknown as Awaited<ReturnType<typeof find>>;
}

async function datesOf(name: string): Promise<Pick<Item, 'statedAt' | 'publishedAt'>> {
  const { items } = await find(`q=${encodeURIComponent(name)}&dates=true`);
  const { statedAt, publishedAt } = items.find((item) => item.name === name) ?? {};
  return { ...(statedAt && { statedAt }), ...(publishedAt && { publishedAt }) };
}

const BEGAN = new Date().toISOString();
const isNow = (time = '') => time >= BEGAN && time <= new Date().toISOString();

describe('GET /x/search?dates=true', () => {
  it.each([
    ['io.file/undated', {}],
    ['io.file/skill', {}],
    ['io.file/stated', { statedAt: STATED }],
    ['io.upstream/undated', {}],
    ['io.upstream/dated', { publishedAt: PUBLISHED }],
    ['io.upstream/stated', { statedAt: STATED, publishedAt: PUBLISHED }],
  ])('returns the stated dates of %s, never the time of a sync', async (name, dates) => {
    expect(await datesOf(name)).toEqual(dates);
    await service.synced(name.startsWith('io.file/') ? 'file' : 'upstream');
    expect(await datesOf(name)).toEqual(dates);
  });

  it('returns no date for a document that a sync changed', async () => {
    const changed = aServer('io.file/undated', '1.0.0', { title: 'Changed' });
    await service.rewrite('file', {
      servers: [changed, aServer('io.file/stated', '1.0.0', stated), ...others],
    });
    await service.synced('file');
    expect((await find('q=changed&dates=true')).items).toHaveLength(1);
    expect(await datesOf('io.file/undated')).toEqual({});
  });

  it('returns the time at which an entry was published here', async () => {
    const publication = aPublication('server', 'io.here/tool', {}, '1.0.0', {});
    expect((await service.post('/v1/entries', publication)).status).toBe(201);
    const { publishedAt, ...more } = await datesOf('io.here/tool');
    expect(isNow(publishedAt)).toBe(true);
    expect(more).toEqual({});
  });

  it('finds only entries with such a date if `dated=true`, on every page', async () => {
    const all = (await find('sort=name&limit=100&dates=true')).items;
    const dated = all.filter(({ statedAt, publishedAt }) => statedAt ?? publishedAt);
    const { items, metadata } = await find('sort=name&limit=2&dated=true');
    const rest = await find(`limit=100&cursor=${metadata.nextCursor ?? ''}`);
    expect([...items, ...rest.items].map(({ name }) => name)).toEqual(dated.map(({ name }) => name));
    expect(dated).toHaveLength(4);
  });

  it('sorts by such a date if `sort=dated`, across pages, with undated entries last', async () => {
    const first = await find('sort=dated&limit=1');
    const { items } = await find(`limit=100&cursor=${first.metadata.nextCursor ?? ''}`);
    const names = [...first.items, ...items].map(({ name }) => name);
    expect(names.slice(0, 4)).toEqual([
      'io.here/tool',
      'io.upstream/dated',
      'io.file/stated',
      'io.upstream/stated',
    ]);
    expect(names).toContain('io.upstream/undated');
  });

  it('applies to each page, and leaves `updatedAt` and the order unchanged', async () => {
    const plain = (await find('sort=updated&limit=100')).items;
    expect(plain.some((item) => 'statedAt' in item || 'publishedAt' in item)).toBe(false);
    expect(plain.every(({ updatedAt }) => updatedAt === STATED || isNow(updatedAt))).toBe(true);
    const dated = (await find('sort=updated&limit=100&dates=true')).items;
    expect(dated.map(({ name, updatedAt }) => [name, updatedAt])).toEqual(
      plain.map(({ name, updatedAt }) => [name, updatedAt]),
    );
    const { metadata } = await find('q=stated&limit=1&dates=true');
    const next = `cursor=${metadata.nextCursor ?? ''}`;
    expect((await find(next)).items[0]).not.toHaveProperty('statedAt');
    expect((await find(`${next}&dates=true`)).items[0]).toHaveProperty('statedAt', STATED);
  });
});
