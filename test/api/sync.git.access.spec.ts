import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { GitConnection } from '../../dist/git/git-connection.js';
import { GitRemote } from '../../dist/git/git-remote.js';
import { connectionTo } from '../support/git-connections.js';
import { aGitServer } from '../support/git-server.js';
import { aFileOf, aTemporaryDirectory, namesIn, readsGit } from '../support/git-service.js';
import { expectRefused } from '../support/matchers.js';
import { keepSecret } from '../support/secrets.js';
import { aService } from '../support/service.js';

const leftovers = aTemporaryDirectory();
const syncPolicy = { interval: '1h' };
const password = keepSecret('a password: of "some" length\\ %41 é');
const never = new AbortController().signal;

describe('a repository with a password', () => {
  const git = aGitServer().runs();
  git.account = { username: 'reader', password };
  const service = aService();
  readsGit(service, git, async () => {
    await git.repository('acme').commit({ 'registry.json': aFileOf('one') });
    return { branch: 'main', auth: { username: 'reader', passwordFile: write(`${password}\n`) } };
  });
  const write = (content: string) => {
    const file = join(process.env['TMPDIR'] ?? '', 'password');
    writeFileSync(file, content);
    return file;
  };

  it('is read without a first unauthenticated request', async () => {
    expect(await service.synced('main')).toMatchObject({ status: 'complete', error: null });
    expect(await namesIn(service)).toEqual(['one']);
    git.takeRequests();
    await service.synced('main');
    expect(git.takeRequests()).toHaveLength(2);
  });

  it.each([
    [
      'a wrong one',
      keepSecret('a wrong one of equal length'),
      /: the user name or the password was refused$/,
    ],
    ['an empty one', '\n', /^git\.auth\.passwordFile is empty$/],
    ['two lines', keepSecret('the first line\nthe second line'), /must be one line of text$/],
  ])('reports a rejected password: %s', async (_what, other, why) => {
    write(other);
    const report = await service.synced('main');
    write(password);
    expect(report).toMatchObject({ status: 'failed', error: expect.stringMatching(why) });
    expect(await namesIn(service)).toEqual(['one']);
    expect(await service.synced('main')).toMatchObject({ status: 'complete' });
    await expect.poll(leftovers).toEqual([]);
  });

  it('uses a new password without a restart', async () => {
    const changed = keepSecret('the next password of length');
    git.account = { username: 'reader', password: changed };
    expect((await service.synced('main')).error).toMatch(/was refused$/);
    write(changed);
    expect(await service.synced('main')).toMatchObject({ status: 'complete' });
  });

  it('reports that a password is required', async () => {
    await service.reload((edited) =>
      edited.source('main', { kind: 'git', settings: { repository: git.url('acme') } }),
    );
    expect((await service.synced('main')).error).toMatch(/it requires a user name and a password/);
    expect(await namesIn(service)).toEqual(['one']);
  });

  it('hides the password even when the server echoes it', async () => {
    git.injectFault = ({ headers }, response) => {
      const echo = `ERR ${headers.authorization} ${password}`;
      const length = (Buffer.byteLength(echo) + 4).toString(16).padStart(4, '0');
      response
        .writeHead(200, { 'Content-Type': 'application/x-git-upload-pack-advertisement' })
        .end(`001e# service=git-upload-pack\n0000${length}${echo}`);
    };
    const auth = { username: 'reader', passwordFile: write(password) };
    const settings = { repository: git.url('acme'), auth };
    await service.reload((edited) => edited.source('main', { kind: 'git', settings }));
    const { error } = await service.synced('main');
    expect(error).toMatch(/: the server said: Basic … …$/);
  });
});

