import { beforeAll, describe, expect, it } from 'vitest';
import { ACME_WRITER, CONTOSO_ADMIN, SUPER_ADMIN } from '../support/callers.js';
import { aServer, aSkill, type Document } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { expectRefused } from '../support/matchers.js';
import { aService } from '../support/service.js';

interface Change {
  readonly sentence: string;
  readonly claims?: Record<string, unknown>;
  readonly gains: number;
  readonly loses: number;
  readonly moves: number;
}

const folder = aFolder();
const service = aService({
  mode: 'full',
  roles: { manageRegistries: [{ role: 'admin' }, { role: 'librarian' }] },
})
  .source('first', { servers: [aServer('io.acme/both')], claims: { org: 'acme', team: 'data' } })
  .source('hidden', { servers: [aServer('com.contoso/x')], claims: { org: 'contoso' } })
  .registry('fixed', { sources: ['hidden'], claims: { org: 'contoso' } })
  .configuration({ adminFileRoot: folder.path })
  .runs();

/** Manages Acme's sources and registries, and holds the claims of its teams. */
const ADMIN = { sub: 'ada', org: 'acme', team: ['platform', 'data'], role: 'admin' };
/** Manages registries, but no sources. */
const LIBRARIAN = { ...ADMIN, sub: 'lee', role: 'librarian' };
const SOURCES = ['first', 'catalog', 'published'];

const changesOf = async (path: string, body: object, as: object = ADMIN) => {
  const reply = await service.as({ ...as }).post(`${path}/access`, body);
  expect(reply.status, reply.text).toBe(200);
  return reply.json as { changes: Change[]; isCut?: boolean; notCounted?: string[] };
};
const registry = (more: object, as?: object) =>
  changesOf('/v1/registries/main', { sources: SOURCES, claims: { org: 'acme' }, ...more }, as);
/** The settings of a source, as accepted by PUT. */
const settingsOf = async (name: string): Promise<Document> =>
  (await service.as(SUPER_ADMIN).get(`/v1/sources/${name}`)).json as Document;
const source = async (name: string, claims: object, as?: object) =>
  changesOf(`/v1/sources/${name}`, { ...(await settingsOf(name)), claims }, as);

beforeAll(async () => {
  const put = async (path: string, body: object) =>
    expect((await service.as(SUPER_ADMIN).put(`/v1/${path}`, body)).status).toBe(201);
  const file = (path: string) => ({ file: { path }, syncPolicy: { interval: '1h' } });
  const catalog = folder.catalogue(
    'catalog',
    [aServer('io.acme/both'), aServer('io.acme/open')],
    [aSkill('io.acme/code-review')],
  );
  await put('sources/catalog', { ...file(catalog), claims: { org: 'acme' } });
  await put('sources/bare', file(folder.catalogue('bare', [aServer('io.acme/bare')])));
  await put('sources/published', { managed: {}, claims: { org: 'acme' } });
  for (const name of ['first', 'catalog', 'bare', 'hidden']) await service.synced(name);
  await put('registries/main', { sources: SOURCES, claims: { org: 'acme' } });
  await put('registries/theirs', { sources: ['catalog'], claims: { org: 'contoso' } });
  const server = { server: aServer('io.acme/teams'), claims: { org: 'acme', team: 'platform' } };
  expect((await service.as(ACME_WRITER).post('/v1/entries', server)).status).toBe(201);
});

describe('POST /v1/registries/{name}/access', () => {
  it('counts what callers lose if the registry requires more', async () => {
    expect(await registry({ claims: { org: 'acme', team: 'data' } })).toEqual({
      changes: [
        {
          sentence: 'org is acme and team is platform',
          claims: { org: 'acme', team: 'platform' },
          gains: 0,
          loses: 4,
          moves: 0,
        },
        { sentence: 'org is acme', claims: { org: 'acme' }, gains: 0, loses: 3, moves: 0 },
      ],
    });
  });

  it('counts the names that come from another source after reordering', async () => {
    const { changes } = await registry({ sources: [...SOURCES].reverse() });
    expect(changes).toContainEqual({
      sentence: 'org is acme and team is data',
      claims: { org: 'acme', team: 'data' },
      gains: 0,
      loses: 0,
      moves: 1,
    });
    expect(changes.map(({ sentence }) => sentence)).not.toContain('org is acme');
  });

  it('reports who sees a source without claims', async () => {
    const { changes } = await registry({ sources: [...SOURCES, 'bare'] });
    expect(changes).toEqual([{ sentence: 'super-admins only', gains: 1, loses: 0, moves: 0 }]);
  });

  it('counts everything that a new registry shows', async () => {
    const body = { sources: ['catalog'], claims: { org: 'acme' } };
    expect(await changesOf('/v1/registries/new', body)).toEqual({
      changes: [{ sentence: 'org is acme', claims: { org: 'acme' }, gains: 3, loses: 0, moves: 0 }],
    });
  });

  it('finds nothing if nothing changes', async () => expect(await registry({})).toEqual({ changes: [] }));

  it('agrees with the effect of saving', async () => {
    const path = '/v1/registries/main';
    const put = async (body: object) =>
      expect((await service.as(SUPER_ADMIN).put(path, body)).status).toBe(200);
    const countFor = async (claims: unknown) => {
      const body = { registry: 'main', as: { claims } };
      const reply = await service.as(SUPER_ADMIN).post('/v1/access/preview', body);
      const { counts } = reply.json as { counts: Record<string, number> };
      return Object.values(counts).reduce((sum, count) => sum + count, 0);
    };
    const before = { sources: SOURCES, claims: { org: 'acme' } };
    for (const after of [
      { sources: ['catalog', 'hidden'], claims: {} },
      { sources: ['published', 'first'], claims: { team: 'data' } },
    ]) {
      const { changes } = await changesOf(path, after, SUPER_ADMIN);
      expect(changes.length).toBeGreaterThan(1);
      const had = await Promise.all(changes.map(({ claims }) => countFor(claims)));
      await put(after);
      const has = await Promise.all(changes.map(({ claims }) => countFor(claims)));
      expect(has.map((count, index) => count - (had[index] ?? 0))).toEqual(
        changes.map(({ gains, loses }) => gains - loses),
      );
      await put(before);
    }
  });

  it('does not count entries of a new source for a caller who does not manage it', async () => {
    const sources = [...SOURCES, 'bare'];
    expect(await registry({ sources }, LIBRARIAN)).toEqual({ changes: [], notCounted: ['bare'] });
    // The managers of a registry may know its entries.
    const { changes } = await registry({ sources, claims: { org: 'acme', team: 'data' } }, LIBRARIAN);
    expect(changes.map(({ loses }) => loses)).toEqual([4, 3]);
  });

  it('refuses what PUT refuses', async () => {
    const body = { sources: SOURCES, claims: { org: 'acme' } };
    const post = (as: object, path: string, more: object = {}) =>
      service.as({ ...as }).post(`/v1/registries/${path}/access`, { ...body, ...more });
    expectRefused(await post(ACME_WRITER, 'main'), 403, 'role_required');
    expectRefused(await post(CONTOSO_ADMIN, 'main'), 404, 'registry_not_found');
    expectRefused(await post(CONTOSO_ADMIN, 'fixed', { sources: ['hidden'] }), 403, 'config_managed');
    expectRefused(await post(ADMIN, 'main', { sources: ['hidden'] }), 400, 'unknown_source');
    expectRefused(await post(ADMIN, 'main', { claims: { org: 'contoso' } }), 400, 'claims_not_subset');
    expectRefused(await post(ADMIN, 'main', { sources: [] }), 400, 'invalid_body');
    expect((await post(ADMIN, 'main')).status).toBe(200);
  });
});

