import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { outcomeOf, serversIn } from '../support/answers.js';
import { Clock } from '../support/clock.js';
import { aServer } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { expectChallenge, expectRefused } from '../support/matchers.js';
import { aKey } from '../support/registry-keys.js';
import { aService, type ServiceUnderTest } from '../support/service.js';

const AUDIENCE = { audience: 'ide' };
const LIST = '/registry/ide/v0.1/servers';

const folder = aFolder();

describe('anonymous access and keys of an API-made registry', () => {
  const ADMIN = { sub: 'ada', role: 'admin', org: 'acme', ...AUDIENCE };
  const file = folder.write('made', aKey());
  const roots = [{ path: folder.path, hosts: [] }];
  const managed = aService({ mode: 'full', policy: { registryListing: 'readers' } })
    .source('open', { claims: AUDIENCE, servers: [aServer('io.acme/open')] })
    .configuration({ adminFileRoots: roots, adminOpenAccess: true })
    .runs();
  const clock = new Clock().runs({ monotonic: false });
  let replica: ServiceUnderTest;
  beforeAll(async () => {
    replica = managed.replica();
    await replica.start();
  });
  afterAll(() => replica.stop());

  const settings = {
    sources: ['open'],
    claims: AUDIENCE,
    anonymous: { claims: AUDIENCE },
    keys: [{ name: 'made', secretFile: file, claims: AUDIENCE, expires: '2999-12-31' }],
    publishClaims: { org: 'acme', team: ['b', 'a'] },
    marketplace: { name: 'made', owner: 'Made' },
  };
  const key = readFileSync(file, 'utf8');
  const reads = (name: string) => [
    `/registry/${name}/v0.1/servers`,
    `/registry/${name}/k/${key}/v0.1/servers`,
  ];
  const admin = () => managed.as({ ...ADMIN, team: ['a', 'b'] });

  it('are returned without the key itself and survive a PUT of the GET body', async () => {
    expect((await admin().put('/v1/registries/kept', settings)).status).toBe(201);
    const shown = await admin().get('/v1/registries/kept');
    expect(shown.json).toMatchObject(settings);
    expect(shown.text).not.toMatch(/digest/);
    const { components } = (await managed.get('/openapi.json')).json as {
      components: { schemas: Record<string, { properties: object }> };
    };
    expect(Object.keys(settings).sort()).toEqual(
      Object.keys(components.schemas['RegistrySettings']?.properties ?? {}).sort(),
    );
    expect((await admin().get('/v1/registries?search=kept')).json).toMatchObject({
      registries: [shown.json],
    });
    expect((await admin().get('/v1/audit?action=registry.create')).json).toMatchObject({
      events: [{ change: { after: settings } }],
    });
    const again = await admin().put('/v1/registries/kept', shown.json, {
      'If-Match': String(shown.headers.etag),
    });
    expect({ status: again.status, text: again.text.replace(/"updatedAt":"[^"]*"/, '') }).toEqual({
      status: 200,
      text: shown.text.replace(/"updatedAt":"[^"]*"/, ''),
    });
    for (const path of reads('kept')) expect((await managed.get(path)).status).toBe(200);
  });

  it('are hidden from callers who may only read the registry', async () => {
    await admin().put('/v1/registries/listed', settings);
    for (const path of ['/v1/registries/listed', '/v1/registries']) {
      expect((await managed.as(AUDIENCE).get(path)).text).not.toContain('"keys"');
      expect((await admin().get(path)).text).toContain('"keys"');
    }
  });

  it('can be withdrawn, with effect on the next request on every replica', async () => {
    await admin().put('/v1/registries/taken', settings);
    const [open, keyed] = reads('taken') as [string, string];
    for (const path of [open, keyed]) expect(outcomeOf(await replica.get(path))).toBe('200');
    await admin().put('/v1/registries/taken', { ...settings, keys: [] });
    expectRefused(await replica.get(keyed), 404, 'registry_not_found');
    expect(outcomeOf(await replica.get(open))).toBe('200');
    await admin().put('/v1/registries/taken', { ...settings, anonymous: undefined });
    expectChallenge(await replica.get(open));
    expect(outcomeOf(await replica.get(keyed))).toBe('200');
    await admin().put('/v1/registries/taken', {
      ...settings,
      keys: [{ ...settings.keys[0], expires: new Date(Date.now() + 60_000).toISOString() }],
    });
    expect(outcomeOf(await replica.get(keyed))).toBe('200');
    clock.passes(60_000);
    expectRefused(await replica.get(keyed), 404, 'registry_not_found');
    await admin().delete('/v1/registries/taken');
    expectChallenge(await replica.get(open));
  });

  it.each<[string, object, string]>([
    [
      "anonymous claims beyond the caller's",
      { anonymous: { claims: { org: 'contoso' } } },
      '400 claims_not_subset',
    ],
    [
      "key claims beyond the caller's",
      { keys: [{ ...settings.keys[0], claims: { org: 'contoso' } }] },
      '400 claims_not_subset',
    ],
    ["publishClaims beyond the caller's", { publishClaims: { org: 'contoso' } }, '400 claims_not_subset'],
    [
      'a key file outside adminFileRoots',
      { keys: [{ ...settings.keys[0], secretFile: '/etc/hostname' }] },
      '400 path_not_allowed',
    ],
    [
      'a file that does not contain a key',
      { keys: [{ ...settings.keys[0], secretFile: folder.write('none', 'hunter2') }] },
      '400 invalid_body',
    ],
    [
      'a missing key file',
      { keys: [{ ...settings.keys[0], secretFile: folder.file('nowhere') }] },
      '400 invalid_body',
    ],
    [
      'a duplicate key',
      { keys: [settings.keys[0], { ...settings.keys[0], name: 'again' }] },
      '400 invalid_body',
    ],
    ['a duplicate key name', { keys: [settings.keys[0], settings.keys[0]] }, '400 invalid_body'],
    ['an invalid expiry date', { keys: [{ ...settings.keys[0], expires: 'tomorrow' }] }, '400 invalid_body'],
    ['an inline key', { keys: [{ name: 'made', key, claims: AUDIENCE }] }, '400 invalid_body'],
  ])('are refused with %s', async (_what, changes, outcome) => {
    const reply = await admin().put('/v1/registries/refused', { ...settings, ...changes });
    expect(outcomeOf(reply)).toBe(outcome);
    expect(reply.text).not.toMatch(/hunter2/);
    expect((await admin().get('/v1/registries/refused')).status).toBe(404);
  });

  it('are refused with a key file over 1 MiB, as in the configuration', async () => {
    const secretFile = folder.write('large', 'k'.repeat(1024 * 1024 + 1));
    const keys = [{ ...settings.keys[0], secretFile }];
    const reply = await admin().put('/v1/registries/refused', { ...settings, keys });
    expectRefused(reply, 400, 'invalid_body');
    expect(reply.text).toContain('the file is larger than 1 MiB');
  });
});

