import { describe, expect, it } from 'vitest';
import { aWatchedCluster, exported, listed, syncOf } from '../support/cluster-objects.js';
import { makeCertificates } from '../support/certificates.js';
import { within } from '../support/within.js';

/** Covers the back-off between attempts, even on a busy machine. */
const A_WHILE = 20_000;

describe('a watch that ends', () => {
  const { cluster, service } = aWatchedCluster();
  const sees = (names: string[]) => within(A_WHILE, async () => expect(await listed(service)).toEqual(names));
  const isWatched = () => within(A_WHILE, () => expect(cluster.watching).toBe(3));

  it('resumes where it stopped, without losing, repeating or relisting anything', async () => {
    cluster.put('MCPServer', 'tools/stays', exported('stays'));
    cluster.put('MCPServer', 'tools/goes', exported('goes'));
    await sees(['tools/goes@1.0.0', 'tools/stays@1.0.0']);
    await isWatched();
    const before = cluster.pagesAsked;
    for (const midLine of [true, false]) {
      await isWatched();
      cluster.breakWatches({ midLine });
      cluster.delete('MCPServer', 'tools/goes');
      cluster.put('MCPServer', 'tools/stays', exported('stays', { 'registry-version': '2.0.0' }));
      cluster.put('VirtualMCPServer', 'tools/comes', exported('comes'));
      await sees(['tools/comes@1.0.0', 'tools/stays@2.0.0']);
      cluster.put('MCPServer', 'tools/goes', exported('goes'));
      cluster.put('MCPServer', 'tools/stays', exported('stays'));
      cluster.delete('VirtualMCPServer', 'tools/comes');
      await sees(['tools/goes@1.0.0', 'tools/stays@1.0.0']);
    }
    expect(cluster.pagesAsked).toBe(before);
    await within(A_WHILE, async () => expect((await syncOf(service)).status).toBe('complete'));
  });

  it('resumes from the last bookmark, even when older history is gone', async () => {
    await isWatched();
    cluster.pass(500);
    cluster.bookmark();
    cluster.put('MCPServer', 'tools/after', exported('after'));
    await sees(['tools/after@1.0.0', 'tools/goes@1.0.0', 'tools/stays@1.0.0']);
    cluster.bookmark();
    cluster.compact();
    const before = cluster.pagesAsked;
    // The service reads the bookmark before requests that are sent later.
    for (let request = 0; request < 3; request += 1) await listed(service);
    cluster.breakWatches();
    cluster.delete('MCPServer', 'tools/after');
    await sees(['tools/goes@1.0.0', 'tools/stays@1.0.0']);
    expect(cluster.pagesAsked).toBe(before);
  });

  it.each(['event', 'status'] as const)(
    'lists again when its resourceVersion has expired, reported as %s',
    async (how) => {
      await isWatched();
      cluster.goneAs = how;
      const before = cluster.pagesAsked;
      cluster.breakWatches();
      cluster.delete('MCPServer', 'tools/goes');
      cluster.put('MCPServer', 'data/new', exported('new'));
      cluster.compact();
      await sees(['data/new@1.0.0', 'tools/stays@1.0.0']);
      await isWatched();
      expect(cluster.pagesAsked).toBe(before + 3);
      // The state is stored after the entries.
      await within(A_WHILE, async () =>
        expect(await syncOf(service)).toMatchObject({ status: 'complete', attempts: 0 }),
      );
      cluster.put('MCPServer', 'tools/goes', exported('goes'));
      cluster.delete('MCPServer', 'data/new');
      await sees(['tools/goes@1.0.0', 'tools/stays@1.0.0']);
    },
  );

  it('keeps its entries while the cluster is down, reports it, and catches up', async () => {
    const { port } = cluster;
    await cluster.stop();
    await within(A_WHILE, async () => {
      const sync = await syncOf(service);
      expect(sync).toMatchObject({
        status: 'failed',
        error: `The API server at https://127.0.0.1:${port} is unreachable: connection refused`,
      });
      expect(sync.attempts).toBeGreaterThan(1);
    });
    expect(await listed(service)).toEqual(['tools/goes@1.0.0', 'tools/stays@1.0.0']);
    cluster.delete('MCPServer', 'tools/goes');
    await cluster.start(port);
    await sees(['tools/stays@1.0.0']);
    await within(A_WHILE, async () =>
      expect(await syncOf(service)).toMatchObject({ status: 'complete', attempts: 0 }),
    );
    expect(await syncOf(service)).not.toHaveProperty('error');
  });

  it('fails when the token is refused, and uses a rotated one', async () => {
    cluster.rotateToken();
    cluster.breakWatches();
    await within(A_WHILE, async () =>
      expect(await syncOf(service)).toMatchObject({
        status: 'failed',
        error:
          'The API server refused the credentials (401): the token is wrong or has expired; the server said: Unauthorized',
      }),
    );
    expect(await listed(service)).toEqual(['tools/stays@1.0.0']);
    cluster.writeKubeconfig();
    await within(A_WHILE, async () => expect(await syncOf(service)).toMatchObject({ status: 'complete' }));
  });

  it("continues with the permitted kinds when one becomes forbidden, and keeps that kind's entries", async () => {
    cluster.put('MCPRemoteProxy', 'tools/proxy', exported('proxy'));
    await sees(['tools/proxy@1.0.0', 'tools/stays@1.0.0']);
    cluster.forbidden.add('watch mcpremoteproxies');
    cluster.breakWatches();
    await within(A_WHILE, async () => {
      const { status, error } = await syncOf(service);
      expect(status).toBe('failed');
      expect(error).toMatch(
        /^The API server refused to watch mcpremoteproxies in all namespaces \(403\): the account needs a rule with the verbs list and watch on mcpremoteproxies of the API group toolhive\.stacklok\.dev; the server said: mcpremoteproxies\.toolhive\.stacklok\.dev is forbidden: User "system:serviceaccount:tools:registry" cannot watch/,
      );
    });
    cluster.delete('MCPServer', 'tools/stays');
    await sees(['tools/proxy@1.0.0']);
    cluster.forbidden.clear();
    await within(A_WHILE, async () => expect((await syncOf(service)).status).toBe('complete'));
  });
});

