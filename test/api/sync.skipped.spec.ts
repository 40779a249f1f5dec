import { beforeAll, describe, expect, it } from 'vitest';
import { encodeCursor } from '../../dist/http/lists.js';
import { exported, syncOf, watching } from '../support/cluster-objects.js';
import { aServer } from '../support/documents.js';
import { aCluster } from '../support/kubernetes-api.js';
import { expectRefused, versionsIn } from '../support/matchers.js';
import { aService } from '../support/service.js';
import { anUpstreamRegistry } from '../support/upstream-registry.js';
import { within } from '../support/within.js';

const COUNT = 900;
const cluster = aCluster().runs();
const upstream = anUpstreamRegistry().runs();
const service = watching(cluster, aService());
const bad = (count: number) =>
  JSON.stringify({
    version: '1.0.0',
    meta: { last_updated: '2026-01-01T00:00:00Z' },
    data: { servers: [aServer('io.acme/good'), ...Array.from({ length: count }, () => 1)] },
  });
beforeAll(() => {
  upstream.put([
    aServer('io.acme/good'),
    ...Array.from({ length: COUNT }, (_, index) => aServer(`io.acme/s${index}`, '1.0.0', { description: 5 })),
  ]);
  for (let index = 0; index < COUNT; index++)
    cluster.put('MCPServer', `tools/s${index}`, { ...exported('s'), 'registry-url': 'nowhere' });
  service.source('upstream', { kind: 'api', settings: { endpoint: upstream.url } });
  service.source('cluster', { kind: 'kubernetes' });
});
service
  .source('main', { text: bad(2_000) })
  .registry('main', { sources: ['main'] })
  .runs();

describe('a catalog with very many invalid entries', () => {
  it('lists the first 500 skipped entries and counts the rest', async () => {
    const { status, counts, skipped } = await service.synced('main');
    expect({ status, skipped: counts['skipped'], listed: skipped.length }).toEqual({
      status: 'complete',
      skipped: 2_000,
      listed: 500,
    });
  });

  it('fails beyond 100,000 of them and keeps the earlier entries', async () => {
    await service.rewrite('main', { text: bad(100_001) });
    const { status, error } = await service.synced('main');
    expect({ status, error }).toEqual({
      status: 'failed',
      error: 'The file has more than 100000 invalid entries',
    });
    expect(versionsIn(await service.get('/registry/main/v0.1/servers'))).toEqual(['io.acme/good@1.0.0']);
  });

  it.each([
    ['no position', { after: null, limit: 5 }],
    ['a rank beyond the integer range', { after: { name: 'a', type: 'server', rank: 2 ** 40 }, limit: 5 }],
    ['an unknown type', { after: { name: 'a', type: 'gadget', rank: 1 }, limit: 5 }],
  ])('refuses a forged cursor with %s', async (_where, state) => {
    const cursor = encodeCursor('source-entries', state);
    const reply = await service.get(`/v1/sources/main/entries?cursor=${cursor}`);
    expectRefused(reply, 400, 'invalid_cursor');
  });
});

describe('a registry and a cluster with very many invalid entries', () => {
  it('list the first 500 skipped entries and count the rest, like any other source', async () => {
    for (const source of ['upstream', 'cluster'])
      await within(20_000, async () => {
        const { counts, skipped } = await syncOf(service, source);
        expect({ skipped: counts['skipped'], listed: skipped.length }).toEqual({
          skipped: COUNT,
          listed: 500,
        });
      });
  });
});
