import { describe, expect, it } from 'vitest';
import { aGitServer } from '../support/git-server.js';
import { aFileOf, aTemporaryDirectory, namesIn, readsGit } from '../support/git-service.js';
import { aService } from '../support/service.js';

const leftovers = aTemporaryDirectory();
const LS_REMOTE = ['GET /acme.git/info/refs', 'POST /acme.git/git-upload-pack'];
const unchanged = { status: 'complete', error: null };

describe('a branch', () => {
  const git = aGitServer().runs();
  const repository = git.repository('acme');
  const path = 'catalogue/servers.json';
  const service = readsGit(aService(), git, async () => {
    await repository.commit({ 'registry.json': aFileOf('not-this'), [path]: aFileOf('one') });
    return { branch: 'main', path };
  });

  it('is read', async () => {
    expect(await service.synced('main')).toMatchObject(unchanged);
    expect(await namesIn(service)).toEqual(['one']);
  });

  it('costs one ls-remote while its commit is unchanged', async () => {
    git.takeRequests();
    expect(await service.synced('main')).toMatchObject(unchanged);
    expect(git.takeRequests()).toEqual(LS_REMOTE);
  });

  it('is followed to its next commit', async () => {
    await repository.commit({ [path]: aFileOf('one', 'two') });
    expect((await service.synced('main')).counts).toMatchObject({ added: 1, unchanged: 1 });
    expect(await namesIn(service)).toEqual(['one', 'two']);
  });

  it('is followed after a force-push', async () => {
    const [first = ''] = repository.git('rev-list', '--reverse', 'main').split('\n');
    repository.git('update-ref', 'refs/heads/main', first);
    expect((await service.synced('main')).counts).toMatchObject({ removed: 1, unchanged: 1 });
    expect(await namesIn(service)).toEqual(['one']);
    repository.git('update-ref', '-d', 'refs/heads/main');
    await repository.commit({ [path]: aFileOf('unrelated') });
    await service.synced('main');
    expect(await namesIn(service)).toEqual(['unrelated']);
  });

  it('is not read again for a commit that leaves the file unchanged', async () => {
    await repository.commit({ [path]: aFileOf('unrelated'), other: 'x'.repeat(100_000) });
    git.takeRequests();
    expect(await service.synced('main')).toMatchObject(unchanged);
    expect(git.takeRequests()).toEqual([...LS_REMOTE, ...LS_REMOTE, LS_REMOTE[1]]);
    await service.synced('main');
    expect(git.takeRequests()).toEqual(LS_REMOTE);
  });

  it('is read again when the settings or the filter change', async () => {
    await service.restart((edited) =>
      edited.source('main', {
        kind: 'git',
        settings: { repository: git.url('acme'), branch: 'main', path },
        filter: { names: { exclude: ['io.acme/unrelated'] } },
      }),
    );
    expect(await service.synced('main')).toMatchObject(unchanged);
    expect(await namesIn(service)).toEqual([]);
  });

  it('leaves nothing in the temporary directory', async () => expect(await leftovers()).toEqual([]));
});

describe('the default branch', () => {
  const git = aGitServer().runs();
  const repository = git.repository('acme');
  const service = readsGit(aService(), git, async () => {
    await repository.commit({ 'registry.json': aFileOf('main') });
    await repository.commit({ 'registry.json': aFileOf('next') }, { branch: 'next' });
    return {};
  });

  it('is read, with registry.json, by default', async () => {
    await service.synced('main');
    expect(await namesIn(service)).toEqual(['main']);
    git.takeRequests();
    await service.synced('main');
    expect(git.takeRequests()).toEqual(LS_REMOTE);
  });

  it('may change', async () => {
    repository.git('symbolic-ref', 'HEAD', 'refs/heads/next');
    await service.synced('main');
    expect(await namesIn(service)).toEqual(['next']);
  });
});

describe('a tag', () => {
  const git = aGitServer().runs();
  const repository = git.repository('acme');
  const tag = (name: string, ...more: string[]) =>
    repository.git('-c', 'user.name=x', '-c', 'user.email=x@x', 'tag', '--force', ...more, name, 'main');
  const service = readsGit(aService(), git, async () => {
    await repository.commit({ 'registry.json': aFileOf('one') });
    tag('v1', '--annotate', '--message=one');
    await repository.commit({ 'registry.json': aFileOf('two') });
    await repository.commit({ 'registry.json': aFileOf('branch') }, { branch: 'v1' });
    return { tag: 'v1' };
  });

  it('is read if annotated, and not confused with a branch of the same name', async () => {
    await service.synced('main');
    expect(await namesIn(service)).toEqual(['one']);
    git.takeRequests();
    await service.synced('main');
    expect(git.takeRequests()).toEqual(LS_REMOTE);
  });

  it('may be moved, and may be lightweight', async () => {
    tag('v1');
    await service.synced('main');
    expect(await namesIn(service)).toEqual(['two']);
  });

  it('that is deleted is reported as missing', async () => {
    repository.git('tag', '--delete', 'v1');
    expect((await service.synced('main')).error).toMatch(/: there is no tag v1; was it deleted\?$/);
    expect(await namesIn(service)).toEqual(['two']);
  });
});

describe('a commit', () => {
  const git = aGitServer().runs();
  const repository = git.repository('acme');
  const service = readsGit(aService(), git, async () => {
    const commit = await repository.commit({ 'registry.json': aFileOf('one') });
    await repository.commit({ 'registry.json': aFileOf('two') });
    return { commit };
  });

  it('is read once and never requested again', async () => {
    await service.synced('main');
    expect(await namesIn(service)).toEqual(['one']);
    git.takeRequests();
    expect(await service.synced('main')).toMatchObject(unchanged);
    expect(git.takeRequests()).toEqual([]);
  });

  it('that does not exist is reported as missing', async () => {
    const settings = { repository: git.url('acme'), commit: '1'.repeat(40) };
    await service.restart((edited) => edited.source('main', { kind: 'git', settings }));
    expect((await service.synced('main')).error).toMatch(
      /: the server said: upload-pack: not our ref 1{40}$/,
    );
    expect(await namesIn(service)).toEqual(['one']);
  });
});

describe('a SHA-256 repository', () => {
  const git = aGitServer().runs();
  const repository = git.repository('acme', 'sha256');
  const service = readsGit(aService(), git, async () => {
    await repository.commit({ 'registry.json': aFileOf('one') });
    return { branch: 'main' };
  });

  it('is read', async () => {
    expect(await service.synced('main')).toMatchObject(unchanged);
    expect(await namesIn(service)).toEqual(['one']);
  });
});

describe('a server that sends complete snapshots only', () => {
  const git = aGitServer().runs();
  const repository = git.repository('acme');
  repository.configure('uploadpack.allowFilter', 'false');
  const service = readsGit(aService(), git, async () => {
    await repository.commit({ 'registry.json': aFileOf('one'), other: 'x' });
    return { branch: 'main' };
  });

  it('is read', async () => {
    expect(await service.synced('main')).toMatchObject(unchanged);
    expect(await namesIn(service)).toEqual(['one']);
  });

  it('is read when it advertises filters and refuses them', async () => {
    repository.configure('uploadpack.allowFilter', 'true');
    repository.configure('uploadpackfilter.allow', 'false');
    await repository.commit({ 'registry.json': aFileOf('two') });
    expect(await service.synced('main')).toMatchObject(unchanged);
    expect(await namesIn(service)).toEqual(['two']);
  });
});
