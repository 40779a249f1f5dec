import { beforeAll, describe, expect, it } from 'vitest';
import { decide, type Item, itemsFor } from '../support/admission.js';
import { ACME_DATA, ACME_PLATFORM, CONTOSO_READER, NOBODY, SUPER_ADMIN } from '../support/callers.js';
import { aWatchedCluster, exported, listed, syncOf, watching } from '../support/cluster-objects.js';
import { aCluster } from '../support/kubernetes-api.js';
import { expectRefused } from '../support/matchers.js';
import { aWebhookSecret, Receiver } from '../support/receiver.js';
import { demandRevisions } from '../support/revisions.js';
import { aService } from '../support/service.js';
import { within } from '../support/within.js';

const A_WHILE = 20_000;

describe('a kubernetes source', () => {
  const { cluster, service } = aWatchedCluster();
  const sees = (names: string[]) => within(A_WHILE, async () => expect(await listed(service)).toEqual(names));

  it('follows created, changed, unexported and deleted objects without listing them again', async () => {
    await sees([]);
    await within(A_WHILE, () => expect(cluster.watching).toBe(3));
    const pages = cluster.pagesAsked;
    cluster.put('MCPServer', 'tools/weather', exported('weather'), { image: 'ghcr.io/acme/weather:1.2.3' });
    await sees(['tools/weather@1.2.3']);
    cluster.put('MCPServer', 'tools/weather', exported('weather', { 'registry-version': '2.0.0' }));
    await sees(['tools/weather@2.0.0']);
    cluster.put('VirtualMCPServer', 'tools/all', exported('all'));
    cluster.put('MCPRemoteProxy', 'data/proxy', exported('proxy'));
    await sees(['data/proxy@1.0.0', 'tools/all@1.0.0', 'tools/weather@2.0.0']);
    cluster.put('MCPServer', 'tools/weather', exported('weather', { 'registry-export': 'True' }));
    await sees(['data/proxy@1.0.0', 'tools/all@1.0.0']);
    cluster.delete('VirtualMCPServer', 'tools/all');
    await sees(['data/proxy@1.0.0']);
    cluster.delete('MCPRemoteProxy', 'data/proxy');
    await sees([]);
    expect(cluster.pagesAsked).toBe(pages);
  });

  it('reports the state of its watch and refuses a manual sync', async () => {
    cluster.put('MCPServer', 'tools/long', exported('long', { 'registry-description': 'x'.repeat(101) }));
    await sees(['tools/long@1.0.0']);
    // The state and the log are written after the entries.
    await within(A_WHILE, async () => expect((await syncOf(service)).status).toBe('complete'));
    const reply = await service.get('/v1/sources/cluster');
    expect(reply.json).toMatchObject({
      kind: 'kubernetes',
      kubernetes: {},
      sync: {
        status: 'complete',
        nextRunAt: null,
        attempts: 0,
        counts: { entries: 1, added: 1, skipped: 0, filtered: 0, warnings: 1 },
        skipped: [],
      },
    });
    expect(reply.json).not.toHaveProperty('sync.error');
    await expect
      .poll(() => service.logs().find(({ object }) => object === 'tools/long'))
      .toMatchObject({
        level: 'warn',
        warnings: [expect.stringContaining('registry-description has 101 characters and was shortened')],
      });
    expectRefused(await service.post('/v1/sources/cluster/sync'), 400, 'not_synced');
    cluster.delete('MCPServer', 'tools/long');
    await sees([]);
  });

  it('writes nothing for changes to fields that are not served', async () => {
    cluster.put('MCPServer', 'tools/quiet', exported('quiet'), { image: 'x:1.0.0' });
    await sees(['tools/quiet@1.0.0']);
    const revision = async () =>
      (await service.database.query<{ revision: string }>(`select revision from source`))[0]?.revision;
    const before = await revision();
    cluster.put('MCPServer', 'tools/quiet', exported('quiet'), {
      image: 'x:1.0.0',
      status: { phase: 'Failed' },
    });
    cluster.put('MCPServer', 'tools/loud', exported('loud'));
    await sees(['tools/loud@1.0.0', 'tools/quiet@1.0.0']);
    expect(Number(await revision())).toBe(Number(before) + 1);
    expect((await syncOf(service)).counts).toMatchObject({ added: 1, changed: 0, unchanged: 0, entries: 2 });
    cluster.delete('MCPServer', 'tools/quiet');
    cluster.delete('MCPServer', 'tools/loud');
    await sees([]);
  });

  it('serves one of two objects with the same entry name, and the other when it is deleted', async () => {
    cluster.put('VirtualMCPServer', 'tools/twin', exported('virtual', { 'registry-version': '2.0.0' }));
    cluster.put('MCPServer', 'tools/twin', exported('server'));
    await sees(['tools/twin@1.0.0']);
    await within(A_WHILE, async () =>
      expect((await syncOf(service)).skipped).toEqual([
        {
          type: 'server',
          name: 'com.toolhive.k8s.tools/twin',
          version: '2.0.0',
          reasons: [
            'VirtualMCPServer tools/twin: the MCPServer with the same namespace and name takes precedence',
          ],
        },
      ]),
    );
    cluster.delete('MCPServer', 'tools/twin');
    await sees(['tools/twin@2.0.0']);
    cluster.delete('VirtualMCPServer', 'tools/twin');
    await sees([]);
  });
});

