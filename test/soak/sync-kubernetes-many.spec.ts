import { describe, expect, it } from 'vitest';
import { aWatchedCluster, exported, syncOf } from '../support/cluster-objects.js';
import { largestShareOfOneTurn } from '../support/event-loop.js';
import { within } from '../support/within.js';

const COUNT = 5_000;
/** Page size of the service's list requests. */
const PAGE = 10;
const A_WHILE = 60_000;
/**
 * Largest share of the CPU time of one turn of the event loop; the fake cluster and the test share the process.
 * Without pauses, it would be nearly all of it.
 */
const A_TURN = 0.3;

describe(`${COUNT} objects of a cluster`, () => {
  const { cluster, service } = aWatchedCluster();
  const definitions = JSON.stringify([{ name: 'now', description: 'x'.repeat(1_500) }]);
  const annotations = (index: number) =>
    exported(`s${index}`, {
      'tool-definitions': definitions,
      'authz-claims': JSON.stringify({ org: 'acme', team: `team-${index % 500}` }),
    });
  const stored = async () => {
    const [row] = await service.database.query<{ entries: number; versions: number; sets: number }>(
      `select (select count(*)::int from entry) as entries, (select count(*)::int from entry_version where is_latest) as versions,
         (select count(distinct claim_set_id)::int from entry) as sets`,
    );
    return row;
  };

  it('are listed in pages and written without blocking the event loop for long', async () => {
    // The service already runs and waits for its cluster, so only the list and the write are measured.
    const { port } = cluster;
    await cluster.stop();
    for (let index = 0; index < COUNT; index++)
      cluster.put('MCPServer', `tools/s${index}`, annotations(index));
    cluster.compact();
    // The continue token expires once, after 3 pages.
    cluster.expiresAfterPages = 3;
    const share = await largestShareOfOneTurn(async () => {
      await cluster.start(port);
      await within(A_WHILE, () => expect(cluster.requests.some(({ status }) => status === 410)).toBe(true));
      cluster.expiresAfterPages = Infinity;
      await within(A_WHILE, async () =>
        expect(await syncOf(service)).toMatchObject({
          status: 'complete',
          counts: { entries: COUNT, added: COUNT },
        }),
      );
    });
    expect(await stored()).toEqual({ entries: COUNT, versions: COUNT, sets: 500 });
    const further = cluster.requests.filter(({ query }) => query['continue'] !== undefined).length;
    expect(further).toBeGreaterThanOrEqual(COUNT / PAGE - 1);
    expect(share).toBeLessThan(A_TURN);
  });

  it('are compared again when the history is gone, and only changes are written', async () => {
    await within(A_WHILE, () => expect(cluster.watching).toBe(3));
    const share = await largestShareOfOneTurn(async () => {
      cluster.breakWatches();
      cluster.delete('MCPServer', 'tools/s0');
      cluster.put('MCPServer', 'tools/s1', exported('s1', { 'registry-version': '2.0.0' }));
      cluster.compact();
      await within(A_WHILE, async () =>
        expect((await syncOf(service)).counts).toMatchObject({
          entries: COUNT - 1,
          added: 1,
          changed: 0,
          removed: 2,
          unchanged: 0,
        }),
      );
    });
    expect(await stored()).toEqual({ entries: COUNT - 1, versions: COUNT - 1, sets: 501 });
    expect(share).toBeLessThan(A_TURN);
  });

  it('are followed when thousands change simultaneously', async () => {
    await within(A_WHILE, () => expect(cluster.watching).toBe(3));
    const share = await largestShareOfOneTurn(async () => {
      for (let index = 1; index < COUNT; index++) {
        cluster.put('MCPServer', `tools/s${index}`, { ...annotations(index), 'registry-title': 'New' });
        if (index % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      await within(A_WHILE, async () => {
        const [row] = await service.database.query<{ count: number }>(
          `select count(*)::int as count from entry_version where document like '%"title":"New"%'`,
        );
        expect(row?.count).toBe(COUNT - 1);
      });
    });
    expect(share).toBeLessThan(A_TURN);
  });
});