describe('a repository of an API-made source', () => {
  const git = aGitServer().runs();
  const service = aService().source('other', { servers: [] }).runs();
  const put = (settings: object) => service.put('/v1/sources/made', { git: settings, syncPolicy });
  beforeAll(async () => {
    await git.repository('acme').commit({ 'registry.json': aFileOf('one') });
  });

  it('is not fetched from private addresses, with the same error as for an unknown name', async () => {
    for (const host of [
      '127.0.0.1',
      'localhost',
      '[::1]',
      '0x7f.1',
      '[::ffff:127.0.0.1]',
      'nowhere.invalid',
    ]) {
      const repository = `http://${host}:${git.port}/acme.git`;
      expect((await put({ repository })).status).toBeLessThan(300);
      expect((await service.synced('made')).error).toMatch(
        /acme\.git: its host is unknown, at a private address, or refuses connections; the server log has the cause$/,
      );
    }
    expect(git.takeRequests()).toEqual([]);
    // The log is written after the state.
    for (const cause of [/127\.0\.0\.1 is at a private address/, /its host name could not be resolved/])
      await expect.poll(() => JSON.stringify(service.logs())).toMatch(cause);
  });

  it.each([
    'ext::sh -c touch% /tmp/x',
    '--upload-pack=touch /tmp/x',
    'file:///etc',
    '/etc',
    'git://127.0.0.1/a',
    'http://reader:secret@127.0.0.1/a',
    'http://-oProxyCommand=x/a b',
  ])('is refused with the repository %s', async (repository) => {
    expectRefused(await put({ repository }), 400, 'invalid_body');
    await expect(connectionTo({ repository }, 'config')).rejects.toThrow(
      /is not an http, https or ssh address/,
    );
  });

  it.each([
    { branch: '--upload-pack=x' },
    { tag: '-x' },
    { branch: 'a b' },
    { commit: '--help' },
    { path: '../x' },
  ])('is refused with %j', async (settings) => {
    expectRefused(await put({ repository: git.url('acme'), ...settings }), 400, 'invalid_body');
  });

  it('cannot use a password file without adminFileRoot', async () => {
    const auth = { username: 'a', passwordFile: '/etc/hostname' };
    expectRefused(await put({ repository: git.url('acme'), auth }), 400, 'path_not_allowed');
    const made = connectionTo({ repository: git.url('acme'), auth }, 'api', { adminAllowPrivateIP: true });
    await expect(made).rejects.toThrow(/is not allowed/);
  });

  it('may be fetched from private addresses when allowed, with a file below adminFileRoot', async () => {
    const root = join(process.env['TMPDIR'] ?? '', 'root');
    mkdirSync(root);
    writeFileSync(join(root, 'password'), password);
    git.account = { username: 'reader', password };
    await service.restart((edited) =>
      edited.configuration({ adminAllowPrivateIP: true, adminFileRoot: root }),
    );
    const auth = { username: 'reader', passwordFile: join(root, 'password') };
    expect((await put({ repository: git.url('acme'), auth })).status).toBe(200);
    expect(await service.synced('made')).toMatchObject({ status: 'complete', counts: { entries: 1 } });
    expectRefused(
      await put({ repository: git.url('acme'), auth: { ...auth, passwordFile: '/etc/hostname' } }),
      400,
      'path_not_allowed',
    );
  });
});

describe('the address of a repository', () => {
  const git = aGitServer().runs();
  beforeAll(async () => {
    await git.repository('acme').commit({ 'registry.json': aFileOf('one') });
  });

  it('is resolved once: the checked address is the one git contacts', async () => {
    const way = await connectionTo({ repository: 'https://Git.Example./acme.git' }, 'api', {
      resolve: (_host, done) =>
        done(null, [
          { address: '93.184.216.34', family: 4 },
          { address: '2606:2800:220:1::1', family: 6 },
        ]),
    });
    expect(way).toMatchObject({ url: 'https://git.example/acme.git', isPinned: true });
    expect(way.configuration[0]).toEqual([
      'http',
      { curloptResolve: 'git.example:443:93.184.216.34,[2606:2800:220:1::1]' },
    ]);
  });

  it('is used by git', async () => {
    const way: GitConnection = {
      ...(await connectionTo({ repository: `http://git.example:${git.port}/acme.git` }, 'config')),
      configuration: [['http', { curloptResolve: `git.example:${git.port}:127.0.0.1` }]],
      isPinned: true,
    };
    const remote = await GitRemote.open(way, never);
    expect(await remote.remoteCommit({ repository: way.url })).toMatch(/^[0-9a-f]{40}$/);
    await remote.close();
  });

  it.each(['ext::true', 'file:///etc', 'ssh://-oProxyCommand=true/a', 'git://127.0.0.1/a'])(
    'cannot switch to another protocol: %s',
    async (url) => {
      const way = {
        url,
        protocol: 'http',
        configuration: [],
        secrets: [],
        proxySecrets: [],
        files: {},
        path: process.env['PATH'],
        hidesAddress: false,
        isPinned: false,
      };
      const remote = await GitRemote.open(way, never);
      const asked = remote.remoteCommit({ repository: url });
      await expect(asked).rejects.toThrow(/transport '\w+' not allowed/);
      await remote.close();
    },
  );
});

describe('a server that never responds', () => {
  const git = aGitServer().runs();
  git.injectFault = () => undefined;
  const open = async (signal: AbortSignal, limits: { lsRemoteMs?: number; totalMs?: number }) => {
    const settings = { repository: git.url('acme'), branch: 'main' };
    const remote = await GitRemote.open(await connectionTo(settings, 'config'), signal, limits);
    try {
      return await remote.remoteCommit(settings);
    } finally {
      await remote.close();
    }
  };

  it('is abandoned at the timeout', async () => {
    const opened = [{ lsRemoteMs: 200 }, { totalMs: 500 }].map((limits) => open(never, limits));
    for (const { status, reason } of (await Promise.allSettled(opened)) as PromiseRejectedResult[])
      expect([status, String(reason)]).toEqual([
        'rejected',
        expect.stringMatching(/: it did not respond in time$/),
      ]);
    await expect.poll(leftovers).toEqual([]);
  });

  it('is abandoned immediately on stop, with all git subprocesses', async () => {
    // The commands of the previous test may have ended before they sent a request.
    git.takeRequests();
    const stop = new AbortController();
    const waiting = open(stop.signal, {});
    while (git.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    const connections = () => git.connections();
    expect(await connections()).toBeGreaterThan(0);
    stop.abort();
    await expect(waiting).rejects.toThrow(/abort/i);
    await expect.poll(connections).toBe(0);
    await expect.poll(leftovers).toEqual([]);
  });
});
