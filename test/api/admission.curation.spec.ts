import { beforeAll, describe, expect, it } from 'vitest';
import { decide, itemsFor, passTime, served, shortly } from '../support/admission.js';
import { aServer, aSkill, type Document } from '../support/documents.js';
import { aService } from '../support/service.js';
import { anUpstreamRegistry, OFFICIAL } from '../support/upstream-registry.js';

const service = aService().runs();

/** A source and a registry with this name, whose first sync shows these servers. */
function aMirror(name: string, admission: Document, ...first: unknown[]) {
  service.source(name, { servers: first, admission }).registry(name, { sources: [name] });
  return {
    synced: () => service.synced(name),
    rewrite: (...servers: unknown[]) => service.rewrite(name, { servers }),
    reload: (changed: Document | undefined, ...servers: unknown[]) =>
      service.reload((edited) => edited.source(name, { servers, admission: changed })),
    get: (path: string) => service.get(`/registry/${name}/v0.1/servers${path}`),
    served: () => served(service, name),
    items: (query = '') => itemsFor(service, `?source=${name}${query}`),
  };
}

const PATIENCE = { interval: 100 };

// First, because time passes for all mirrors.
describe('rules', () => {
  const names = ['com.free/a', 'com.young/a', 'com.never/a', 'com.held/a', 'com.other/a'];
  const mirror = aMirror(
    'rules',
    {
      minAge: '7d',
      rules: [
        { names: ['com.free/*'], minAge: '0s' },
        { names: ['COM.PINNED/*'], versions: '^1.2' },
        { names: ['com.young/*'], minAge: '1d' },
        { names: ['com.never/*'], action: 'reject', reason: 'see SEC-12' },
        { names: ['com.held/*'], action: 'hold', reason: 'ask us' },
      ],
    },
    ...names.map((name) => aServer(name)),
    ...['1.1.0', '1.2.0', '1.3.0-rc.1', '2.0.0'].map((version) => aServer('com.pinned/a', version)),
  );

  it('decide before minAge; only the first match counts', async () => {
    const report = await mirror.synced();
    expect(await mirror.served()).toEqual([
      'com.free/a@1.0.0',
      'com.pinned/a@1.2.0',
      'com.pinned/a@1.3.0-rc.1',
    ]);
    expect(shortly(await mirror.items())).toEqual([
      'com.held/a@1.0.0: rule',
      'com.other/a@1.0.0: minAge',
      'com.pinned/a@1.1.0: rule',
      'com.pinned/a@2.0.0: rule',
      'com.young/a@1.0.0: minAge',
    ]);
    expect(report.skipped).toMatchObject([
      { name: 'com.never/a', version: '1.0.0', reasons: ['admission_rejected: see SEC-12'] },
    ]);
    expect(report.counts).toMatchObject({ held: 5, skipped: 1, entries: 3 });
  });

  it('withdraw served versions only with action: reject, at the next sync', async () => {
    const rules = [
      { names: ['com.free/*'], action: 'hold' },
      { names: ['com.pinned/*'], action: 'reject' },
    ];
    await mirror.reload({ rules }, aServer('com.free/a'), aServer('com.pinned/a', '1.2.0'));
    await mirror.synced();
    expect(await mirror.served()).toEqual(['com.free/a@1.0.0']);
  });

  it('end when the settings are removed: everything that the upstream shows is admitted', async () => {
    await mirror.reload(undefined, aServer('com.held/a'), aServer('com.never/a'));
    await mirror.synced();
    expect(await mirror.served()).toEqual(['com.held/a@1.0.0', 'com.never/a@1.0.0']);
    expect(await mirror.items()).toEqual([]);
  });
});