describe('a cluster that cannot be listed', () => {
  const { cluster, service } = aWatchedCluster();
  const becomes = (status: string, error?: RegExp) =>
    within(A_WHILE, async () => {
      const sync = await syncOf(service);
      expect(sync.status).toBe(status);
      if (error) expect(sync.error).toMatch(error);
    });

  it('fails with a message for each cause and keeps the earlier entries', async () => {
    cluster.put('MCPServer', 'tools/stays', exported('stays'));
    cluster.put('VirtualMCPServer', 'tools/virtual', exported('virtual'));
    const names = ['tools/stays@1.0.0', 'tools/virtual@1.0.0'];
    await within(A_WHILE, async () => expect(await listed(service)).toEqual(names));
    await service.stop();
    cluster.writeKubeconfig({ ca: makeCertificates().ca });
    await service.start();
    await becomes(
      'failed',
      /^The certificate of the API server at https:\/\/127\.0\.0\.1:\d+ is not trusted \(\w+\)/,
    );
    expect(await listed(service)).toEqual(names);
    cluster.writeKubeconfig({ token: 'wrong' });
    await becomes('failed', /\(401\): the token is wrong or has expired/);
    cluster.forbidden.add('list virtualmcpservers');
    cluster.writeKubeconfig();
    await becomes('failed', /^The API server refused to list virtualmcpservers in all namespaces \(403\)/);
    expect(await listed(service)).toEqual(names);
    cluster.forbidden.clear();
    cluster.delete('VirtualMCPServer', 'tools/virtual');
    await becomes('complete');
    await within(A_WHILE, async () => expect(await listed(service)).toEqual(['tools/stays@1.0.0']));
  });

  it.each([
    [
      'is missing',
      '/nowhere/kubeconfig',
      /^Cannot read the kubeconfig \/nowhere\/kubeconfig: there is no such file$/,
    ],
    ['is invalid', 'broken', /^Cannot read the kubeconfig \S+: it is not a kubeconfig$/],
    ['has no cluster', 'empty', /^The kubeconfig has no current context with a cluster$/],
  ])('fails when the kubeconfig %s', async (_what, file, error) => {
    await service.stop();
    const texts: Record<string, string> = {
      broken: 'token: "hunter2',
      empty: 'clusters: []\nusers: []\ncontexts: []\n',
    };
    const text = texts[file];
    service.environment['REGISTRY_KUBECONFIG'] = text === undefined ? file : service.write(file, text);
    await service.start();
    await becomes('failed', error);
    expect(await listed(service)).toEqual(['tools/stays@1.0.0']);
  });

  it('fails without a kubeconfig', async () => {
    await service.stop();
    delete service.environment['REGISTRY_KUBECONFIG'];
    const { HOME } = process.env;
    process.env['HOME'] = '/nowhere';
    await service.start();
    await becomes(
      'failed',
      /^No cluster is configured: the server does not run in a pod with a service account, and neither/,
    );
    process.env['HOME'] = HOME;
  });
});

describe('a cluster without some of the kinds', () => {
  const { cluster, service } = aWatchedCluster();
  cluster.served['mcpservers'] = ['v1alpha1'];
  cluster.served['virtualmcpservers'] = [];

  it('is watched in the API version it serves, and in others when they appear', async () => {
    cluster.put('MCPServer', 'tools/old', exported('old'));
    await within(A_WHILE, async () => expect(await listed(service)).toEqual(['tools/old@1.0.0']));
    await within(A_WHILE, async () =>
      expect(await syncOf(service)).toMatchObject({ status: 'complete', attempts: 0 }),
    );
    cluster.served['virtualmcpservers'] = ['v1beta1'];
    cluster.put('VirtualMCPServer', 'tools/new', exported('new'));
    await within(A_WHILE, async () =>
      expect(await listed(service)).toEqual(['tools/new@1.0.0', 'tools/old@1.0.0']),
    );
    // The CRD is deleted with its objects and returns as another version.
    cluster.served['mcpservers'] = [];
    cluster.breakWatches();
    await within(A_WHILE, async () => expect(await listed(service)).toEqual(['tools/new@1.0.0']));
    cluster.served['mcpservers'] = ['v1beta1'];
    await within(A_WHILE, async () =>
      expect(await listed(service)).toEqual(['tools/new@1.0.0', 'tools/old@1.0.0']),
    );
    await within(A_WHILE, async () => expect((await syncOf(service)).status).toBe('complete'));
  });
});
