import { describe, expect, it } from 'vitest';
import { exported, listed, syncOf, watching } from '../support/cluster-objects.js';
import { aCluster } from '../support/kubernetes-api.js';
import { expectRefused } from '../support/matchers.js';
import { aService } from '../support/service.js';
import { within } from '../support/within.js';

const A_WHILE = 20_000;

describe('namespaces of API-made kubernetes sources', () => {
  const cluster = aCluster().runs();
  const service = watching(cluster, aService())
    .source('cluster', { kind: 'kubernetes', settings: { namespaces: [] } })
    .registry('main', { sources: ['cluster'] })
    .configuration({ adminKubernetesNamespaces: ['tools', 'data'] })
    .runs();
  const put = (name: string, kubernetes: object) => service.put(`/v1/sources/${name}`, { kubernetes });

  it.each([
    {},
    { namespaces: [] },
    { namespaces: ['kube-system'] },
    { namespaces: ['tools', 'kube-system'] },
  ])('are refused: %j', async (kubernetes) => {
    expectRefused(await put('refused', kubernetes), 400, 'namespace_not_allowed');
    expect((await service.get('/v1/sources/refused')).status).toBe(404);
  });

  it.each([{ namespaces: ['tools'] }, { namespaces: ['data', 'tools'] }])(
    'are allowed: %j',
    async (kubernetes) => {
      expect((await put('allowed', kubernetes)).status).toBeLessThan(300);
    },
  );

  it('mention adminKubernetesNamespaces when refused', async () => {
    const sentence = async (kubernetes: object) =>
      ((await put('named', kubernetes)).json as { error: string }).error;
    expect(await sentence({})).toMatch(/must list its namespaces/);
    expect(await sentence({ namespaces: ['tools', 'x'] })).toMatch(/adminKubernetesNamespaces.*: x$/);
  });

  it('cannot be changed to others', async () => {
    expect((await put('changed', { namespaces: ['tools'] })).status).toBe(201);
    expectRefused(await put('changed', { namespaces: [] }), 400, 'namespace_not_allowed');
    expect((await service.get('/v1/sources/changed')).json).toMatchObject({
      kubernetes: { namespaces: ['tools'] },
    });
  });

  it('are checked again when the watch starts: entries stay, and nothing is read', async () => {
    cluster.put('MCPServer', 'tools/kept', exported('kept'));
    expect((await put('again', { namespaces: ['tools'] })).status).toBe(201);
    expect((await service.put('/v1/registries/again', { sources: ['again'] })).status).toBe(201);
    const sees = (names: string[]) =>
      within(A_WHILE, async () => expect(await listed(service, 'again')).toEqual(names));
    await sees(['tools/kept@1.0.0']);
    await service.restart((edited) => edited.configuration({ adminKubernetesNamespaces: ['data'] }));
    await within(A_WHILE, async () =>
      expect(await syncOf(service, 'again')).toMatchObject({
        status: 'failed',
        error: expect.stringMatching(/: tools$/),
      }),
    );
    cluster.delete('MCPServer', 'tools/kept');
    await within(A_WHILE, async () => expect(await listed(service)).toEqual([]));
    await sees(['tools/kept@1.0.0']);
    await service.restart((edited) => edited.configuration({ adminKubernetesNamespaces: ['tools'] }));
    await within(A_WHILE, async () =>
      expect(await syncOf(service, 'again')).toMatchObject({ status: 'complete' }),
    );
    await sees([]);
  });
});

describe('without adminKubernetesNamespaces', () => {
  const service = aService()
    .source('tools', {})
    .registry('tools', { sources: ['tools'] })
    .runs();

  it('kubernetes sources come only from the configuration', async () => {
    for (const kubernetes of [{}, { namespaces: ['tools'] }])
      expectRefused(await service.put('/v1/sources/refused', { kubernetes }), 400, 'namespace_not_allowed');
    expect((await service.put('/v1/sources/managed', { managed: {} })).status).toBe(201);
  });
});