describe('minAge', () => {
  const mirror = aMirror('min-age', { minAge: '14d' }, aServer('io.acme/one'), aServer('io.acme/two'));

  it('holds everything at the first sync, and hides it from consumers', async () => {
    const report = await mirror.synced();
    expect(report.counts).toMatchObject({ held: 2, entries: 0, added: 0 });
    expect(await mirror.served()).toEqual([]);
    expect((await mirror.get('/io.acme%2Fone/versions/1.0.0')).status).toBe(404);
    expect(shortly(await mirror.items())).toEqual(['io.acme/one@1.0.0: minAge', 'io.acme/two@1.0.0: minAge']);
  });

  it('never shows versions that the upstream removes after 13 days, and starts counting again when they return', async () => {
    await passTime(service, '13 days');
    await mirror.rewrite(aServer('io.acme/one'));
    await mirror.synced();
    await mirror.rewrite(aServer('io.acme/one'), aServer('io.acme/two'));
    await mirror.synced();
    await passTime(service, '2 days');
    await expect.poll(mirror.served, PATIENCE).toEqual(['io.acme/one@1.0.0']);
    const [two, ...others] = await mirror.items();
    expect(others).toEqual([]);
    expect(two).toMatchObject({ name: 'io.acme/two', status: 'held' });
    const [one] = await mirror.items('&status=admitted');
    expect(one).toMatchObject({ name: 'io.acme/one', status: 'admitted' });
    // The release changed the stored versions, not the source.
    const { counts } = await mirror.synced();
    expect(counts).toMatchObject({ held: 1, entries: 1 });
  });

  it('keeps the served document while a changed one waits', async () => {
    const changed = aServer('io.acme/one', '1.0.0', { description: 'changed' });
    await mirror.rewrite(changed, aServer('io.acme/two'));
    const report = await mirror.synced();
    expect(report.counts).toMatchObject({ entries: 1, held: 2, removed: 0, changed: 0 });
    const document = async () =>
      (await mirror.get('/io.acme%2Fone/versions/latest')).json as {
        server: Document;
      };
    expect((await document()).server['description']).toBe('The server io.acme/one');
    const [item] = await mirror.items('&name=io.acme%2Fone');
    const details = (await service.get(`/v1/admission/${item?.id}`)).json;
    expect(details).toMatchObject({
      document: changed,
      replaces: { version: '1.0.0', diff: [{ op: 'replace', path: '/description', value: 'changed' }] },
      served: { name: 'io.acme/one', description: 'The server io.acme/one' },
    });
    await passTime(service, '15 days');
    await expect.poll(async () => (await document()).server['description'], PATIENCE).toBe('changed');
    await expect.poll(mirror.served, PATIENCE).toEqual(['io.acme/one@1.0.0', 'io.acme/two@1.0.0']);
  });

  it('admits by updated_since and elects the newest admitted version as latest', async () => {
    const all = [
      aServer('io.acme/one', '1.0.0', { description: 'changed' }),
      aServer('io.acme/one', '2.0.0'),
    ];
    await mirror.rewrite(...all);
    await mirror.synced();
    const latest = async () =>
      (await mirror.get('/io.acme%2Fone/versions/latest')).json as {
        server: Document;
      };
    expect((await latest()).server['version']).toBe('1.0.0');
    const since = new Date().toISOString();
    await passTime(service, '15 days');
    await expect.poll(async () => (await latest()).server['version'], PATIENCE).toBe('2.0.0');
    const changes = await mirror.get(`?updated_since=${since}`);
    expect(changes.text).toContain('"2.0.0"');
    expect((await mirror.get('?search=io.acme/one')).text).toContain('"2.0.0"');
  });
});

describe('newNames', () => {
  const mirror = aMirror('new-names', { newNames: 'hold' }, aServer('io.acme/known'));

  it('holds names that were not in the first sync, until somebody approves them', async () => {
    expect(await mirror.served()).toEqual(['io.acme/known@1.0.0']);
    const shown = [aServer('io.acme/known'), aServer('io.acme/known', '2.0.0'), aServer('io.acme/new')];
    await mirror.rewrite(...shown);
    await mirror.synced();
    expect(await mirror.served()).toEqual(['io.acme/known@1.0.0', 'io.acme/known@2.0.0']);
    const [item, ...others] = await mirror.items();
    expect(others).toEqual([]);
    expect(item).toMatchObject({ name: 'io.acme/new', approvals: { required: 1, given: 0 } });
    if (!item) return;
    expect((await decide(service, item, 'approve', { comment: 'checked' })).json).toMatchObject({
      status: 'admitted',
      decisions: [{ decision: 'approve', comment: 'checked' }],
    });
    await mirror.rewrite(...shown, aServer('io.acme/new', '1.1.0'));
    await mirror.synced();
    expect(await mirror.served()).toContain('io.acme/new@1.1.0');
  });

  it('remembers a name that was gone for a while', async () => {
    await mirror.rewrite(aServer('io.acme/new'));
    await mirror.synced();
    await mirror.rewrite(aServer('io.acme/new'), aServer('io.acme/known'));
    await mirror.synced();
    expect(await mirror.served()).toEqual(['io.acme/known@1.0.0', 'io.acme/new@1.0.0']);
  });
});

describe('changed', () => {
  const mirror = aMirror('changed', { changed: 'hold' }, aServer('io.acme/one'));

  it('holds a changed document until it is approved, and a rejected one for good', async () => {
    const withText = (description: string) => aServer('io.acme/one', '1.0.0', { description });
    for (const [text, decision, expected] of [
      ['better', 'approve', 'better'],
      ['worse', 'reject', 'better'],
    ] as const) {
      await mirror.rewrite(withText(text));
      await mirror.synced();
      const [item] = await mirror.items();
      expect(item?.reasons.map(({ policy }) => policy)).toEqual(['changed']);
      if (item) expect((await decide(service, item, decision)).status).toBe(200);
      await mirror.rewrite(withText(text), aServer('io.acme/more', `1.0.${text.length}`));
      const report = await mirror.synced();
      expect(report.counts['held']).toBe(0);
      const reply = await mirror.get('/io.acme%2Fone/versions/1.0.0');
      expect(reply.json).toMatchObject({ server: { description: expected } });
    }
    const { skipped } = await mirror.synced();
    expect(skipped).toMatchObject([{ name: 'io.acme/one', reasons: ['admission_rejected: rejected here'] }]);
  });
});

