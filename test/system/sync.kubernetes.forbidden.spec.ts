import { readFileSync } from 'node:fs';
import { beforeEach, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { ACME_DATA, CONTOSO_READER, SUPER_ADMIN } from '../support/callers.js';
import { exported, listed, syncOf, watching } from '../support/cluster-objects.js';
import { aCluster } from '../support/kubernetes-api.js';
import { aService } from '../support/service.js';
import { within } from '../support/within.js';

const A_WHILE = 20_000;
const PLURALS = ['mcpservers', 'virtualmcpservers', 'mcpremoteproxies'];

const cluster = aCluster().runs();
const service = watching(cluster, aService({ mode: 'full' }))
  .source('cluster', { kind: 'kubernetes', settings: { namespaces: ['tools', 'data'] } })
  .registry('main', { sources: ['cluster'] })
  .runs();
const admin = () => service.as(SUPER_ADMIN);
const sees = (who: object, names: string[]) =>
  within(A_WHILE, async () => expect(await listed(service.as({ ...who }))).toEqual(names));
const claimed = (name: string, org: string, more: Record<string, string> = {}) =>
  exported(name, { 'authz-claims': JSON.stringify({ org }), ...more });
const becomes = (status: string) =>
  within(A_WHILE, async () => expect((await syncOf(admin())).status).toBe(status));

/** Restarts the server while its account lacks these permissions. */
async function restarted(forbidden: string[], meanwhile: () => void): Promise<void> {
  await service.stop();
  for (const place of forbidden) cluster.forbidden.add(place);
  meanwhile();
  await service.start();
}

beforeEach(async () => {
  cluster.forbidden.clear();
  await becomes('complete');
});

describe('a namespace whose list permission is gone after a restart', () => {
  it('keeps its entries while the other namespaces follow the cluster', async () => {
    cluster.put('MCPServer', 'tools/stays', claimed('stays', 'acme'));
    cluster.put('MCPServer', 'tools/goes', claimed('goes', 'acme'));
    cluster.put('MCPServer', 'tools/moves', claimed('moves', 'acme'));
    cluster.put('MCPServer', 'data/old', claimed('old', 'acme'));
    await sees(ACME_DATA, ['data/old@1.0.0', 'tools/goes@1.0.0', 'tools/moves@1.0.0', 'tools/stays@1.0.0']);
    await restarted(
      PLURALS.map((plural) => `list ${plural} data`),
      () => {
        cluster.put('MCPServer', 'tools/stays', claimed('stays', 'acme', { 'registry-version': '2.0.0' }));
        cluster.delete('MCPServer', 'tools/goes');
        cluster.put('MCPServer', 'tools/moves', claimed('moves', 'contoso'));
        cluster.put('MCPServer', 'tools/comes', claimed('comes', 'acme'));
        cluster.delete('MCPServer', 'data/old');
      },
    );
    await sees(ACME_DATA, ['data/old@1.0.0', 'tools/comes@1.0.0', 'tools/stays@2.0.0']);
    await sees(CONTOSO_READER, ['tools/moves@1.0.0']);
    // The state is stored after the entries.
    await within(A_WHILE, async () => {
      const { status, error, counts } = await syncOf(admin());
      expect({ status, entries: counts['entries'] }).toEqual({ status: 'failed', entries: 4 });
      expect(error).toMatch(/^The API server refused to list mcpservers in the namespace data \(403\)/);
      expect(error).toMatch(
        /; Not current: mcpservers in the namespace data, virtualmcpservers in the namespace data, mcpremoteproxies in the namespace data$/,
      );
    });
    // Changes in the meantime.
    cluster.delete('MCPServer', 'tools/comes');
    await sees(ACME_DATA, ['data/old@1.0.0', 'tools/stays@2.0.0']);
  });

  it('is reconciled once it may be listed', async () => {
    cluster.put('MCPServer', 'data/old', claimed('old', 'acme'));
    cluster.put('MCPServer', 'data/kept', claimed('kept', 'acme'));
    await within(A_WHILE, async () =>
      expect(await listed(admin())).toEqual(expect.arrayContaining(['data/kept@1.0.0', 'data/old@1.0.0'])),
    );
    await restarted(['list mcpservers data'], () => cluster.delete('MCPServer', 'data/old'));
    await becomes('failed');
    expect(await listed(admin())).toContain('data/old@1.0.0');
    const { lastSuccessAt } = await syncOf(admin());
    cluster.forbidden.clear();
    await becomes('complete');
    await within(A_WHILE, async () => expect(await listed(admin())).not.toContain('data/old@1.0.0'));
    expect(await listed(admin())).toContain('data/kept@1.0.0');
    const sync = await syncOf(admin());
    expect(sync).not.toHaveProperty('error');
    expect(Date.parse(sync.lastSuccessAt ?? '')).toBeGreaterThan(Date.parse(lastSuccessAt ?? ''));
  });
});

describe('a kind whose list permission in a namespace is gone after a restart', () => {
  it('keeps its entries, and the other kinds there follow the cluster', async () => {
    cluster.put('MCPServer', 'tools/server', claimed('server', 'acme'));
    cluster.put('VirtualMCPServer', 'tools/virtual', claimed('virtual', 'acme'));
    await within(A_WHILE, async () =>
      expect(await listed(admin())).toEqual(
        expect.arrayContaining(['tools/server@1.0.0', 'tools/virtual@1.0.0']),
      ),
    );
    await restarted(['list virtualmcpservers tools'], () => {
      cluster.delete('MCPServer', 'tools/server');
      cluster.delete('VirtualMCPServer', 'tools/virtual');
    });
    await within(A_WHILE, async () => expect(await listed(admin())).not.toContain('tools/server@1.0.0'));
    expect(await listed(admin())).toContain('tools/virtual@1.0.0');
    await within(A_WHILE, async () =>
      expect((await syncOf(admin())).error).toMatch(
        /; Not current: virtualmcpservers in the namespace tools$/,
      ),
    );
    cluster.forbidden.clear();
    await within(A_WHILE, async () => expect(await listed(admin())).not.toContain('tools/virtual@1.0.0'));
  });

  it('keeps a name from later kinds and yields it to earlier ones', async () => {
    cluster.put('VirtualMCPServer', 'tools/taken', claimed('taken', 'acme', { 'registry-version': '2.0.0' }));
    await within(A_WHILE, async () => expect(await listed(admin())).toContain('tools/taken@2.0.0'));
    await restarted(['list virtualmcpservers tools'], () =>
      cluster.put('MCPRemoteProxy', 'tools/taken', claimed('taken', 'acme', { 'registry-version': '3.0.0' })),
    );
    await within(A_WHILE, async () =>
      expect((await syncOf(admin())).skipped).toMatchObject([
        { name: 'com.toolhive.k8s.tools/taken', version: '3.0.0' },
      ]),
    );
    expect(await listed(admin())).toContain('tools/taken@2.0.0');
    cluster.put('MCPServer', 'tools/taken', claimed('taken', 'acme', { 'registry-version': '1.0.0' }));
    await within(A_WHILE, async () => expect(await listed(admin())).toContain('tools/taken@1.0.0'));
    expect(await listed(admin())).not.toContain('tools/taken@2.0.0');
    cluster.delete('MCPServer', 'tools/taken');
    await within(A_WHILE, async () => expect(await listed(admin())).toContain('tools/taken@3.0.0'));
    cluster.forbidden.clear();
    await within(A_WHILE, async () => expect(await listed(admin())).toContain('tools/taken@2.0.0'));
  });

  it('still loses entries that a new filter excludes', async () => {
    cluster.put('MCPServer', 'data/secret', claimed('secret', 'acme'));
    cluster.put('MCPServer', 'data/public', claimed('public', 'acme'));
    await within(A_WHILE, async () =>
      expect(await listed(admin())).toEqual(
        expect.arrayContaining(['data/public@1.0.0', 'data/secret@1.0.0']),
      ),
    );
    await restarted(['list mcpservers data'], () =>
      service.source('cluster', {
        kind: 'kubernetes',
        settings: { namespaces: ['tools', 'data'] },
        filter: { names: { exclude: ['*/secret'] } },
      }),
    );
    await within(A_WHILE, async () => expect(await listed(admin())).not.toContain('data/secret@1.0.0'));
    expect(await listed(admin())).toContain('data/public@1.0.0');
    await becomes('failed');
  });
});

it('a permission withdrawn during a watch is noticed within a minute, when the watch is renewed', async () => {
  await within(A_WHILE, () => expect(cluster.watching).toBe(6));
  for (const { query } of cluster.requests.filter(({ verb }) => verb === 'watch'))
    expect(Number(query['timeoutSeconds'])).toBeLessThanOrEqual(50);
  for (const plural of PLURALS) {
    cluster.forbidden.add(`list ${plural} data`);
    cluster.forbidden.add(`watch ${plural} data`);
  }
  cluster.endWatches();
  await within(A_WHILE, async () =>
    expect((await syncOf(admin())).error).toMatch(
      /mcpservers in the namespace data \(403\).*Not current: mcpservers in the namespace data, /,
    ),
  );
  cluster.put('MCPServer', 'tools/meanwhile', claimed('meanwhile', 'acme'));
  await within(A_WHILE, async () => expect(await listed(admin())).toContain('tools/meanwhile@1.0.0'));
});

describe('the shipped Role', () => {
  interface Rule {
    readonly resources: string[];
    readonly verbs: string[];
  }
  const shipped = parseAllDocuments(readFileSync('deploy/kubernetes/rbac.yaml', 'utf8')).map(
    (one) => one.toJS() as { kind: string; rules?: Rule[] },
  );
  const allowed = shipped.flatMap(({ rules = [] }) =>
    rules.flatMap(({ resources, verbs }) =>
      resources.flatMap((plural) => verbs.map((verb) => `${verb} ${plural}`)),
    ),
  );

  it.each(allowed)('is necessary: %s', async (right) => {
    await within(A_WHILE, () => expect(cluster.watching).toBe(6));
    cluster.forbidden.add(right);
    cluster.endWatches();
    const [verb = '', plural = ''] = right.split(' ');
    await within(A_WHILE, async () =>
      expect((await syncOf(admin())).error).toContain(`The API server refused to ${verb} ${plural} in`),
    );
  });

  it('is sufficient: nothing else is requested', () => {
    const asked = new Set(cluster.requests.map(({ verb, plural }) => `${verb} ${plural}`));
    expect([...asked].sort()).toEqual(allowed.toSorted());
  });
});