describe('kubernetes sources with namespaces and filters', () => {
  const cluster = aCluster().runs();
  const service = watching(cluster, aService())
    .configuration({ adminKubernetesNamespaces: ['tools', 'other'] })
    .source('cluster', { kind: 'kubernetes', settings: { namespaces: ['tools', 'data'] } })
    .source('filtered', {
      kind: 'kubernetes',
      settings: { namespaces: [] },
      filter: { names: { exclude: ['*/beta'] }, tags: { include: ['science'] } },
    })
    .registry('main', { sources: ['cluster'] })
    .registry('filtered', { sources: ['filtered'] })
    .runs();

  it('contain the matching objects of each namespace', async () => {
    cluster.put('MCPServer', 'tools/a', exported('a', { 'registry-category': 'science' }));
    cluster.put('MCPServer', 'data/b', exported('b'));
    cluster.put('MCPServer', 'other/c', exported('c', { 'registry-category': 'science' }));
    cluster.put('MCPServer', 'other/beta', exported('beta', { 'registry-category': 'science' }));
    await within(A_WHILE, async () =>
      expect(await listed(service)).toEqual(['data/b@1.0.0', 'tools/a@1.0.0']),
    );
    await within(A_WHILE, async () =>
      expect(await listed(service, 'filtered')).toEqual(['other/c@1.0.0', 'tools/a@1.0.0']),
    );
    await within(A_WHILE, async () =>
      expect((await syncOf(service, 'filtered')).counts).toMatchObject({ entries: 2, filtered: 2 }),
    );
    // A change in one namespace does not affect the other.
    cluster.delete('MCPServer', 'data/b');
    await within(A_WHILE, async () => expect(await listed(service)).toEqual(['tools/a@1.0.0']));
    const asked = cluster.requests.filter(({ namespace }) => namespace !== null);
    expect(new Set(asked.map(({ namespace }) => namespace))).toEqual(new Set(['tools', 'data']));
  });

  it('apply changed settings', async () => {
    const admin = (namespaces: string[]) =>
      service.put('/v1/sources/by-hand', { kubernetes: { namespaces } });
    expect((await admin(['tools'])).status).toBe(201);
    const registry = { sources: ['by-hand'] };
    expect((await service.put('/v1/registries/by-hand', registry)).status).toBe(201);
    await within(A_WHILE, async () => expect(await listed(service, 'by-hand')).toEqual(['tools/a@1.0.0']));
    expect((await admin(['other'])).status).toBe(200);
    await within(A_WHILE, async () =>
      expect(await listed(service, 'by-hand')).toEqual(['other/beta@1.0.0', 'other/c@1.0.0']),
    );
  });
});

function watchedWithClaims(cluster: ReturnType<typeof aCluster>) {
  const service = watching(cluster, aService({ mode: 'full' }))
    .source('cluster', { kind: 'kubernetes', claims: { org: 'acme' } })
    .registry('main', { sources: ['cluster'] })
    .runs();
  demandRevisions(service);
  return service;
}

