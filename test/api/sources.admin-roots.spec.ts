import { mkdirSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { beforeEach, describe, expect, it } from 'vitest';
import { outcomeOf, serversIn } from '../support/answers.js';
import { SUPER_ADMIN } from '../support/callers.js';
import { aCatalogue, aServer } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { expectRefused } from '../support/matchers.js';
import { keepSecret } from '../support/secrets.js';
import { aService } from '../support/service.js';
import { anUpstreamRegistry } from '../support/upstream-registry.js';

const RED = { sub: 'rita', org: 'red', role: 'admin' };
const BLUE = { sub: 'bert', org: 'blue', role: 'admin' };
const syncPolicy = { interval: '1h' };
const TOKEN = keepSecret('the-token-of-the-red-team');

describe('adminFileRoots of several tenants', () => {
  const folder = aFolder();
  for (const directory of ['shared', 'red', 'red/deep', 'blue', 'shared/vault'])
    mkdirSync(folder.file(directory));
  const reds = folder.catalogue('red/reds', [aServer('com.red/payments')]);
  const deep = folder.catalogue('red/deep/deep', [aServer('com.red/deep')]);
  const blues = folder.catalogue('blue/blues', [aServer('com.blue/hello')]);
  const everybodys = folder.catalogue('shared/all', [aServer('com.shared/all')]);
  const vaults = folder.catalogue('shared/vault/vault', [aServer('com.red/vault')]);
  symlinkSync(reds, folder.file('blue/link.json'));
  symlinkSync(vaults, folder.file('shared/link.json'));
  symlinkSync(folder.file('red'), folder.file('shared/reds'));
  const service = aService({ mode: 'full' })
    .source('tools', { claims: { org: 'red' }, servers: [aServer('com.red/tools')] })
    .registry('tools', { sources: ['tools'] })
    .configuration({
      adminFileRoots: [
        { path: folder.file('shared') },
        { path: folder.file('shared/vault'), claims: { org: 'red' } },
        { path: folder.file('red'), claims: { org: 'red' } },
        { path: folder.file('blue'), claims: { org: 'blue' } },
      ],
    })
    .runs();
  const put = (caller: object, name: string, path: string, claims: object) =>
    service.as({ ...caller }).put(`/v1/sources/${name}`, { file: { path }, syncPolicy, claims });

  it.each([
    ['red', RED, reds, { org: 'red' }, 'com.red/payments'],
    ['deeper', RED, deep, { org: 'red' }, 'com.red/deep'],
    ['closer', { ...RED, team: 'a' }, reds, { org: 'red', team: 'a' }, 'com.red/payments'],
    ['several', { ...RED, org: ['red', 'blue'] }, reds, { org: ['red', 'blue'] }, 'com.red/payments'],
    ['blue', BLUE, blues, { org: 'blue' }, 'com.blue/hello'],
    ['shared-red', RED, everybodys, { org: 'red' }, 'com.shared/all'],
    ['shared-blue', BLUE, everybodys, { org: 'blue' }, 'com.shared/all'],
    ['shared-open', BLUE, everybodys, {}, 'com.shared/all'],
    ['vault', RED, vaults, { org: 'red' }, 'com.red/vault'],
    ['super', SUPER_ADMIN, reds, { org: 'red' }, 'com.red/payments'],
  ])('are readable by their tenant: %s', async (name, caller, path, claims, shown) => {
    expect(outcomeOf(await put(caller, name, path, claims))).toBe('201');
    expect(await service.synced(name)).toMatchObject({ status: 'complete', error: null });
    await service.as(SUPER_ADMIN).put(`/v1/registries/${name}`, { sources: [name] });
    expect(serversIn(await service.as(SUPER_ADMIN).get(`/registry/${name}/v0.1/servers`))).toEqual([shown]);
  });

  it.each<[string, object, string, object]>([
    ["a file of another tenant, with the caller's claims", BLUE, reds, { org: 'blue' }],
    ['a file of another tenant, without claims', BLUE, reds, {}],
    ['a nested file of another tenant', BLUE, deep, { org: 'blue' }],
    ['a missing file of another tenant', BLUE, folder.file('red/nothing.json'), { org: 'blue' }],
    [
      "a symlink to another tenant's file in the caller's root",
      BLUE,
      folder.file('blue/link.json'),
      { org: 'blue' },
    ],
    [
      "a symlink to another tenant's file in a shared root",
      BLUE,
      folder.file('shared/link.json'),
      { org: 'blue' },
    ],
    ["a symlink to another tenant's directory", BLUE, folder.file('shared/reds/reds.json'), { org: 'blue' }],
    ['a restricted root inside a shared root', BLUE, vaults, { org: 'blue' }],
    ['a path with ..', BLUE, `${folder.file('blue')}/../red/reds.json`, { org: 'blue' }],
    ['a file outside every root', RED, '/etc/passwd', { org: 'red' }],
    ['a relative path', RED, 'reds.json', { org: 'red' }],
    ["the tenant's file, without claims", RED, reds, {}],
    ["the tenant's file, with claims of others", { ...RED, org: ['red', 'blue'] }, reds, { org: 'blue' }],
    ["a tenant's file with claims of others, by a super-admin", SUPER_ADMIN, reds, { org: 'blue' }],
    ["a tenant's file without claims, by a super-admin", SUPER_ADMIN, reds, {}],
  ])('are refused: %s', async (_what, caller, path, claims) => {
    expectRefused(await put(caller, 'refused', path, claims), 400, 'path_not_allowed');
    expect(outcomeOf(await service.as(SUPER_ADMIN).get('/v1/sources/refused'))).toBe('404 source_not_found');
  });

  it('explain a refusal to their tenant, and reveal nothing to others', async () => {
    const sentence = async (caller: object, path: string) =>
      ((await put(caller, 'refused', path, { org: 'blue' })).json as { error: string }).error;
    expect(await sentence({ ...RED, org: ['red', 'blue'] }, reds)).toMatch(
      /give the source the claims {"org":"red"}$/,
    );
    const said = await sentence(BLUE, '/etc/no-such-file');
    const theirs = [reds, deep, folder.file('red/nothing.json'), folder.file('red/deep'), '/etc/passwd'];
    for (const path of [...theirs, folder.file('red/nothing/at/all.json'), folder.file('nowhere/a.json')])
      expect(await sentence(BLUE, path)).toBe(said);
  });

  it('stay closed when the claims of a source that reads from them change', async () => {
    const both = { ...RED, org: ['red', 'blue'] };
    expect(outcomeOf(await put(both, 'relabelled', reds, { org: 'red' }))).toBe('201');
    expectRefused(await put(both, 'relabelled', reds, { org: 'blue' }), 400, 'path_not_allowed');
    expect(outcomeOf(await put(both, 'relabelled', reds, { org: ['blue', 'red'] }))).toBe('200');
  });

  it('are checked again in each run: a file replaced by a symlink', async () => {
    const path = folder.catalogue('blue/swapped', [aServer('com.blue/kept')]);
    await put(BLUE, 'swapped', path, { org: 'blue' });
    await service.as(BLUE).put('/v1/registries/swapped', { sources: ['swapped'] });
    expect(await service.synced('swapped')).toMatchObject({ status: 'complete' });
    unlinkSync(path);
    symlinkSync(reds, path);
    const report = await service.synced('swapped');
    expect(report).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/swapped.json is not allowed: /),
    });
    expect(serversIn(await service.as(BLUE).get('/registry/swapped/v0.1/servers'))).toEqual([
      'com.blue/kept',
    ]);
  });
});

