import { describe, expect, it } from 'vitest';
import { Clock } from '../support/clock.js';
import { exported, listed, syncOf, watching } from '../support/cluster-objects.js';
import { aCluster } from '../support/kubernetes-api.js';
import { aService } from '../support/service.js';
import { within } from '../support/within.js';

const A_WHILE = 20_000;
const HOUR = 3_600_000;

const clock = new Clock().runs({ monotonic: false });
const cluster = aCluster().runs();
const service = watching(cluster, aService())
  .source('cluster', { kind: 'kubernetes' })
  .source('often', { kind: 'kubernetes', settings: { relistInterval: '5m' } })
  .registry('main', { sources: ['cluster'] })
  .registry('often', { sources: ['often'] })
  .runs();
const sees = (names: string[], registry = 'main') =>
  within(A_WHILE, async () => expect(await listed(service, registry)).toEqual(names));
const isWatched = () => within(A_WHILE, () => expect(cluster.watching).toBe(6));
const isCurrent = () =>
  within(A_WHILE, async () =>
    expect(await syncOf(service)).toMatchObject({ status: 'complete', attempts: 0 }),
  );

describe('a cluster whose etcd is restored from a backup', () => {
  it('is listed again once its API server is back, and watched from there', async () => {
    cluster.put('MCPServer', 'tools/stays', exported('stays'));
    cluster.put('MCPServer', 'tools/back', exported('back'));
    await sees(['tools/back@1.0.0', 'tools/stays@1.0.0']);
    const backup = cluster.backUp();
    cluster.delete('MCPServer', 'tools/back');
    cluster.put('MCPServer', 'tools/lost', exported('lost'));
    cluster.pass(1_000);
    cluster.put('MCPServer', 'tools/lost', exported('lost', { 'registry-version': '2.0.0' }));
    await sees(['tools/lost@2.0.0', 'tools/stays@1.0.0']);
    const { port } = cluster;
    await cluster.stop();
    cluster.restore(backup);
    await cluster.start(port);
    await sees(['tools/back@1.0.0', 'tools/stays@1.0.0']);
    await isWatched();
    // Its resourceVersion is far behind the last one watched.
    cluster.put('VirtualMCPServer', 'tools/new', exported('new'));
    await sees(['tools/back@1.0.0', 'tools/new@1.0.0', 'tools/stays@1.0.0']);
    cluster.delete('VirtualMCPServer', 'tools/new');
    cluster.delete('MCPServer', 'tools/back');
    await sees(['tools/stays@1.0.0']);
    await isCurrent();
  });

  it('is not listed again after a mere connection loss', async () => {
    await isWatched();
    const before = cluster.pagesAsked;
    const { port } = cluster;
    await cluster.stop();
    cluster.put('MCPServer', 'tools/meanwhile', exported('meanwhile'));
    await cluster.start(port);
    await sees(['tools/meanwhile@1.0.0', 'tools/stays@1.0.0']);
    await isWatched();
    expect(cluster.pagesAsked).toBe(before);
    cluster.delete('MCPServer', 'tools/meanwhile');
    await sees(['tools/stays@1.0.0']);
  });
});

describe('a change that no watch event reported', () => {
  it("appears at the next full list: after an hour, or at the source's interval", async () => {
    await isWatched();
    cluster.unnoticed(() => cluster.put('MCPServer', 'tools/unnoticed', exported('unnoticed')));
    const before = cluster.pagesAsked;
    cluster.endWatches();
    await isWatched();
    expect(await listed(service)).toEqual(['tools/stays@1.0.0']);
    expect(cluster.pagesAsked).toBe(before);
    clock.passes(0.1 * HOUR);
    cluster.endWatches();
    await sees(['tools/stays@1.0.0', 'tools/unnoticed@1.0.0'], 'often');
    expect(await listed(service)).toEqual(['tools/stays@1.0.0']);
    clock.passes(HOUR);
    cluster.endWatches();
    await sees(['tools/stays@1.0.0', 'tools/unnoticed@1.0.0']);
    await isCurrent();
  });
});

describe('an API server that was down', () => {
  const refused = () => cluster.requests.filter(({ status }) => status === 429).length;

  it('is reported with its address, although all kinds fail simultaneously', async () => {
    const { port } = cluster;
    await isWatched();
    await cluster.stop();
    const errors = new Set<string | undefined>();
    await within(A_WHILE, async () => {
      const { error, attempts } = await syncOf(service);
      if (error !== undefined) errors.add(error.replace(/; Not current: .*/, ''));
      expect(attempts).toBeGreaterThan(3);
    });
    await cluster.start(port);
    await isCurrent();
    expect([...errors]).toEqual([
      `The API server at https://127.0.0.1:${port} is unreachable: connection refused`,
    ]);
  });

  it('is watched again, although it first sends Retry-After', async () => {
    const { port } = cluster;
    await cluster.stop();
    await within(A_WHILE, async () => expect((await syncOf(service)).attempts).toBeGreaterThan(2));
    const before = refused();
    cluster.initializingUntil = Infinity;
    await cluster.start(port);
    cluster.put('MCPServer', 'tools/after', exported('after'));
    // Each of the six has retried.
    await within(A_WHILE, () => expect(refused()).toBeGreaterThan(before + 12));
    cluster.initializingUntil = 0;
    await sees(['tools/after@1.0.0', 'tools/stays@1.0.0', 'tools/unnoticed@1.0.0']);
    cluster.delete('MCPServer', 'tools/after');
    await isCurrent();
  });

  it('counts as failed once its Retry-After has held up syncing for half a minute, and not before', async () => {
    await isWatched();
    const before = refused();
    cluster.initializingUntil = Infinity;
    cluster.breakWatches();
    // Each of the six has retried more than once.
    await within(A_WHILE, () => expect(refused()).toBeGreaterThan(before + 12));
    await isCurrent();
    clock.passes(30_000);
    await within(A_WHILE, async () =>
      expect((await syncOf(service)).error).toMatch(/status 429 .*storage is \(re\)initializing/),
    );
    cluster.initializingUntil = 0;
    await isCurrent();
  });
});
