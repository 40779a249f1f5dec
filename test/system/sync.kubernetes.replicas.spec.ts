import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.js';
import { aWatchedCluster, exported, listed, syncOf } from '../support/cluster-objects.js';
import { within } from '../support/within.js';

const A_WHILE = 20_000;
const LEASE_MS = 10_000;

describe('two replicas of a service', () => {
  const { cluster, service } = aWatchedCluster();
  /** Times by the clock of PostgreSQL, in milliseconds. */
  const lease = async () => {
    const [row] = await service.database.query<{
      owner: string;
      takenAt: number;
      endsAt: number;
      leftMs: number;
    }>(
      `select lease_owner as owner, extract(epoch from last_attempt_at)::float8 * 1000 as "takenAt",
         extract(epoch from lease_until)::float8 * 1000 as "endsAt",
         extract(epoch from lease_until - now())::float8 * 1000 as "leftMs"
       from source_sync`,
    );
    if (!row) throw new Error('The source is gone');
    return row;
  };
  const owner = async () => (await lease()).owner;
  const watches = () => cluster.requests.filter(({ verb }) => verb === 'watch').length;

  it('watch a source once, and the other continues when one stops', async () => {
    const replica = service.replica();
    await replica.start();
    try {
      await within(A_WHILE, () => expect(cluster.watching).toBe(3));
      const first = await owner();
      const before = watches();
      cluster.put('MCPServer', 'tools/one', exported('one'));
      for (const each of [service, replica])
        await within(A_WHILE, async () => expect(await listed(each)).toEqual(['tools/one@1.0.0']));
      // Covers several polls for work and a lease renewal.
      const { endsAt } = await lease();
      await within(A_WHILE, async () => expect((await lease()).endsAt).toBeGreaterThan(endsAt));
      expect({ watching: cluster.watching, begun: watches(), owner: await owner() }).toEqual({
        watching: 3,
        begun: before,
        owner: first,
      });
      await service.stop();
      expect(await owner(), 'a stopped replica releases its lease').not.toBe(first);
      cluster.delete('MCPServer', 'tools/one');
      cluster.put('MCPServer', 'tools/two', exported('two'));
      await within(A_WHILE, async () => expect(await listed(replica)).toEqual(['tools/two@1.0.0']));
      await within(A_WHILE, async () =>
        expect(await syncOf(replica)).toMatchObject({ status: 'complete', attempts: 0 }),
      );
    } finally {
      await replica.stop();
      await service.start();
    }
  });

  it("resume a killed replica's watch when its lease of 10 s is over", async () => {
    await service.stop();
    const configuration = join(dirname(service.write('unused', '')), 'registry.yaml');
    const other = Cli.serve(configuration, { KUBECONFIG: cluster.kubeconfig });
    try {
      await other.logs('"Ready"');
      await within(A_WHILE, () => expect(cluster.watching).toBe(3));
      await service.start();
      other.child.kill('SIGKILL');
      await other.finished;
      const before = await lease();
      expect(before.leftMs).toBeLessThanOrEqual(LEASE_MS);
      cluster.put('MCPServer', 'tools/three', exported('three'));
      await service.database.query(`update source_sync set lease_until = now() + interval '1 second'`);
      await within(2 * A_WHILE, async () =>
        expect(await listed(service)).toEqual(['tools/three@1.0.0', 'tools/two@1.0.0']),
      );
      const after = await lease();
      expect(after.owner).not.toBe(before.owner);
    } finally {
      other.child.kill('SIGKILL');
    }
  });
});
