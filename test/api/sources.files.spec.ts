import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, symlinkSync, truncateSync, unlinkSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { expectRefused } from '../support/matchers.js';
import { outcomeOf, serversIn } from '../support/answers.js';
import { ACME_ADMIN, ACME_DATA, SUPER_ADMIN } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import type { Reply } from '../support/http.js';
import { aService } from '../support/service.js';

const claims = { org: 'acme' };
const reading = (path: string) => ({ file: { path }, syncPolicy: { interval: '1h' }, claims });

describe('files of API-made sources', () => {
  const root = aFolder();
  const outside = aFolder();
  const good = root.catalogue('good', [aServer('io.acme/good')]);
  const secret = outside.catalogue('secret', [aServer('io.acme/secret')]);
  mkdirSync(root.file('deep/er'), { recursive: true });
  root.catalogue('deep/er/deep', [aServer('io.acme/deep')]);
  symlinkSync(good, root.file('inside.json'));
  symlinkSync(secret, root.file('leaves.json'));
  symlinkSync(outside.path, root.file('leaves'));
  symlinkSync(root.file('leaves.json'), root.file('leaves-twice.json'));
  symlinkSync(outside.file('comes.json'), root.file('dangles.json'));
  execFileSync('mkfifo', [root.file('pipe.json')]);
  truncateSync(root.write('large.json', ''), 64 * 1024 * 1024 + 1);
  const neighbour = aFolder();
  renameSync(neighbour.path, `${root.path}-neighbour`);
  const neighbours = `${root.path}-neighbour/secret.json`;

  const service = aService({ mode: 'full' })
    .source('tools', { claims, servers: [aServer('io.acme/a')] })
    .registry('tools', { sources: ['tools'], claims })
    .configuration({ adminFileRoot: root.path })
    .runs();
  const admin = () => service.as(ACME_ADMIN);

  it.each([
    ['a file in the root', good, 'io.acme/good'],
    ['a file in a subdirectory', root.file('deep/er/deep.json'), 'io.acme/deep'],
    ['a symlink within the root', root.file('inside.json'), 'io.acme/good'],
    ['a dotted path within the root', `${root.path}/deep/../good.json`, 'io.acme/good'],
    ['a relative path', 'deep/er/deep.json', 'io.acme/deep'],
  ])('are allowed: %s', async (what, path, shown) => {
    const name = what.replaceAll(' ', '-');
    expect(outcomeOf(await admin().put(`/v1/sources/${name}`, reading(path)))).toBe('201');
    await admin().put(`/v1/registries/${name}`, { sources: [name] });
    expect(await service.synced(name)).toMatchObject({ status: 'complete', error: null });
    expect(serversIn(await service.as(ACME_DATA).get(`/registry/${name}/v0.1/servers`))).toEqual([shown]);
  });

  const forbidden: [string, string][] = [
    ['a file outside', secret],
    ['a missing file outside', outside.file('nothing.json')],
    ['a system file', '/etc/passwd'],
    ["the server's environment", '/proc/self/environ'],
    ['a path out of the root', `${root.path}/../${basename(outside.path)}/secret.json`],
    ['a long path out of the root', `${root.path}/deep/er/../../../${basename(outside.path)}/secret.json`],
    ['a relative path out of the root', `../${basename(outside.path)}/secret.json`],
    ['a relative path out of a subdirectory', `deep/../../${basename(outside.path)}/secret.json`],
    ['the root itself', root.path],
    ['the root itself, as a dot', '.'],
    ['the parent directory', dirname(root.path)],
    ['a directory whose name has the root as prefix', neighbours],
    ['a symlink out of the root', root.file('leaves.json')],
    ['a symlink to a symlink out of the root', root.file('leaves-twice.json')],
    ['a file below a symlink out of the root', root.file('leaves/secret.json')],
    ['a missing file below a symlink out of the root', root.file('leaves/nothing.json')],
    ['the file system root', '//etc/passwd'],
    ['a directory', root.file('deep')],
    ['a named pipe', root.file('pipe.json')],
    ['a file over 64 MiB', root.file('large.json')],
  ];

  it.each(forbidden)('are refused: %s', async (_what, path) => {
    const reply = await admin().put('/v1/sources/refused', reading(path));
    expect(outcomeOf(reply)).toBe('400 path_not_allowed');
    expect(outcomeOf(await admin().get('/v1/sources/refused'))).toBe('404 source_not_found');
  });

  it.each(forbidden)('are refused even to super-admins: %s', async (_what, path) => {
    const reply = await service.as(SUPER_ADMIN).put('/v1/sources/refused', reading(path));
    expect(outcomeOf(reply)).toBe('400 path_not_allowed');
  });

  it.each(forbidden.slice(0, 5))(
    'are refused to a source that read another file before: %s',
    async (_what, path) => {
      await admin().put('/v1/sources/before', reading(good));
      expect(outcomeOf(await admin().put('/v1/sources/before', reading(path)))).toBe('400 path_not_allowed');
      expect((await admin().get('/v1/sources/before')).json).toMatchObject({ file: { path: good } });
    },
  );

  it('do not reveal whether a path exists', async () => {
    const refusal = async (path: string) => {
      const reply: Reply = await admin().put('/v1/sources/refused', reading(path));
      return { ...(reply.json as object), requestId: '' };
    };
    expect(await refusal(secret)).toEqual(await refusal(outside.file('nothing.json')));
    expect(await refusal('/etc/passwd')).toEqual(await refusal('/etc/no-such-file'));
    expect(await refusal(root.file('leaves/secret.json'))).toEqual(
      await refusal(root.file('leaves/nothing.json')),
    );
    expect(await refusal('/etc')).toEqual(await refusal('/etc/shadow'));
  });

  it('may be created later: until then the sync reports a missing file', async () => {
    expect(outcomeOf(await admin().put('/v1/sources/later', reading(root.file('later.json'))))).toBe('201');
    const missing = await service.synced('later');
    expect(missing).toMatchObject({ status: 'failed' });
    expect(missing.error).toMatch(/there is no such file/);
    root.catalogue('later', [aServer('io.acme/later')]);
    expect(await service.synced('later')).toMatchObject({ status: 'complete', error: null });
  });

  it('cannot be created later through a dangling symlink', async () => {
    const dangling = await admin().put('/v1/sources/dangles', reading(root.file('dangles.json')));
    expectRefused(dangling, 400, 'path_not_allowed');
    expect((await admin().put('/v1/sources/dangles', reading(root.file('later.json')))).status).toBe(201);
  });

  it.each([
    ['a symlink to a file outside', () => symlinkSync(secret, root.file('swapped.json'))],
    ['a directory', () => mkdirSync(root.file('swapped.json'))],
    ['a named pipe', () => execFileSync('mkfifo', [root.file('swapped.json')])],
    ['a file over 64 MiB', () => truncateSync(root.write('swapped.json', ''), 64 * 1024 * 1024 + 1)],
  ])('cannot become %s: the sync fails with the reason and keeps the entries', async (what, swap) => {
    const name = `swapped-${what.replaceAll(/\W/g, '-').toLowerCase()}`;
    const path = root.catalogue('swapped', [aServer('io.acme/kept')]);
    await admin().put(`/v1/sources/${name}`, reading(path));
    await admin().put(`/v1/registries/${name}`, { sources: [name] });
    await service.synced(name);
    renameSync(path, `${path}.${name}`);
    swap();
    try {
      const report = await service.synced(name);
      expect(report.status).toBe('failed');
      expect(report.error).toMatch(/below an adminFileRoots entry|not a regular file|larger than 64 MiB/);
      expect(serversIn(await service.as(ACME_DATA).get(`/registry/${name}/v0.1/servers`))).toEqual([
        'io.acme/kept',
      ]);
      expect((await admin().get(`/v1/sources/${name}`)).text).not.toContain('io.acme/secret');
    } finally {
      renameSync(path, `${path}.${name}.swapped`);
    }
  });

  it('cannot leave the root when a directory is replaced with a symlink', async () => {
    mkdirSync(root.file('place'));
    root.catalogue('place/secret', [aServer('io.acme/kept')]);
    await admin().put('/v1/sources/moved', reading(root.file('place/secret.json')));
    await admin().put('/v1/registries/moved', { sources: ['moved'] });
    await service.synced('moved');
    renameSync(root.file('place'), root.file('place-before'));
    symlinkSync(outside.path, root.file('place'));
    expect(await service.synced('moved')).toMatchObject({ status: 'failed' });
    expect(serversIn(await service.as(ACME_DATA).get('/registry/moved/v0.1/servers'))).toEqual([
      'io.acme/kept',
    ]);
    unlinkSync(root.file('place'));
  });
});