describe('claims annotations', () => {
  const cluster = aCluster().runs();
  const service = watchedWithClaims(cluster);
  const claimed = (name: string, claims: unknown) =>
    exported(name, { 'authz-claims': JSON.stringify(claims) });
  const sees = async (who: object, names: string[]) =>
    within(A_WHILE, async () => expect(await listed(service.as({ ...who }))).toEqual(names));

  it("decide who sees an entry; the source's claims do not", async () => {
    cluster.put('MCPServer', 'tools/platform', claimed('platform', { org: 'acme', team: 'platform' }));
    cluster.put('MCPServer', 'tools/acme', claimed('acme', { org: 'acme' }));
    cluster.put('MCPServer', 'tools/contoso', claimed('contoso', { org: 'contoso' }));
    cluster.put('MCPServer', 'tools/unlabelled', exported('unlabelled'));
    await sees(ACME_PLATFORM, ['tools/acme@1.0.0', 'tools/platform@1.0.0']);
    await sees(ACME_DATA, ['tools/acme@1.0.0']);
    await sees(CONTOSO_READER, ['tools/contoso@1.0.0']);
    await sees(NOBODY, []);
    await sees(SUPER_ADMIN, [
      'tools/acme@1.0.0',
      'tools/contoso@1.0.0',
      'tools/platform@1.0.0',
      'tools/unlabelled@1.0.0',
    ]);
  });

  it('move an entry immediately, even when nothing else in the object changes', async () => {
    cluster.put('MCPServer', 'tools/moves', claimed('moves', { org: 'acme' }));
    await sees(ACME_DATA, ['tools/acme@1.0.0', 'tools/moves@1.0.0']);
    cluster.put('MCPServer', 'tools/moves', claimed('moves', { org: 'contoso' }));
    await sees(ACME_DATA, ['tools/acme@1.0.0']);
    await sees(CONTOSO_READER, ['tools/contoso@1.0.0', 'tools/moves@1.0.0']);
    const { counts } = await syncOf(service.as(SUPER_ADMIN));
    expect(counts).toMatchObject({ added: 0, changed: 1, unchanged: 0 });
    cluster.delete('MCPServer', 'tools/moves');
    await sees(CONTOSO_READER, ['tools/contoso@1.0.0']);
  });

  it.each([
    ['{"org":', 'is not valid JSON'],
    [
      '{"org":"acme","exp":"1"}',
      'is not a valid claims map: "exp" identifies a token and cannot be used as a claim',
    ],
  ])('hide only their object when invalid (%s), and report it', async (text, mistake) => {
    cluster.put('MCPServer', 'tools/acme', exported('acme', { 'authz-claims': text }));
    await sees(ACME_DATA, []);
    await sees(ACME_PLATFORM, ['tools/platform@1.0.0']);
    await within(A_WHILE, async () =>
      expect(await syncOf(service.as(SUPER_ADMIN))).toMatchObject({
        status: 'complete',
        counts: { skipped: 1 },
        skipped: [
          {
            name: 'com.toolhive.k8s.tools/acme',
            version: '1.0.0',
            reasons: [`MCPServer tools/acme: the annotation toolhive.stacklok.dev/authz-claims ${mistake}`],
          },
        ],
      }),
    );
    cluster.put('MCPServer', 'tools/acme', claimed('acme', { org: 'acme' }));
    await sees(ACME_DATA, ['tools/acme@1.0.0']);
  });
});

