import { rename } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GitRemote } from '../../dist/git/git-remote.js';
import { connectionTo } from '../support/git-connections.js';
import { aGitServer, type Misbehave } from '../support/git-server.js';
import { aFileOf, aTemporaryDirectory, namesIn, readsGit } from '../support/git-service.js';
import { aService } from '../support/service.js';

const leftovers = aTemporaryDirectory();
const path = 'catalogue/registry.json';
const pointer = 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n';
type Trouble = () => unknown;
const answer =
  (status: number, headers = {}, body = ''): Misbehave =>
  (_request, response) =>
    response.writeHead(status, headers).end(body);

describe('an unusable repository', () => {
  const git = aGitServer().runs();
  const repository = git.repository('acme');
  const service = readsGit(aService(), git, async () => {
    await repository.commit({ [path]: aFileOf('stays') });
    return { branch: 'main', path };
  });

  it.each<[string, Trouble, RegExp]>([
    [
      'a missing file',
      () => repository.commit({ a: 'a' }),
      /no file catalogue\/registry\.json in commit [0-9a-f]{12}$/,
    ],
    ['Git LFS', () => repository.commit({ [path]: pointer }), /is stored in Git LFS/],
    ['an invalid catalog', () => repository.commit({ [path]: '{}' }), /not in the registry format/],
    [
      'a deleted branch',
      () => repository.git('update-ref', '-d', 'refs/heads/main'),
      /there is no branch main; was it deleted or renamed\?/,
    ],
    ['a status of 500', () => (git.injectFault = answer(500)), /its server failed with a 5xx status/],
  ])('keeps the earlier entries and reports the reason: %s', async (_what, trouble, why) => {
    await trouble();
    const report = await service.synced('main');
    git.injectFault = undefined;
    expect(report.status).toBe('failed');
    expect(report.error).toMatch(why);
    expect(await namesIn(service)).toEqual(['stays']);
    await expect.poll(leftovers).toEqual([]);
  });

  it('reports a missing repository and recovers', async () => {
    await rename(repository.directory, `${repository.directory}.away`);
    const { attempts, error } = await service.synced('main');
    expect(attempts).toBeGreaterThan(0);
    expect(error).toMatch(/the repository does not exist/);
    await rename(`${repository.directory}.away`, repository.directory);
    await repository.commit({ [path]: aFileOf('again') });
    expect(await service.synced('main')).toMatchObject({ status: 'complete', attempts: 0, error: null });
    expect(await namesIn(service)).toEqual(['again']);
  });

  it('reports a missing git command', async () => {
    const { PATH } = process.env;
    process.env['PATH'] = '/nowhere';
    const { error } = await service.synced('main').finally(() => (process.env['PATH'] = PATH));
    expect(error).toMatch(/git is not installed: install version/);
  });
});

describe('the server of a repository', () => {
  const git = aGitServer().runs();
  let remote: GitRemote;
  const asked = () => remote.remoteCommit({ repository: remote.url });
  beforeAll(async () => {
    await git.repository('acme').commit({ a: 'a' });
    const connection = await connectionTo({ repository: git.url('acme') }, 'config');
    remote = await GitRemote.open(connection, new AbortController().signal);
  });
  afterAll(() => remote.close());

  it.each<[string, Misbehave, RegExp]>([
    ['404', answer(404), /the repository does not exist, or it is private/],
    ['403', answer(403), /access denied \(403\)/],
    ['429', answer(429), /refuses further requests/],
    ['500', answer(500), /its server failed with a 5xx status/],
    ['a redirect', answer(302, { Location: 'http://127.0.0.1:1/' }), /redirects to another address/],
    [
      'a web page',
      answer(
        200,
        { 'Content-Type': 'text/html' },
        '<!doctype html>\n<title>Sign in</title>\n<h1>Please sign in</h1>\n',
      ),
      /does not support the smart Git protocol/,
    ],
    [
      'a dropped connection',
      (request) => void request.socket.destroy(),
      /the connection was closed unexpectedly/,
    ],
  ])('may fail with %s, which is explained', async (_what, fault, why) => {
    git.injectFault = fault;
    await expect(asked()).rejects.toThrow(why);
  });

  it('may respond', async () => {
    git.injectFault = undefined;
    expect(await asked()).toMatch(/^[0-9a-f]{40}$/);
  });
});