describe('a root whose claims change at a restart', () => {
  const folder = aFolder();
  const path = folder.catalogue('a', [aServer('com.blue/a')]);
  const roots = (claims: object) => ({ adminFileRoots: [{ path: folder.path, claims }] });
  const service = aService({ mode: 'full' })
    .source('tools', { servers: [aServer('com.blue/tools')] })
    .registry('tools', { sources: ['tools'] })
    .configuration(roots({ org: 'blue' }))
    .runs();

  it('is no longer read for a source that does not carry them; its entries stay', async () => {
    const settings = { file: { path }, syncPolicy, claims: { org: 'blue' } };
    expect((await service.as(BLUE).put('/v1/sources/made', settings)).status).toBe(201);
    await service.as(BLUE).put('/v1/registries/made', { sources: ['made'] });
    expect(await service.synced('made')).toMatchObject({ status: 'complete' });
    await service.restart((edited) => edited.configuration(roots({ org: 'red' })));
    expect((await service.synced('made')).error).toMatch(/give the source the claims {"org":"red"}$/);
    expect(serversIn(await service.as(BLUE).get('/registry/made/v0.1/servers'))).toEqual(['com.blue/a']);
    await service.restart((edited) => edited.configuration(roots({ org: 'blue' })));
    expect(await service.synced('made')).toMatchObject({ status: 'complete' });
  });
});

