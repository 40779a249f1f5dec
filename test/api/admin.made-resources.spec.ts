import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openRegistriesIn, outcomeOf } from '../support/answers.js';
import { ACME_ADMIN, CONTOSO_ADMIN, SUPER_ADMIN } from '../support/callers.js';
import { type Reply, type Sender } from '../support/http.js';
import { insertMany } from '../support/made-resources.js';
import { aService, type ServiceUnderTest } from '../support/service.js';

const KIB = 1024;
const MIB = KIB * KIB;
/** A source with a filter of this many characters; 0 for none. */
const aSource = (length = 0, claims: object = {}) => ({
  file: { url: 'https://catalogue.example/registry.json' },
  syncPolicy: { interval: '30d' },
  ...(length === 0 ? {} : { filter: filterOf(length) }),
  claims,
});
const filterOf = (length: number) => {
  const exclude = Array.from({ length: 200 }, (_, index) => `${index}`.padEnd(length / 400 - 3, 'x'));
  return { names: { exclude }, tags: { exclude } };
};

interface Page {
  sources?: { name: string }[];
  registries?: { name: string }[];
  metadata: { count: number; nextCursor?: string };
}

/** All names of a list, page by page. No page may be longer than 1 MiB. */
async function namesOf(sender: Sender, path: string): Promise<string[]> {
  const names: string[] = [];
  for (let cursor: string | undefined; ;) {
    const reply: Reply = await sender.get(cursor === undefined ? path : `${path}?cursor=${cursor}`);
    expect(reply.status).toBe(200);
    expect(Buffer.byteLength(reply.text)).toBeLessThanOrEqual(MIB);
    const { sources = [], registries = [], metadata } = reply.json as Page;
    expect(metadata.count).toBe(sources.length + registries.length);
    names.push(...[...sources, ...registries].map(({ name }) => name));
    cursor = metadata.nextCursor;
    if (cursor === undefined) return names;
  }
}

describe('limits.apiSources and limits.apiRegistries', () => {
  const service = aService()
    .source('declared', { servers: [] })
    .registry('declared', { sources: ['declared'] })
    .configuration({ limits: { apiSources: 3, apiRegistries: 3 } })
    .runs();
  let replica: ServiceUnderTest;
  beforeAll(async () => {
    replica = service.replica();
    await replica.start();
  });
  afterAll(() => replica.stop());

  it.each([
    ['sources', 'too_many_sources', aSource()],
    ['registries', 'too_many_registries', { sources: ['declared'] }],
  ])(
    'hold for concurrent PUTs of %s on two replicas; an existing one can still be replaced',
    async (what, code, body) => {
      const put = (index: number) =>
        (index % 2 === 0 ? service : replica).put(`/v1/${what}/made-${index}`, body);
      const outcomes = (await Promise.all(Array.from({ length: 10 }, (_, index) => put(index)))).map(
        outcomeOf,
      );
      expect(outcomes.sort()).toEqual([
        ...Array<string>(3).fill('201'),
        ...Array<string>(7).fill(`409 ${code}`),
      ]);
      const [made, another] = (await namesOf(service, `/v1/${what}`)).filter((name) => name !== 'declared');
      const changed = { ...body, claims: { org: 'acme' } };
      expect(outcomeOf(await service.put(`/v1/${what}/${made}`, changed))).toBe('200');
      expect(outcomeOf(await service.delete(`/v1/${what}/${another}`))).toBe('204');
      expect(outcomeOf(await service.put(`/v1/${what}/new`, body))).toBe('201');
      expect(outcomeOf(await service.put(`/v1/${what}/more`, body))).toBe(`409 ${code}`);
    },
  );
});

describe('settings created through the API', () => {
  const service = aService().source('declared', { servers: [] }).runs();

  it('have at most 64 KiB, not counting what the body repeats from a GET', async () => {
    const put = async (body: object) => outcomeOf(await service.put('/v1/sources/made', body));
    const body = aSource(63 * KIB);
    expect(JSON.stringify(body).length).toBeLessThan(64 * KIB);
    expect(await put(aSource(65 * KIB))).toBe('400 settings_too_long');
    expect(await put(body)).toBe('201');
    expect(await put({ ...body, sync: { skipped: ['x'.repeat(2 * KIB)] } })).toBe('200');
    expect(await put({ ...aSource(65 * KIB), more: 1 })).toBe('400 invalid_body');
    const registry = async (length: number) => {
      const claims = {
        org: Array.from({ length: 512 }, (_, index) => `${index}`.padEnd(length / 512 - 3, 'x')),
      };
      return outcomeOf(await service.put('/v1/registries/made', { sources: ['declared'], claims }));
    };
    expect(await registry(63 * KIB)).toBe('201');
    expect(await registry(65 * KIB)).toBe('400 settings_too_long');
  });
});

describe('the lists of sources and registries', () => {
  const service = aService({ mode: 'full' })
    .source('declared', { claims: { org: 'contoso' }, servers: [] })
    .registry('declared', { sources: ['declared'], claims: { org: 'contoso' } })
    .configuration({ limits: { apiSources: 1_000 } })
    .runs();

  beforeAll(async () => {
    for (const what of ['source', 'registry'] as const)
      await insertMany(service.database, what, { prefix: 'acme-', count: 40, org: 'acme', filler: 60 * KIB });
  });
  const n = Array.from({ length: 40 }, (_, index) => `acme-${index + 1}`);
  it.each(['/v1/sources', '/v1/registries'])(
    'end at 1 MiB and continue on the next page: %s',
    async (path) => {
      expect((await namesOf(service.as(SUPER_ADMIN), path)).sort()).toEqual([...n, 'declared'].sort());
      const first = (await service.as(SUPER_ADMIN).get(path)).json as Page;
      expect(first.metadata.nextCursor).toBeDefined();
      expect(first.metadata.count).toBeLessThan(20);
    },
  );

  it.each(['/v1/sources', '/v1/registries'])(
    'show each caller what they may see, and no cursor after the last visible item: %s',
    async (path) => {
      expect(await namesOf(service.as(CONTOSO_ADMIN), path)).toEqual(['declared']);
      const limited = (await service.as(CONTOSO_ADMIN).get(`${path}?limit=1`)).json as Page;
      expect(limited.metadata).toEqual({ count: 1 });
      expect(await namesOf(service.as(ACME_ADMIN), path)).toEqual([]);
    },
  );

  it('GET /registry lists what the caller may enter', async () => {
    expect(openRegistriesIn(await service.as(CONTOSO_ADMIN).get('/registry'))).toEqual(['declared']);
    expect(openRegistriesIn(await service.as(SUPER_ADMIN).get('/registry'))).toEqual(['declared', ...n]);
  });

  it('the limit of a page also applies to the following pages', async () => {
    const first = (await service.as(SUPER_ADMIN).get('/v1/sources?limit=2')).json as Page;
    const cursor = String(first.metadata.nextCursor);
    const second = (await service.as(SUPER_ADMIN).get(`/v1/sources?cursor=${cursor}`)).json as Page;
    expect([first.metadata.count, second.metadata.count]).toEqual([2, 2]);
    expect(second.sources?.[0]?.name).toBe(n.sort()[2]);
  });
});