describe('without adminOpenAccess,', () => {
  const file = folder.write('ignored', aKey());
  const key = readFileSync(file, 'utf8');
  const closed = aService({ mode: 'full' })
    .source('open', { claims: AUDIENCE, servers: [aServer('io.acme/open')] })
    .registry('declared', { sources: ['open'], anonymous: { claims: AUDIENCE } })
    .configuration({ adminFileRoot: folder.path, adminOpenAccess: true })
    .runs();
  const admin = () => closed.as({ sub: 'ada', role: 'admin', org: 'acme', ...AUDIENCE });
  const settings = { sources: ['open'], claims: AUDIENCE };
  const anonymous = { claims: AUDIENCE };
  const keys = [{ name: 'made', secretFile: file, claims: AUDIENCE }];
  const reads = ['/registry/made/v0.1/servers', `/registry/made/k/${key}/v0.1/servers`];
  const outcomes = async () => {
    const replies = await Promise.all(reads.map((path) => closed.get(path)));
    const { json } = await admin().get('/v1/registries/made/access');
    return [...replies.map(outcomeOf), (json as { anonymous: boolean }).anonymous];
  };

  beforeAll(async () => {
    expect((await admin().put('/v1/registries/made', { ...settings, anonymous, keys })).status).toBe(201);
  });

  it('stored anonymous access and keys have no effect, and the log mentions the registry', async () => {
    expect(await outcomes()).toEqual(['200', '200', true]);
    await closed.restart();
    expect(closed.logs().some(({ msg }) => /registry made opens 1/.test(msg))).toBe(true);
    await closed.restart((again) => again.configuration({ adminOpenAccess: false }));
    expect(await outcomes()).toEqual(['401 token_missing', '404 registry_not_found', false]);
    expect(outcomeOf(await closed.get('/registry/declared/v0.1/servers'))).toBe('200');
    expect(closed.logs().filter(({ msg }) => /ignored without adminOpenAccess/.test(msg))).toMatchObject([
      { level: 'warn', registries: ['made'], count: 1 },
    ]);
  });

  it('anonymous access and keys in a body are refused, even if a GET returned them; a PUT without them removes them', async () => {
    for (const opening of [{ anonymous }, { keys }, { anonymous, keys }])
      for (const name of ['made', 'other'])
        expectRefused(
          await admin().put(`/v1/registries/${name}`, { ...settings, ...opening }),
          403,
          'config_only',
        );
    const shown = await admin().get('/v1/registries/made');
    expect(shown.json).toMatchObject({ anonymous, keys });
    const again = await admin().put('/v1/registries/made', shown.json);
    expectRefused(again, 403, 'config_only');
    expect(again.text).toMatch(/adminOpenAccess: leave out `anonymous` and `keys`/);
    expect(outcomeOf(await admin().put('/v1/registries/other', { ...settings, keys: [] }))).toBe('201');
    expect(outcomeOf(await admin().put('/v1/registries/made', settings))).toBe('200');
    expect((await admin().get('/v1/registries/made')).text).not.toMatch(/anonymous|keys/);
  });

  it('anonymous access and keys are checked with the body: after role, read_only and 404, before claims', async () => {
    const body = { ...settings, anonymous };
    const put = async (claims: object, name: string, sent: object) =>
      outcomeOf(await closed.as({ sub: 'eve', ...claims }).put(`/v1/registries/${name}`, sent));
    expect(await put({}, 'made', body)).toBe('403 role_required');
    expect(await put({ role: 'admin' }, 'made', body)).toBe('404 registry_not_found');
    expect(await put({ role: 'admin' }, 'declared', body)).toBe('403 config_managed');
    expect(await put({ role: 'admin' }, 'new', { ...body, more: 1 })).toBe('400 invalid_body');
    expect(await put({ role: 'admin' }, 'new', body)).toBe('403 config_only');
  });

  it('a caller must still cover publishClaims', async () => {
    const put = async (publishClaims: object) =>
      outcomeOf(await admin().put('/v1/registries/publishing', { ...settings, publishClaims }));
    expect(await put({ org: 'contoso' })).toBe('400 claims_not_subset');
    expect(await put({ org: 'acme' })).toBe('201');
  });
});

describe('in auth-only mode', () => {
  const authOnly = aService({ mode: 'auth-only' })
    .source('internal', { claims: { org: 'acme' }, servers: [aServer('io.acme/internal')] })
    .registry('ide', { sources: ['internal'], anonymous: { claims: AUDIENCE } })
    .registry('other', { sources: ['internal'] })
    .runs();

  it('`anonymous` opens that whole registry, but no others, and grants no role', async () => {
    expect(serversIn(await authOnly.get(LIST))).toEqual(['io.acme/internal']);
    expectChallenge(await authOnly.get('/registry/other/v0.1/servers'));
    expectChallenge(await authOnly.get('/v1/sources'));
  });
});

describe('in anonymous mode', () => {
  const copilot = aKey();
  const anonymous = aService()
    .source('open', { servers: [aServer('io.acme/open')] })
    .registry('ide', {
      sources: ['open'],
      keys: [{ name: 'copilot', secretFile: folder.write('copilot', copilot), claims: AUDIENCE }],
    })
    .runs();

  it('keys do not exist', async () => {
    expectRefused(await anonymous.get(`/registry/ide/k/${copilot}/v0.1/servers`), 404, 'registry_not_found');
    expect((await anonymous.get(LIST)).status).toBe(200);
  });
});