describe('a root with arrayValues: any', () => {
  const folder = aFolder();
  const path = folder.catalogue('reds', [aServer('com.red/a')]);
  const service = aService({ mode: 'full', policy: { arrayValues: 'any' } })
    .source('tools', { servers: [aServer('com.red/tools')] })
    .registry('tools', { sources: ['tools'] })
    .configuration({ adminFileRoots: [{ path: folder.path, claims: { org: ['red', 'green'] } }] })
    .runs();
  const put = (org: string | string[]) =>
    service
      .as({ ...RED, org: ['red', 'green', 'blue'] })
      .put('/v1/sources/made', { file: { path }, syncPolicy, claims: { org } });

  it('is readable only by sources with some of its values and no others', async () => {
    expect((await put('red')).status).toBe(201);
    expect((await put(['green', 'red'])).status).toBe(200);
    expectRefused(await put(['red', 'blue']), 400, 'path_not_allowed');
    expectRefused(await put('blue'), 400, 'path_not_allowed');
  });
});

describe('a root in auth-only mode', () => {
  const folder = aFolder();
  const shared = aFolder();
  const path = folder.catalogue('reds', [aServer('com.red/a')]);
  const service = aService({ mode: 'auth-only' })
    .source('tools', { servers: [aServer('com.red/tools')] })
    .registry('tools', { sources: ['tools'] })
    .configuration({
      adminFileRoots: [{ path: folder.path, claims: { org: 'red' } }, { path: shared.path }],
    })
    .runs();

  it('still requires the source to carry its claims', async () => {
    const put = (claims: object) =>
      service.as(BLUE).put('/v1/sources/made', { file: { path }, syncPolicy, claims });
    expectRefused(await put({ org: 'blue' }), 400, 'path_not_allowed');
    expect((await put({ org: 'red' })).status).toBe(201);
  });

  it('without hosts may contain catalog files, but no secrets', async () => {
    const file = { path: shared.write('all.json', JSON.stringify(aCatalogue([aServer('com.all/a')]))) };
    const put = (settings: object) =>
      service.as(BLUE).put('/v1/sources/content', { ...settings, syncPolicy });
    expect((await put({ file })).status).toBe(201);
    const api = { endpoint: 'https://registry.example', tokenFile: file.path };
    expectRefused(await put({ api }), 400, 'path_not_allowed');
  });
});

