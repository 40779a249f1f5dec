import { beforeEach, describe, expect, it } from 'vitest';
import { openRegistriesIn, outcomeOf, registriesIn, serversIn } from '../support/answers.js';
import { ACME_DATA, CONTOSO_READER, SUPER_ADMIN } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { aKey } from '../support/registry-keys.js';
import { aService, type ServiceUnderTest } from '../support/service.js';

const acme = { org: 'acme' };

/** The changes that the last start logged. */
function planOf(service: ServiceUnderTest): unknown {
  return service.logs().findLast((line) => 'changes' in line)?.['changes'];
}

describe('changes to the configuration file between starts', () => {
  const folder = aFolder();
  const file = { path: folder.catalogue('made', [aServer('io.acme/made')]) };
  const service = aService({ mode: 'full' })
    .source('tools', { claims: acme, servers: [aServer('io.acme/tool')] })
    .source('other', { claims: acme, servers: [aServer('io.acme/other'), aServer('io.acme/tool', '2.0.0')] })
    .registry('main', { sources: ['tools', 'other'], claims: acme })
    .registry('side', { sources: ['tools'] })
    .configuration({ adminFileRoot: folder.path })
    .runs();
  const superAdmin = () => service.as(SUPER_ADMIN);
  const rowOf = async (path: string) => (await superAdmin().get(path)).json as Record<string, unknown>;

  /** Restores the file described above. */
  beforeEach(async () => {
    await service.database.query(`delete from registry where origin = 'api'`);
    await service.database.query(`delete from source where origin = 'api'`);
    await service.reload((described) =>
      described
        .withoutRegistry('main')
        .withoutRegistry('side')
        .source('tools', { claims: acme, servers: [aServer('io.acme/tool')] })
        .source('other', {
          claims: acme,
          servers: [aServer('io.acme/other'), aServer('io.acme/tool', '2.0.0')],
        })
        .registry('main', { sources: ['tools', 'other'], claims: acme })
        .registry('side', { sources: ['tools'] }),
    );
  });

  it('the first start creates everything', () => {
    const first = service.logs().find((line) => 'changes' in line);
    expect(first?.['changes']).toEqual([
      'source tools: created',
      'source other: created',
      'registry main: created',
      'registry side: created',
      'auth.authz: created',
      'auth.oauth: created',
    ]);
  });

  it('an unchanged file changes nothing', async () => {
    const claims = { org: 'acme', team: ['b', 'a', 'b'] };
    const registry = {
      sources: ['tools'],
      anonymous: { claims },
      publishClaims: claims,
      marketplace: { name: 'acme', owner: 'Acme' },
    };
    const keys = [{ name: 'ide', secretFile: folder.write('key', aKey()), claims, expires: '2999-12-31' }];
    const source = { claims, filter: { names: { include: ['io.*'] } }, admission: { minAge: '1d' } };
    await service.restart((described) =>
      described
        .source('tools', { ...source, servers: [aServer('io.acme/tool')] })
        .registry('side', { ...registry, keys }),
    );
    expect(planOf(service)).toEqual(['source tools: changed', 'registry side: changed']);
    const shown = { ...registry, keys: [{ name: 'ide', claims, expires: '2999-12-31' }] };
    expect(await rowOf('/v1/registries/side')).toMatchObject(shown);
    const before = await rowOf('/v1/sources/tools');
    expect(before).toMatchObject({ ...source, claims: { org: 'acme', team: ['b', 'a'] } });
    await service.restart();
    expect(planOf(service)).toEqual([]);
    const after = await rowOf('/v1/sources/tools');
    expect([after['createdAt'], after['updatedAt']]).toEqual([before['createdAt'], before['updatedAt']]);
  });

  it('new sources and registries are created, missing ones removed', async () => {
    await service.restart((described) =>
      described
        .source('fresh', { claims: acme, servers: [aServer('io.acme/fresh')] })
        .registry('fresh', { sources: ['fresh'], claims: acme }),
    );
    expect(planOf(service)).toEqual(['source fresh: created', 'registry fresh: created']);
    expect(await rowOf('/v1/sources/fresh')).toMatchObject({ origin: 'config', claims: acme });
    expect(serversIn(await service.as(ACME_DATA).get('/registry/fresh/v0.1/servers'))).toEqual([
      'io.acme/fresh',
    ]);
    await service.restart((described) => described.withoutSource('fresh').withoutRegistry('fresh'));
    expect(planOf(service)).toEqual(['registry fresh: removed', 'source fresh: removed with its entries']);
    expect(outcomeOf(await superAdmin().get('/v1/sources/fresh'))).toBe('404 source_not_found');
    expect(outcomeOf(await service.as(ACME_DATA).get('/registry/fresh/v0.1/servers'))).toBe(
      '404 registry_not_found',
    );
  });

  it('new claims of a source apply to its entries', async () => {
    await service.restart((described) =>
      described.source('tools', { claims: { org: 'contoso' }, servers: [aServer('io.acme/tool')] }),
    );
    expect(planOf(service)).toEqual(['source tools: changed']);
    const list = '/registry/side/v0.1/servers';
    expect(serversIn(await service.as(ACME_DATA).get(list))).toEqual([]);
    expect(serversIn(await service.as(CONTOSO_READER).get(list))).toEqual(['io.acme/tool']);
  });

  it('the gate and the sources of a registry change', async () => {
    await service.restart((described) =>
      described
        .registry('main', { sources: ['other', 'tools'], claims: acme })
        .registry('side', { sources: ['tools'], claims: acme }),
    );
    expect(planOf(service)).toEqual(['registry main: changed', 'registry side: changed']);
    const latest = await service
      .as(ACME_DATA)
      .get('/registry/main/v0.1/servers/io.acme%2Ftool/versions/latest');
    expect(latest.json).toMatchObject({ server: { version: '2.0.0' } });
    expect(outcomeOf(await service.as(CONTOSO_READER).get('/registry/side/v0.1/servers'))).toBe(
      '403 registry_forbidden',
    );
  });

  it('a registry counts as changed when one of its sources leaves', async () => {
    const before = await rowOf('/v1/registries/main');
    await service.restart((described) =>
      described.withoutSource('other').registry('main', { sources: ['tools'], claims: acme }),
    );
    expect(planOf(service)).toEqual(
      expect.arrayContaining(['source other: removed with its entries', 'registry main: changed']),
    );
    const after = await rowOf('/v1/registries/main');
    expect(after['sources']).toEqual(['tools']);
    expect(String(after['updatedAt']) > String(before['updatedAt'])).toBe(true);
  });

  it('the file decides the order of the registries', async () => {
    await service.restart((described) =>
      described.withoutRegistry('main').registry('main', { sources: ['tools', 'other'], claims: acme }),
    );
    expect(openRegistriesIn(await service.as(ACME_DATA).get('/registry')).slice(0, 2)).toEqual([
      'side',
      'main',
    ]);
    expect(planOf(service)).toEqual(['registry side: moved', 'registry main: moved']);
  });

  it('API-made sources and registries stay unchanged', async () => {
    const body = { file, syncPolicy: { interval: '1h' }, claims: acme };
    expect(outcomeOf(await superAdmin().put('/v1/sources/made', body))).toBe('201');
    const view = { sources: ['made', 'tools'], claims: acme };
    expect(outcomeOf(await superAdmin().put('/v1/registries/made', view))).toBe('201');
    await service.synced('made');
    const rows = async () => {
      const { sync, ...source } = await rowOf('/v1/sources/made');
      expect(sync).toMatchObject({ status: 'complete', counts: { entries: 1 } });
      return [source, await rowOf('/v1/registries/made')];
    };
    const before = await rows();
    await service.restart((described) =>
      described.withoutSource('other').registry('main', { sources: ['tools'], claims: acme }),
    );
    expect(planOf(service)).toContain('source other: removed with its entries');
    expect(await rows()).toEqual(before);
    const list = await service.as(ACME_DATA).get('/registry/made/v0.1/servers');
    expect(serversIn(list)).toEqual(['io.acme/made', 'io.acme/tool']);
    expect(openRegistriesIn(await service.as(ACME_DATA).get('/registry'))).toEqual(['main', 'side', 'made']);
  });

  it('a source may change its kind', async () => {
    await service.restart((described) =>
      described.source('kind', { claims: acme, servers: [aServer('io.acme/kind')] }),
    );
    await service.restart((described) => described.source('kind', { kind: 'managed', claims: acme }));
    expect(await rowOf('/v1/sources/kind')).toMatchObject({ kind: 'managed' });
    expect(await rowOf('/v1/sources/kind')).not.toHaveProperty('sync');
    expect(await rowOf('/v1/sources/kind/entries')).toEqual({ entries: [], metadata: { count: 0 } });
    await service.restart((described) => described.withoutSource('kind'));
  });

  it('configured sources and registries return 403 config_managed to the API', async () => {
    for (const [path, body] of [
      ['/v1/sources/tools', { file, syncPolicy: { interval: '1h' } }],
      ['/v1/registries/main', { sources: ['tools'] }],
    ] as const) {
      expect(outcomeOf(await superAdmin().put(path, body))).toBe('403 config_managed');
      expect(outcomeOf(await superAdmin().delete(path))).toBe('403 config_managed');
      expect(outcomeOf(await superAdmin().get(path))).toBe('200');
    }
    expect(registriesIn(await superAdmin().get('/v1/registries'))).toEqual(['main', 'side']);
  });
});
