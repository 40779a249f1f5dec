import { beforeAll, describe, expect, it } from 'vitest';
import { exported, listed, syncOf, watching } from '../support/cluster-objects.js';
import { aCluster } from '../support/kubernetes-api.js';
import { aService } from '../support/service.js';
import { inSoak } from '../support/soak.js';
import { within } from '../support/within.js';

const A_WHILE = 40_000;
const LARGE = { podTemplateSpec: 'x'.repeat(inSoak(1_200_000, 12_000)) };
const LARGE_OBJECTS = inSoak(60, 20);
const TOO_LARGE = { podTemplateSpec: 'x'.repeat(33 * 1_024 * 1_024) };

const cluster = aCluster().runs();
const service = watching(cluster, aService())
  .source('cluster', { kind: 'kubernetes', settings: { namespaces: ['tools', 'data'] } })
  .registry('main', { sources: ['cluster'] })
  .runs();
const sees = (names: string[]) => within(A_WHILE, async () => expect(await listed(service)).toEqual(names));

describe('a namespace with more unexported objects than fit on one page', () => {
  beforeAll(async () => {
    await service.stop();
    for (let index = 0; index < LARGE_OBJECTS; index++) {
      cluster.put('MCPServer', `data/large-${index}`, {}, LARGE);
      cluster.put('VirtualMCPServer', `data/large-${index}`, {}, LARGE);
    }
    cluster.put('MCPServer', 'data/served', exported('served'), { image: 'acme/served:1.2.3' });
    cluster.put('VirtualMCPServer', 'data/virtual', exported('virtual'));
    cluster.put('MCPServer', 'tools/other', exported('other'));
    cluster.compact();
    cluster.requests.length = 0;
    cluster.expiresAfterPages = 1;
    await service.start();
  });

  it('is listed in small pages, again when they expire, and its exported objects are served', async () => {
    await within(A_WHILE, () => expect(cluster.requests.some(({ status }) => status === 410)).toBe(true));
    cluster.expiresAfterPages = Infinity;
    await sees(['data/served@1.2.3', 'data/virtual@1.0.0', 'tools/other@1.0.0']);
    await within(A_WHILE, async () =>
      expect(await syncOf(service)).toMatchObject({ status: 'complete', counts: { entries: 3 } }),
    );
    const limits = cluster.requests
      .filter(({ verb, plural, namespace }) => `${verb} ${plural} ${namespace}` === 'list mcpservers data')
      .map(({ query }) => Number(query['limit']));
    expect(new Set(limits)).toEqual(new Set([10]));
    expect(limits.length).toBeGreaterThan(LARGE_OBJECTS / 10);
  });

  it('is read with specs only for kinds that need them', async () => {
    await within(A_WHILE, () => expect(cluster.watching).toBe(6));
    const accepted = new Set(
      cluster.requests.map(({ verb, plural, accept }) => `${verb} ${plural} ${accept.split(';')[1] ?? ''}`),
    );
    expect([...accepted].sort()).toEqual([
      'list mcpremoteproxies as=PartialObjectMetadataList',
      'list mcpservers ',
      'list virtualmcpservers as=PartialObjectMetadataList',
      'watch mcpremoteproxies as=PartialObjectMetadata',
      'watch mcpservers ',
      'watch virtualmcpservers as=PartialObjectMetadata',
    ]);
  });
});

describe('a list longer than the read limit', () => {
  it('is reported with its kind and namespace; everything else keeps syncing', async () => {
    const becomes = (status: string) =>
      within(A_WHILE, async () => expect((await syncOf(service)).status).toBe(status));
    await service.stop();
    cluster.put('MCPServer', 'data/too-large', {}, TOO_LARGE);
    cluster.delete('MCPServer', 'tools/other');
    cluster.compact();
    await service.start();
    await sees(['data/served@1.2.3', 'data/virtual@1.0.0']);
    await within(A_WHILE, async () =>
      expect(await syncOf(service)).toMatchObject({
        status: 'failed',
        error: expect.stringContaining('The API server sent more than 33554432 bytes'),
      }),
    );
    cluster.delete('MCPServer', 'data/too-large');
    await becomes('complete');
    expect(await listed(service)).toEqual(['data/served@1.2.3', 'data/virtual@1.0.0']);
  });
});
