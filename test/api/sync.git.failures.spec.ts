import { rename } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type { GitRepository } from '../support/git-repository.js';
import { aGitServer, type GitServer } from '../support/git-server.js';
import { aFileOf, aTemporaryDirectory, namesIn, readsGit } from '../support/git-service.js';
import { aService } from '../support/service.js';

const leftovers = aTemporaryDirectory();
const path = 'catalogue/registry.json';
const pointer = 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n';
const link = (target: string) => ({ mode: '120000', target }) as const;
const submodule = { mode: '160000', target: '1'.repeat(40) } as const;
type Trouble = (repository: GitRepository, git: GitServer) => unknown;
const answer =
  (status: number, headers = {}, body = ''): Trouble =>
  (_repository, git) => {
    git.injectFault = (_request, response) => response.writeHead(status, headers).end(body);
  };

describe('an unusable repository', () => {
  const git = aGitServer().runs();
  const repository = git.repository('acme');
  const healthy = () => repository.commit({ [path]: aFileOf('stays') });
  const service = readsGit(aService(), git, async () => {
    await healthy();
    return { branch: 'main', path };
  });

  it.each<[string, Trouble, RegExp]>([
    [
      'a deleted branch',
      () => repository.git('update-ref', '-d', 'refs/heads/main'),
      /there is no branch main; was it deleted or renamed\?/,
    ],
    [
      'a missing file',
      () => repository.commit({ a: 'a' }),
      /no file catalogue\/registry\.json in commit [0-9a-f]{12}$/,
    ],
    ['a directory', () => repository.commit({ [`${path}/a`]: 'a' }), /is a directory in commit/],
    ['a symlink', () => repository.commit({ [path]: link('/etc/passwd') }), /is a symbolic link in commit/],
    [
      'a symlinked parent directory',
      () => repository.commit({ catalogue: link('real'), 'real/registry.json': aFileOf('new') }),
      /there is no file/,
    ],
    ['a submodule', () => repository.commit({ [path]: submodule }), /is a submodule in commit/],
    [
      'a submodule as parent directory',
      () => repository.commit({ catalogue: submodule }),
      /there is no file/,
    ],
    ['Git LFS', () => repository.commit({ [path]: pointer }), /is stored in Git LFS/],
    ['an invalid catalog', () => repository.commit({ [path]: '{}' }), /not in the registry format/],
    ['a status of 404', answer(404), /the repository does not exist, or it is private/],
    ['a status of 403', answer(403), /access denied \(403\)/],
    ['a status of 429', answer(429), /refuses further requests/],
    ['a status of 500', answer(500), /its server failed with a 5xx status/],
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
      () => (git.injectFault = (request) => request.socket.destroy()),
      /the connection was closed unexpectedly/,
    ],
  ])('keeps the earlier entries and reports the reason: %s', async (_what, trouble, why) => {
    await healthy();
    expect(await service.synced('main')).toMatchObject({ status: 'complete', attempts: 0, error: null });
    await trouble(repository, git);
    const report = await service.synced('main');
    git.injectFault = undefined;
    expect(report).toMatchObject({ status: 'failed', attempts: 1 });
    expect(report.error).toMatch(why);
    expect(await namesIn(service)).toEqual(['stays']);
    expect(await leftovers()).toEqual([]);
  });

  it('reports a missing repository and recovers', async () => {
    await rename(repository.directory, `${repository.directory}.away`);
    expect((await service.synced('main')).error).toMatch(/the repository does not exist/);
    await rename(`${repository.directory}.away`, repository.directory);
    await repository.commit({ [path]: aFileOf('again') });
    expect(await service.synced('main')).toMatchObject({ status: 'complete', error: null });
    expect(await namesIn(service)).toEqual(['again']);
  });

  it('reports a missing git command', async () => {
    const { PATH } = process.env;
    process.env['PATH'] = '/nowhere';
    const { error } = await service.synced('main').finally(() => (process.env['PATH'] = PATH));
    expect(error).toMatch(/git is not installed: install version/);
  });
});