describe('secret files of several tenants', () => {
  const folder = aFolder();
  for (const directory of ['red', 'hostless']) mkdirSync(folder.file(directory));
  const token = folder.write('red/token', TOKEN);
  const password = folder.write('red/password', TOKEN);
  const hostless = folder.write('hostless/token', TOKEN);
  const upstream = anUpstreamRegistry().runs();
  const roots = (hosts: string[] | undefined) => ({
    adminAllowPrivateIP: true,
    adminFileRoots: [
      { path: folder.file('red'), claims: { org: 'red' }, hosts },
      { path: folder.file('hostless'), claims: { org: 'red' } },
    ],
  });
  const service = aService({ mode: 'full' })
    .source('tools', { claims: { org: 'red' }, servers: [aServer('com.red/tools')] })
    .registry('tools', { sources: ['tools'] })
    .configuration(roots(['127.0.0.1']))
    .runs();
  beforeEach(() => void upstream.reset().put([aServer('com.red/mirrored')]));
  const elsewhere = () => upstream.url.replace('127.0.0.1', 'localhost');
  const put = (caller: object, name: string, settings: object, claims: object) =>
    service.as({ ...caller }).put(`/v1/sources/${name}`, { ...settings, syncPolicy, claims });

  it('may be sent to the hosts of their root', async () => {
    const settings = { api: { endpoint: upstream.url, tokenFile: token } };
    expect((await put(RED, 'moved', settings, { org: 'red' })).status).toBe(201);
    expect(await service.synced('moved')).toMatchObject({ status: 'complete', error: null });
    expect(upstream.pages().at(-1)?.authorization).toBe(`Bearer ${TOKEN}`);
  });

  it.each<[string, object, () => object, object]>([
    [
      'of another tenant',
      BLUE,
      () => ({ api: { endpoint: upstream.url, tokenFile: token } }),
      { org: 'blue' },
    ],
    [
      "of another tenant, to the caller's host",
      BLUE,
      () => ({ api: { endpoint: elsewhere(), tokenFile: token } }),
      { org: 'blue' },
    ],
    ['to another host', RED, () => ({ api: { endpoint: elsewhere(), tokenFile: token } }), { org: 'red' }],
    [
      'to another host, by a super-admin',
      SUPER_ADMIN,
      () => ({ api: { endpoint: elsewhere(), tokenFile: token } }),
      { org: 'red' },
    ],
    [
      'to a host whose name resembles an allowed one',
      RED,
      () => ({ api: { endpoint: 'https://127.0.0.1.evil.example', tokenFile: token } }),
      { org: 'red' },
    ],
    [
      'for entries with claims of others',
      { ...RED, org: ['red', 'blue'] },
      () => ({ api: { endpoint: upstream.url, tokenFile: token } }),
      { org: 'blue' },
    ],
    [
      'of a root without hosts',
      RED,
      () => ({ api: { endpoint: upstream.url, tokenFile: hostless } }),
      { org: 'red' },
    ],
    [
      'a password, to another host',
      RED,
      () => ({
        git: { repository: 'https://git.example/a', auth: { username: 'a', passwordFile: password } },
      }),
      { org: 'red' },
    ],
    [
      'a key, to another host',
      RED,
      () => ({
        git: {
          repository: 'git@git.example:a',
          auth: { privateKeyFile: password, knownHostsFile: password },
        },
      }),
      { org: 'red' },
    ],
  ])('are refused: %s', async (_what, caller, settings, claims) => {
    expectRefused(await put(caller, 'refused', settings(), claims), 400, 'path_not_allowed');
    expect(upstream.requests).toEqual([]);
  });

  it('may be a password or an ssh key for the hosts of their root', async () => {
    const auth = { privateKeyFile: password, knownHostsFile: password };
    const ssh = { git: { repository: 'git@127.0.0.1:a', auth } };
    expect((await put(RED, 'ssh', ssh, { org: 'red' })).status).toBe(201);
    const http = {
      git: { repository: `${upstream.url}/a`, auth: { username: 'a', passwordFile: password } },
    };
    expect((await put(RED, 'http', http, { org: 'red' })).status).toBe(201);
  });

  it('are refused with a list of the allowed hosts', async () => {
    const sentence = async (tokenFile: string) =>
      (
        (await put(RED, 'refused', { api: { endpoint: elsewhere(), tokenFile } }, { org: 'red' })).json as {
          error: string;
        }
      ).error;
    expect(await sentence(token)).toMatch(/only to 127\.0\.0\.1$/);
    expect(await sentence(hostless)).toMatch(
      /^Secrets below this directory cannot be sent to any host: .* hosts/,
    );
  });

  it("are checked again in each run: the root's hosts and the resolved path", async () => {
    const mine = folder.write('red/mine', TOKEN);
    const settings = { api: { endpoint: upstream.url, tokenFile: mine } };
    expect((await put(RED, 'again', settings, { org: 'red' })).status).toBe(201);
    expect(await service.synced('again')).toMatchObject({ status: 'complete' });
    await service.restart((edited) => edited.configuration(roots(['registry.red.example'])));
    upstream.pages();
    const refused = await service.synced('again');
    expect(refused).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/mine is not allowed: .*only to registry\.red\.example/),
    });
    await service.restart((edited) => edited.configuration(roots(['127.0.0.1'])));
    renameSync(mine, `${mine}-before`);
    symlinkSync(hostless, mine);
    expect((await service.synced('again')).error).toMatch(/mine is not allowed/);
    expect(upstream.pages().filter(({ authorization }) => authorization !== undefined)).toEqual([]);
    unlinkSync(mine);
    writeFileSync(mine, TOKEN);
    expect(await service.synced('again')).toMatchObject({ status: 'complete' });
  });

  it('may go to any host with the short form adminFileRoot', async () => {
    await service.restart((edited) =>
      edited.configuration({ adminFileRoots: undefined, adminFileRoot: folder.path }),
    );
    const settings = { api: { endpoint: elsewhere(), tokenFile: token } };
    expect((await put(BLUE, 'short', settings, { org: 'blue' })).status).toBe(201);
    expect(await service.synced('short')).toMatchObject({ status: 'complete' });
  });
});
