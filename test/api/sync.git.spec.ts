import { describe, expect, it } from 'vitest';
import type { GitRepository } from '../support/git-repository.js';
import { aGitServer } from '../support/git-server.js';
import { aFileOf, aGitSource, aTemporaryDirectory } from '../support/git-service.js';
import { aService } from '../support/service.js';

const leftovers = aTemporaryDirectory();
const git = aGitServer().runs();
const service = aService();
const unchanged = { status: 'complete', error: null };

const path = 'catalogue/servers.json';
const branch = aGitSource(service, git, 'branch', async (repository) => {
  await repository.commit({ 'registry.json': aFileOf('not-this'), [path]: aFileOf('one') });
  return { branch: 'main', path };
});
const standard = aGitSource(service, git, 'standard', async (repository) => {
  await repository.commit({ 'registry.json': aFileOf('main') });
  await repository.commit({ 'registry.json': aFileOf('next') }, { branch: 'next' });
  return {};
});
const putTag = (repository: GitRepository, ...options: string[]) =>
  repository.git('-c', 'user.name=x', '-c', 'user.email=x@x', 'tag', '--force', ...options, 'v1', 'main');
const tag = aGitSource(service, git, 'tag', async (repository) => {
  await repository.commit({ 'registry.json': aFileOf('one') });
  putTag(repository, '--annotate', '--message=one');
  await repository.commit({ 'registry.json': aFileOf('two') });
  await repository.commit({ 'registry.json': aFileOf('branch') }, { branch: 'v1' });
  return { tag: 'v1' };
});
const pinned = aGitSource(service, git, 'pinned', async (repository) => {
  const commit = await repository.commit({ 'registry.json': aFileOf('one') });
  await repository.commit({ 'registry.json': aFileOf('two') });
  return { commit };
});
const sha256 = aGitSource(
  service,
  git,
  'sha256',
  async (repository) => {
    await repository.commit({ 'registry.json': aFileOf('one') });
    return { branch: 'main' };
  },
  'sha256',
);
const complete = aGitSource(service, git, 'complete', async (repository) => {
  repository.configure('uploadpack.allowFilter', 'false');
  await repository.commit({ 'registry.json': aFileOf('one'), other: 'x' });
  return { branch: 'main' };
});
service.runs();

describe('a branch', () => {
  const { repository, lsRemote, requests, synced, names, reads } = branch;

  it('is read', async () => {
    expect(await synced()).toMatchObject(unchanged);
    expect(await names()).toEqual(['one']);
  });

  it('costs one ls-remote while its commit is unchanged', async () => {
    requests();
    expect(await synced()).toMatchObject(unchanged);
    expect(requests()).toEqual(lsRemote);
  });

  it('is followed to its next commit', async () => {
    await repository.commit({ [path]: aFileOf('one', 'two') });
    expect((await synced()).counts).toMatchObject({ added: 1, unchanged: 1 });
    expect(await names()).toEqual(['one', 'two']);
  });

  it('is followed after a force-push', async () => {
    const [first = ''] = repository.git('rev-list', '--reverse', 'main').split('\n');
    repository.git('update-ref', 'refs/heads/main', first);
    expect((await synced()).counts).toMatchObject({ removed: 1, unchanged: 1 });
    expect(await names()).toEqual(['one']);
    repository.git('update-ref', '-d', 'refs/heads/main');
    await repository.commit({ [path]: aFileOf('unrelated') });
    await synced();
    expect(await names()).toEqual(['unrelated']);
  });

  it('is not read again for a commit that leaves the file unchanged', async () => {
    await repository.commit({ [path]: aFileOf('unrelated'), other: 'x'.repeat(100_000) });
    requests();
    expect(await synced()).toMatchObject(unchanged);
    expect(requests()).toEqual([...lsRemote, ...lsRemote, lsRemote[1]]);
    await synced();
    expect(requests()).toEqual(lsRemote);
  });

  it('is read again when the settings or the filter change', async () => {
    await service.reload(
      () => void reads({ branch: 'main', path }, { names: { exclude: ['io.acme/unrelated'] } }),
    );
    expect(await synced()).toMatchObject(unchanged);
    expect(await names()).toEqual([]);
  });
});

describe('the default branch', () => {
  const { repository, lsRemote, requests, synced, names } = standard;

  it('is read, with registry.json, by default', async () => {
    await synced();
    expect(await names()).toEqual(['main']);
    requests();
    await synced();
    expect(requests()).toEqual(lsRemote);
  });

  it('may change', async () => {
    repository.git('symbolic-ref', 'HEAD', 'refs/heads/next');
    await synced();
    expect(await names()).toEqual(['next']);
  });
});

describe('a tag', () => {
  const { repository, lsRemote, requests, synced, names } = tag;

  it('is read if annotated, and not confused with a branch of the same name', async () => {
    await synced();
    expect(await names()).toEqual(['one']);
    requests();
    await synced();
    expect(requests()).toEqual(lsRemote);
  });

  it('may be moved, and may be lightweight', async () => {
    putTag(repository);
    await synced();
    expect(await names()).toEqual(['two']);
  });

  it('that is deleted is reported as missing', async () => {
    repository.git('tag', '--delete', 'v1');
    expect((await synced()).error).toMatch(/: there is no tag v1; was it deleted\?$/);
    expect(await names()).toEqual(['two']);
  });
});

describe('a commit', () => {
  const { requests, synced, names, reads } = pinned;

  it('is read once and never requested again', async () => {
    await synced();
    expect(await names()).toEqual(['one']);
    requests();
    expect(await synced()).toMatchObject(unchanged);
    expect(requests()).toEqual([]);
  });

  it('that does not exist is reported as missing', async () => {
    await service.reload(() => void reads({ commit: '1'.repeat(40) }));
    expect((await synced()).error).toMatch(/: the server said: upload-pack: not our ref 1{40}$/);
    expect(await names()).toEqual(['one']);
  });
});

it('a SHA-256 repository is read', async () => {
  expect(await sha256.synced()).toMatchObject(unchanged);
  expect(await sha256.names()).toEqual(['one']);
});

describe('a server that sends complete snapshots only', () => {
  const { repository, synced, names } = complete;

  it('is read', async () => {
    expect(await synced()).toMatchObject(unchanged);
    expect(await names()).toEqual(['one']);
  });

  it('is read when it advertises filters and refuses them', async () => {
    repository.configure('uploadpack.allowFilter', 'true');
    repository.configure('uploadpackfilter.allow', 'false');
    await repository.commit({ 'registry.json': aFileOf('two') });
    expect(await synced()).toMatchObject(unchanged);
    expect(await names()).toEqual(['two']);
  });
});

it('syncs leave nothing in the temporary directory', () => expect.poll(leftovers).toEqual([]));
