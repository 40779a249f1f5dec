import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { outcomeOf, serversIn } from '../support/answers.js';
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
    .configuration({ adminFileRoots: roots })
    .runs();
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
      keys: [{ ...settings.keys[0], expires: new Date(Date.now() + 400).toISOString() }],
    });
    expect(outcomeOf(await replica.get(keyed))).toBe('200');
    await expect
      .poll(async () => outcomeOf(await replica.get(keyed)), { timeout: 5_000 })
      .toBe('404 registry_not_found');
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
});

describe('in auth-only mode', () => {
  const authOnly = aService({ mode: 'auth-only' })
    .source('internal', { claims: { org: 'acme' }, servers: [aServer('io.acme/internal')] })
    .registry('ide', { sources: ['internal'], anonymous: { claims: AUDIENCE } })
    .registry('other', { sources: ['internal'] })
    .runs();

  it('`anonymous` opens that whole registry, no other, and grants no role', async () => {
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
