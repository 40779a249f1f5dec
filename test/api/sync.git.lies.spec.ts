import { createServer } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { GitRemote } from '../../dist/git/git-remote.js';
import { FetchError } from '../../dist/outbound/fetch-error.js';
import { aSkill } from '../support/documents.js';
import { connectionTo } from '../support/git-connections.js';
import { watchGitMemory } from '../support/git-memory.js';
import { aGitServer } from '../support/git-server.js';
import { aFileOf, aTemporaryDirectory, namesIn } from '../support/git-service.js';
import { endlessPack, lying, manyRefs, packet, packUris } from '../support/lying-git-server.js';
import { listensMeanwhile, urlOf } from '../support/loopback.js';
import { aName, entryAt } from '../support/publishing.js';
import { aService } from '../support/service.js';

const MIB = 1024 * 1024;
const leftovers = aTemporaryDirectory();

describe('a Git server that lies', () => {
  const git = aGitServer().runs();
  const repository = git.repository('acme');
  let commit = '';
  /** Requests to an address that the Git server specifies. */
  const asked: string[] = [];
  const victim = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.end('secret');
  });
  listensMeanwhile(victim);
  const service = aService()
    .source('published', { kind: 'managed' })
    .configuration({ content: { fetch: { hosts: ['127.0.0.1'] } } });
  beforeAll(async () => {
    commit = await repository.commit({
      'registry.json': aFileOf('one'),
      'SKILL.md': '---\nname: one\ndescription: A skill\n---\n',
    });
    service
      .source('main', { kind: 'git', settings: { repository: git.url('acme'), branch: 'main' } })
      .registry('main', { sources: ['main'] });
  });
  service.runs();

  it('is read while it responds honestly by the same protocol', async () => {
    git.injectFault = lying(repository, commit, {});
    expect(await service.synced('main')).toMatchObject({ status: 'complete', error: null });
    expect(await namesIn(service)).toEqual(['one']);
  });

  it.each(['a source', 'content'])('cannot make us contact addresses of its choice: %s', async (what) => {
    const next = await repository.commit({ 'registry.json': aFileOf('one', 'two') });
    git.injectFault = lying(repository, next, { sections: packUris(`${urlOf(victim)}/metadata`) });
    if (what === 'a source')
      expect(await service.synced('main')).toMatchObject({
        status: 'failed',
        error: expect.stringMatching(/its server points to packs at other addresses, which are not fetched$/),
      });
    else {
      const name = aName('io.acme');
      const packages = [{ registryType: 'git', url: git.url('acme'), commit: next }];
      expect((await service.post('/v1/entries', { skill: aSkill(name, '1.0.0', { packages }) })).status).toBe(
        201,
      );
      await expect
        .poll(async () => JSON.stringify((await service.get(entryAt('skill', name, '/versions/1.0.0'))).json))
        .toMatch(/points to packs at other addresses/);
    }
    expect(asked).toEqual([]);
    await expect.poll(leftovers).toEqual([]);
  });

  it.each([
    'Authentication failed',
    'The requested URL returned error: 404',
    "no\nfatal: Authentication failed for 'https://git.example/'",
    'no\nremote: no\nfatal: unable to access: Could not resolve host',
    'Host key verification failed',
  ])('cannot influence our explanation with its error: %s', async (words) => {
    git.injectFault = (_request, response) =>
      response
        .writeHead(200, { 'Content-Type': 'application/x-git-upload-pack-advertisement' })
        .end(
          Buffer.concat([packet('# service=git-upload-pack\n'), Buffer.from('0000'), packet(`ERR ${words}`)]),
        );
    const settings = { repository: git.url('acme'), branch: 'main' };
    const remote = await GitRemote.open(await connectionTo(settings, 'config'), new AbortController().signal);
    await expect(remote.remoteCommit(settings)).rejects.toThrow(
      new FetchError(`${git.url('acme')}: the server said: ${words.replaceAll('\n', ' ')}`),
    );
    await remote.close();
  });

  it('is quoted as one line of at most 200 printable characters', async () => {
    git.injectFault = (_request, response) =>
      response
        .writeHead(200, { 'Content-Type': 'application/x-git-upload-pack-advertisement' })
        .end(
          Buffer.concat([
            packet('# service=git-upload-pack\n'),
            Buffer.from('0000'),
            packet(`ERR a\u202eb\u0007c\n${'x'.repeat(3_000)}`),
          ]),
        );
    const { error = '' } = await service.synced('main');
    expect(error.slice(error.indexOf('the server said'))).toMatch(/^the server said: a b.c x{190,194}$/);
  });

  it('cannot fill the memory with references', async () => {
    git.injectFault = lying(repository, commit, { refs: manyRefs(commit, 600 * MIB) });
    const memory = watchGitMemory();
    const { error } = await service.synced('main');
    expect(error).toMatch(/takes too much memory: it has too many references or objects/);
    expect(await memory.peakBytes()).toBeLessThan(256 * MIB);
  });

  it('cannot make us inflate a pack for minutes', async () => {
    git.injectFault = lying(repository, commit, { pack: endlessPack() });
    const settings = { repository: git.url('acme'), branch: 'main' };
    const signal = new AbortController().signal;
    const remote = await GitRemote.open(await connectionTo(settings, 'config'), signal, { cpuSeconds: 1 });
    await expect(remote.fetchCommit(settings)).rejects.toThrow(
      /its pack is damaged, or takes too much processor time to unpack$/,
    );
    await remote.close();
    await expect.poll(leftovers).toEqual([]);
  });
});
