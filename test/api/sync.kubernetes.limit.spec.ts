import { expect, it } from 'vitest';
import { exported, listed, syncOf, watching } from '../support/cluster-objects.js';
import { aCluster } from '../support/kubernetes-api.js';
import { aService } from '../support/service.js';
import { within } from '../support/within.js';

/** `limits.claimSetsPerSource`. */
const LIMIT = 50;
const A_WHILE = 15_000;
const claimsOf = (team: string) => ({ 'authz-claims': JSON.stringify({ team }) });

const cluster = aCluster().runs();
const service = watching(cluster, aService({ mode: 'full' }))
  .source('cluster', { kind: 'kubernetes' })
  .registry('main', { sources: ['cluster'] })
  .configuration({ limits: { claimSetsPerSource: LIMIT } })
  .runs();
const shownTo = (team: string) => listed(service.as({ team }));
const admin = () => service.as({ role: 'super-admin' });

it('a cluster over limits.claimSetsPerSource serves the first claim sets until one of them is freed', async () => {
  const { port } = cluster;
  await cluster.stop();
  for (let index = 0; index < LIMIT; index += 1)
    cluster.put('MCPServer', `tools/s${index}`, exported(`s${index}`, claimsOf(`t${index}`)));
  cluster.put('MCPServer', 'tools/shares', exported('shares', claimsOf('t1')));
  cluster.put('MCPServer', 'tools/too-many', exported('too-many', claimsOf('late')));
  cluster.compact();
  await cluster.start(port);
  await within(A_WHILE, async () =>
    expect(await syncOf(admin())).toMatchObject({
      status: 'complete',
      counts: { entries: LIMIT + 1, skipped: 1 },
      skipped: [
        {
          name: 'com.toolhive.k8s.tools/too-many',
          reasons: [expect.stringContaining(`${LIMIT} different claim sets`)],
        },
      ],
    }),
  );
  expect(await shownTo('t1')).toEqual(['tools/s1@1.0.0', 'tools/shares@1.0.0']);
  expect(await shownTo('late')).toEqual([]);
  cluster.delete('MCPServer', 'tools/s0');
  await within(A_WHILE, async () => expect(await shownTo('late')).toEqual(['tools/too-many@1.0.0']));
  expect(await syncOf(admin())).toMatchObject({ counts: { entries: LIMIT + 1, skipped: 0 }, skipped: [] });
  // An earlier object displaces the last one.
  cluster.put('MCPServer', 'tools/shares', exported('shares', claimsOf('another')));
  await within(A_WHILE, async () => expect(await shownTo('late')).toEqual([]));
  expect(await shownTo('another')).toEqual(['tools/shares@1.0.0']);
});
