import { describe, expect, it, beforeAll } from 'vitest';
import { aCatalogue, aServer } from '../support/documents.js';
import { aGitServer } from '../support/git-server.js';
import { versionsIn } from '../support/matchers.js';
import { aService, type ServiceUnderTest } from '../support/service.js';

const list = async (service: ServiceUnderTest) =>
  versionsIn(await service.get('/registry/main/v0.1/servers?limit=100'));
const catalogue = (...names: string[]) =>
  JSON.stringify(aCatalogue(names.map((name) => aServer(`io.acme/${name}`))));

describe('a branch', () => {
  const git = aGitServer().runs();
  const repository = git.repository('acme');
  const service = aService();
  beforeAll(async () => {
    await repository.commit({ 'README.md': 'x', 'catalogue/registry.json': catalogue('one') });
    service
      .source('main', {
        kind: 'git',
        settings: { repository: git.url('acme'), branch: 'main', path: 'catalogue/registry.json' },
      })
      .registry('main', { sources: ['main'] });
  });
  service.runs();

  it('is read', async () => {
    expect((await service.synced('main')).error).toBe(null);
    expect(await list(service)).toEqual(['io.acme/one@1.0.0']);
  });

  it('costs one ls-remote while its commit is the same', async () => {
    git.takeRequests();
    expect(await service.synced('main')).toMatchObject({ status: 'complete' });
    expect(git.takeRequests()).toEqual(['GET /acme.git/info/refs', 'POST /acme.git/git-upload-pack']);
  });
});