describe('POST /v1/sources/{name}/access', () => {
  it('counts what callers gain and lose', async () => {
    expect(await source('catalog', { team: 'data' })).toEqual({
      changes: [
        { sentence: 'org is acme', claims: { org: 'acme' }, gains: 0, loses: 3, moves: 0 },
        { sentence: 'team is data', claims: { team: 'data' }, gains: 3, loses: 0, moves: 0 },
      ],
    });
    expect(await source('catalog', { org: 'acme' })).toEqual({ changes: [] });
  });

  it('says that nobody else sees a source without claims', async () => {
    const { changes } = await source('bare', { org: 'acme' });
    expect(changes).toEqual([
      { sentence: 'org is acme', claims: { org: 'acme' }, gains: 1, loses: 0, moves: 0 },
    ]);
    const removed = await source('catalog', {});
    expect(removed.changes).toMatchObject([{ sentence: 'org is acme', loses: 3 }]);
  });

  it('finds nothing in a new source, nor in a managed one, whose entries have their own claims', async () => {
    expect(await source('published', { org: 'acme', team: 'data' })).toEqual({ changes: [] });
    const api = { endpoint: 'https://registry.invalid' };
    const body = { api, syncPolicy: { interval: '1h' }, claims: { org: 'acme' } };
    expect(await changesOf('/v1/sources/new', body)).toEqual({ changes: [] });
  });

  it('refuses what PUT refuses', async () => {
    const body = await settingsOf('catalog');
    const post = (as: object, path: string, more: object = {}) =>
      service.as({ ...as }).post(`/v1/sources/${path}/access`, { ...body, ...more });
    expectRefused(await post(ACME_WRITER, 'catalog'), 403, 'role_required');
    expectRefused(await post(LIBRARIAN, 'catalog'), 403, 'role_required');
    expectRefused(await post(CONTOSO_ADMIN, 'catalog'), 404, 'source_not_found');
    expectRefused(await post(ADMIN, 'first'), 403, 'config_managed');
    expectRefused(await post(ADMIN, 'catalog', { claims: { org: 'contoso' } }), 400, 'claims_not_subset');
    expectRefused(await post(ADMIN, 'published'), 400, 'kind_immutable');
    expect((await post(ADMIN, 'catalog')).status).toBe(200);
  });
});

describe('GET /v1/sources/{name}/access', () => {
  const read = (name: string, as: object = ADMIN) => service.as({ ...as }).get(`/v1/sources/${name}/access`);

  it('counts the names in the source, and lists who sees them and the registries that the caller may enter', async () => {
    expect((await read('catalog')).json).toMatchObject({
      counts: { server: 2, skill: 1, plugin: 0 },
      claimSets: [{ claims: { org: 'acme' }, sentence: 'org is acme', count: 3 }],
      registries: ['main'],
      managedBy: [{ role: 'manageSources', sentence: 'role is admin and org is acme' }, expect.anything()],
    });
    expect((await read('catalog', SUPER_ADMIN)).json).toMatchObject({ registries: ['main', 'theirs'] });
    expect((await read('published')).json).toMatchObject({
      counts: { server: 1, skill: 0, plugin: 0 },
      claimSets: [{ sentence: 'org is acme and team is platform', count: 1 }],
    });
    expect((await read('bare')).json).toMatchObject({
      claimSets: [{ sentence: 'super-admins only', count: 1 }],
      registries: [],
    });
  });

  it('is restricted to managers of the source', async () => {
    expectRefused(await read('catalog', ACME_WRITER), 403, 'role_required');
    expectRefused(await read('catalog', CONTOSO_ADMIN), 404, 'source_not_found');
    expectRefused(await read('none'), 404, 'source_not_found');
  });
});
