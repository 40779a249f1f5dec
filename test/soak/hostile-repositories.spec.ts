import { expect, it } from 'vitest';
import type { Document } from '../support/documents.js';
import type { Tree } from '../support/git-repository.js';
import { aGitServer } from '../support/git-server.js';
import { aTemporaryDirectory, readsGit } from '../support/git-service.js';
import { aService } from '../support/service.js';

// `test/system/sync.hostile-repositories.spec.ts` tests smaller repositories.
aTemporaryDirectory();
const git = aGitServer().runs();
const repository = git.repository('acme');
const other = git.repository('other');

const marketplace = (...plugins: Document[]): Tree => {
  const kept = { name: 'kept', source: './kept', description: 'd' };
  return {
    '.claude-plugin/marketplace.json': JSON.stringify({
      ...{ name: 'acme', owner: {} },
      plugins: [kept, ...plugins],
    }),
    'kept/commands/go.md': 'Go',
  };
};
const service = readsGit(
  aService().configuration({ content: { fetch: { hosts: ['127.0.0.1'] } } }),
  git,
  async () => {
    await other.commit({ 'README.md': 'x' });
    await repository.commit(marketplace());
    return { namespace: 'io.github.acme' };
  },
);

/** Commits exactly these files, and reads them. */
async function read(tree: Tree) {
  await repository.commit(tree);
  return service.synced('main');
}

it('a marketplace causes few requests, however many plugins in other repositories it lists', async () => {
  const remote = Array.from({ length: 9_999 }, (_, index) => ({
    ...{ name: `remote-${index}`, description: 'd' },
    source: { source: 'url', url: git.url('other'), ref: `branch-${index}` },
  }));
  git.takeRequests();
  const report = await read(marketplace(...remote));
  expect(report).toMatchObject({ status: 'complete', counts: { entries: 1, skipped: 9_999 } });
  expect(report.skipped.at(-1)?.reasons[0]).toMatch(/more than 200 plugins without a sha/);
  const asked = git.takeRequests().filter((request) => request.includes('other.git'));
  expect(asked.length).toBeLessThanOrEqual(400);
  expect(await read(marketplace(...remote, {}))).toMatchObject({
    status: 'failed',
    error: 'The marketplace has more than 10000 plugins, the maximum',
  });
});

it('manifests generated for a marketplace count toward the memory limit', async () => {
  const entries = Array.from({ length: 900 }, (_, index) => ({
    ...{ name: `p${index}`, source: './p', agents: './agents', description: 'd' },
  }));
  const manifest = JSON.stringify({ name: 'p', x: 'x'.repeat(250_000) });
  expect(await read({ ...marketplace(...entries), 'p/plugin.json': manifest })).toMatchObject({
    status: 'failed',
    error: expect.stringMatching(/takes more than \d+ MiB of memory/),
  });
});

it('more than 10,000 skills are excluded', async () => {
  const skills = Array.from({ length: 10_001 }, (_, index) => [
    `s${index}/SKILL.md`,
    `---\nname: s${index}\ndescription: d\n---\n`,
  ]);
  expect(await read(Object.fromEntries(skills) as Tree)).toMatchObject({
    status: 'failed',
    error: expect.stringMatching(/more than 10000 skills/),
  });
});