describe('without adminFileRoot', () => {
  const folder = aFolder();
  const good = folder.catalogue('good', [aServer('io.acme/good')]);
  const service = aService({ mode: 'full' })
    .source('tools', { claims, servers: [aServer('io.acme/a')] })
    .registry('tools', { sources: ['tools'], claims })
    .runs();

  it.each([ACME_ADMIN, SUPER_ADMIN])('no source created by %j can read a file', async (caller) => {
    for (const path of [good, '/etc/passwd', 'good.json', service.fileOf('tools')]) {
      const reply = await service.as(caller).put('/v1/sources/refused', reading(path));
      expect(outcomeOf(reply)).toBe('400 path_not_allowed');
    }
  });

  it('other kinds can be created, and sources of the configuration still read their files', async () => {
    expect(outcomeOf(await service.as(ACME_ADMIN).put('/v1/sources/managed', { managed: {}, claims }))).toBe(
      '201',
    );
    expect(await service.synced('tools')).toMatchObject({ status: 'complete' });
  });

  it('a source created under an earlier adminFileRoot fails at its next sync', async () => {
    await service.restart((described) => described.configuration({ adminFileRoot: folder.path }));
    expect(outcomeOf(await service.as(ACME_ADMIN).put('/v1/sources/made', reading(good)))).toBe('201');
    expect(await service.synced('made')).toMatchObject({ status: 'complete' });
    await service.restart((described) => described.configuration({ adminFileRoot: undefined }));
    const report = await service.synced('made');
    expect(report.status).toBe('failed');
    expect(report.error).toMatch(/adminFileRoot/);
  });
});