describe('claims annotations of a held server', () => {
  const scanner = new Receiver().runs();
  const cluster = aCluster().runs();
  const service = watchedWithClaims(cluster);
  const ACME = { org: 'acme' };
  const PLATFORM = { org: 'acme', team: 'platform' };
  const put = (name: string, claims: unknown, description = 'first') =>
    cluster.put(
      'MCPServer',
      `tools/${name}`,
      exported(name, { 'authz-claims': JSON.stringify(claims), 'registry-description': description }),
    );
  const admin = () => service.as(SUPER_ADMIN);
  const nameOf = (name: string) => `com.toolhive.k8s.tools/${name}`;
  const descriptionFor = async (who: object, name: string) => {
    const path = `/registry/main/v0.1/servers/${encodeURIComponent(nameOf(name))}/versions/latest`;
    const { json } = await service.as({ ...who }).get(path);
    return (json as { server?: { description: string } }).server?.description;
  };
  const isSeen = (who: object, name: string, description: string | undefined) =>
    within(A_WHILE, async () => expect(await descriptionFor(who, name)).toBe(description));
  let marks = 0;
  /** Resolves once all earlier changes to the cluster have been written. */
  const written = async () => {
    marks += 1;
    put('mark', ACME, `mark ${marks}`);
    await isSeen(ACME_DATA, 'mark', `mark ${marks}`);
  };

  it('apply when the block that held it is lifted', async () => {
    put('blocked', ACME);
    put('opened', PLATFORM);
    await isSeen(ACME_DATA, 'blocked', 'first');
    await isSeen(ACME_PLATFORM, 'opened', 'first');
    const block = { names: ['*/blocked', '*/opened'], reason: 'SEC-12' };
    expect((await admin().put('/v1/blocks/both', block)).status).toBe(201);
    await isSeen(ACME_PLATFORM, 'opened', undefined);
    put('blocked', PLATFORM);
    put('opened', ACME);
    await written();
    expect((await admin().delete('/v1/blocks/both')).status).toBe(204);
    await isSeen(ACME_PLATFORM, 'blocked', 'first');
    expect(await descriptionFor(ACME_DATA, 'blocked')).toBeUndefined();
    await isSeen(ACME_DATA, 'opened', 'first');
  });

  describe('by a webhook', () => {
    const outcome = (one: string) => ({ status: 200, body: JSON.stringify({ outcome: one }) });
    const heldOf = async (name: string): Promise<Item> => {
      let items: Item[] = [];
      await within(A_WHILE, async () => {
        items = await itemsFor(admin(), `?name=${encodeURIComponent(nameOf(name))}`);
        expect(items).toHaveLength(1);
      });
      return items[0] as Item;
    };
    const approve = async (name: string) =>
      expect((await decide(admin(), await heldOf(name), 'approve')).status).toBe(200);

    beforeAll(async () => {
      scanner.answer = ({ body }) => outcome(body.includes('second') ? 'hold' : 'admit');
      const secretFile = service.write('secret', aWebhookSecret());
      const webhooks = [{ name: 'scan', url: scanner.url, secretFile, on: ['sync'] }];
      await service.reload((edited) => edited.configuration({ admission: { webhooks } }));
    });

    it('let the earlier document stay only if they are unchanged', async () => {
      for (const name of ['steady', 'narrowed', 'widened']) put(name, name === 'widened' ? PLATFORM : ACME);
      for (const name of ['steady', 'narrowed', 'widened']) await isSeen(ACME_PLATFORM, name, 'first');
      put('steady', ACME, 'second');
      put('narrowed', PLATFORM, 'second');
      put('widened', ACME, 'second');
      for (const name of ['steady', 'narrowed', 'widened']) await heldOf(name);
      expect(await descriptionFor(ACME_DATA, 'steady')).toBe('first');
      for (const who of [ACME_DATA, ACME_PLATFORM])
        for (const name of ['narrowed', 'widened'])
          expect(await descriptionFor(who, name), name).toBeUndefined();
      for (const name of ['steady', 'narrowed', 'widened']) await approve(name);
      for (const [name, seen] of [
        ['steady', 'second'],
        ['narrowed', undefined],
        ['widened', 'second'],
      ] as const)
        expect(await descriptionFor(ACME_DATA, name), name).toBe(seen);
      expect(await descriptionFor(ACME_PLATFORM, 'narrowed')).toBe('second');
    });

    it('may change while it is held', async () => {
      put('new', ACME, 'second');
      await heldOf('new');
      put('new', PLATFORM, 'second');
      await written();
      await approve('new');
      expect(await descriptionFor(ACME_PLATFORM, 'new')).toBe('second');
      expect(await descriptionFor(ACME_DATA, 'new')).toBeUndefined();
    });
  });
});