describe('a status that comes with a held document', () => {
  const upstream = anUpstreamRegistry().runs();
  const service = aService();
  const skill = (more: Document = {}) => aSkill('io.acme/skill', '1.0.0', more);
  beforeAll(() => {
    upstream.put([aServer('io.acme/one', '1.0.0'), aServer('io.acme/one', '1.1.0')]);
    service
      .source('api', { kind: 'api', settings: { endpoint: upstream.url }, admission: { changed: 'hold' } })
      .source('file', { skills: [skill()], admission: { changed: 'hold' } });
  });
  service.registry('main', { sources: ['api', 'file'] }).runs();

  it('applies to the document that is served', async () => {
    await service.synced('api');
    const changed = aServer('io.acme/one', '1.1.0', { description: 'changed' });
    upstream.put([changed], {
      status: 'deleted',
      statusMessage: 'unsafe',
      updatedAt: new Date().toISOString(),
    });
    expect((await service.synced('api')).counts).toMatchObject({ held: 1, removed: 0 });
    expect(await served(service)).toEqual(['io.acme/one@1.0.0']);
    const path = '/registry/main/v0.1/servers/io.acme%2Fone/versions';
    expect((await service.get(`${path}/1.1.0?include_deleted=true`)).json).toMatchObject({
      server: { description: 'The server io.acme/one' },
      _meta: { [OFFICIAL]: { status: 'deleted', statusMessage: 'unsafe' } },
    });
    expect((await service.get(`${path}/latest`)).json).toMatchObject({ server: { version: '1.0.0' } });
    expect((await service.synced('api')).counts).toMatchObject({ held: 1, changed: 0 });

    await service.synced('file');
    await service.rewrite('file', { skills: [skill({ description: 'changed', status: 'deprecated' })] });
    expect((await service.synced('file')).counts).toMatchObject({ held: 1, changed: 1 });
    expect((await service.get('/registry/main/v0.1/x/dev.toolhive/skills/io.acme/skill')).json).toMatchObject(
      {
        description: skill()['description'],
        status: 'deprecated',
      },
    );
  });
});

describe('rewrite', () => {
  const npm = (more: Document = {}) => ({
    registryType: 'npm',
    identifier: '@acme/one',
    version: '1.0.0',
    transport: { type: 'stdio' },
    ...more,
  });
  const image = (identifier: string) => ({ registryType: 'oci', identifier, transport: { type: 'stdio' } });
  const packages = [
    npm({ registryBaseUrl: 'https://registry.npmjs.org' }),
    image('ghcr.example.com/acme/one:1'),
    image('docker.io/acme/one:1'),
  ];
  const mirror = aMirror(
    'rewrite',
    {
      rewrite: [
        { registryType: 'npm', registryBaseUrl: 'https://packages.example.com/npm' },
        { registryType: 'oci', from: 'ghcr.example.com/', to: 'mirror.example.com/' },
      ],
    },
    aServer('io.acme/one', '1.0.0', { packages }),
    aServer('io.acme/two'),
  );
  const document = async (name: string) =>
    (
      (await mirror.get(`/io.acme%2F${name}/versions/latest`)).json as {
        server: Document;
      }
    ).server;

  it('sets the base URL and replaces prefixes, and keeps the original packages in _meta', async () => {
    expect(await document('one')).toMatchObject({
      packages: [
        npm({ registryBaseUrl: 'https://packages.example.com/npm' }),
        image('mirror.example.com/acme/one:1'),
        image('docker.io/acme/one:1'),
      ],
      _meta: { 'registry-server/rewritten': packages },
    });
    expect(await document('two')).toEqual(aServer('io.acme/two'));
  });

  it('changes nothing when the same content is read again', async () => {
    await mirror.rewrite(aServer('io.acme/one', '1.0.0', { packages }), aServer('io.acme/three'));
    expect((await mirror.synced()).counts).toMatchObject({ unchanged: 1, changed: 0, added: 1 });
  });

  it('is applied again when its settings change', async () => {
    const rewrite = [{ registryType: 'npm', registryBaseUrl: 'https://other.example.com' }];
    await mirror.reload({ rewrite }, aServer('io.acme/one', '1.0.0', { packages }));
    await mirror.synced();
    expect(await document('one')).toMatchObject({
      packages: [{ registryBaseUrl: 'https://other.example.com' }, packages[1], packages[2]],
    });
    await mirror.reload(undefined, aServer('io.acme/one', '1.0.0', { packages }));
    await mirror.synced();
    expect(await document('one')).toEqual(aServer('io.acme/one', '1.0.0', { packages }));
  });
});
