import { describe, expect, it } from 'vitest';
import { derivedEntries, zipOf } from '../support/derived-entries.js';
import type { Document } from '../support/documents.js';
import type { Tree } from '../support/git-repository.js';
import { aGitServer } from '../support/git-server.js';
import { aTemporaryDirectory, readsGit } from '../support/git-service.js';
import { aService } from '../support/service.js';

const leftovers = aTemporaryDirectory();
const git = aGitServer().runs();
const repository = git.repository('acme');

const skill = (name: string) => `---\nname: ${name}\ndescription: d\n---\n`;
const marketplace = (plugins: readonly unknown[]): Tree => ({
  '.claude-plugin/marketplace.json': JSON.stringify({ name: 'acme', owner: {}, plugins }),
});
const service = readsGit(
  aService().configuration({ content: { fetch: { hosts: ['127.0.0.1'] } } }),
  git,
  async () => {
    await repository.commit(marketplace([{ name: 'first', source: './first', description: 'd' }]));
    return { namespace: 'io.github.acme' };
  },
);

/** Commits exactly these files, and reads them. */
async function read(tree: Tree) {
  await repository.commit(tree);
  return service.synced('main');
}

/** A configuration that references a thousand files, which do not exist. */
const namingHooks = (name: string) =>
  JSON.stringify({
    hooks: Array.from({ length: 1_000 }, (_, index) => `\${CLAUDE_PLUGIN_ROOT}/${name}-${index}`),
  });

const kept = ['kept', 'plugin'] as const;
const listed = (...more: Document[]): Tree => ({
  ...marketplace([{ name: 'kept', source: './kept', description: 'd' }, ...more]),
  'kept/commands/go.md': 'Go',
});

describe('a hostile marketplace', () => {
  it('cannot change objects through a manifest', async () => {
    const manifest =
      '{"name": "kept", "__proto__": {"polluted": true}, "description": "d", "commands": "./commands"}';
    const entry = { name: 'kept', source: './kept', agents: './agents', description: 'd' };
    await read({
      ...marketplace([entry]),
      'kept/.claude-plugin/plugin.json': manifest,
      'kept/commands/go.md': 'Go',
    });
    const { kept: plugin } = await derivedEntries(service, kept[1]);
    expect(plugin?.content.status).toBe('stored');
    expect(plugin && (await zipOf(service, kept[1], plugin))).toContain('"__proto__"');
    expect(({} as Document)['polluted']).toBeUndefined();
    expect(plugin?.document).not.toHaveProperty('polluted');
  });

  it.each<[what: string, entry: Document, tree: Tree, reason: RegExp]>([
    ['a path out of the repository', { source: '../../etc' }, {}, /points outside the repository/],
    [
      'a link in place of a folder',
      { source: './link' },
      { link: { mode: '120000', target: 'kept' } },
      /symbolic link/,
    ],
    [
      'a path through a link',
      { source: './link/x' },
      { link: { mode: '120000', target: 'kept' } },
      /there is no folder/,
    ],
    ['a submodule', { source: './sub' }, { sub: { mode: '160000', target: 'a'.repeat(40) } }, /submodule/],
    ['a file', { source: './file' }, { file: 'x' }, /file instead of a folder/],
    [
      'a broken manifest',
      { source: './p' },
      { 'p/.claude-plugin/plugin.json': '{' },
      /must be a JSON object/,
    ],
    [
      'a manifest that is nested deeply',
      { source: './p' },
      { 'p/.claude-plugin/plugin.json': '['.repeat(200_000) },
      /must be a JSON object/,
    ],
    [
      'a manifest that is large',
      { source: './p' },
      { 'p/plugin.json': ' '.repeat(300_000) },
      /at most 256 KiB/,
    ],
    [
      'a large manifest derived from the entry',
      { source: './kept', strict: false, x: 'x'.repeat(300_000) },
      {},
      /its manifest would be larger than 256 KiB/,
    ],
    [
      'a manifest that becomes large with what the entry adds',
      { source: './p', mcpServers: { a: { command: 'a', args: ['x'.repeat(150_000)] } } },
      { 'p/plugin.json': JSON.stringify({ name: 'p', x: 'x'.repeat(150_000) }) },
      /its manifest would be larger than 256 KiB/,
    ],
    [
      'configurations that name many files',
      {
        ...{ source: './p', strict: false },
        hooks: Array.from({ length: 25 }, (_, index) => `./hooks${index}.json`),
      },
      Object.fromEntries(
        Array.from({ length: 25 }, (_, index) => [`p/hooks${index}.json`, namingHooks(String(index))]),
      ),
      /too many files to choose from/,
    ],
    ['a description of another type', { source: './kept', description: 7 }, {}, /description/],
  ])('loses only the invalid entry: %s', async (_what, entry, tree, reason) => {
    const report = await read({ ...listed({ name: 'bad', description: 'd', ...entry }), ...tree });
    expect(report).toMatchObject({ status: 'complete', counts: { entries: 1, skipped: 1 } });
    expect(report.skipped[0]?.reasons[0]).toMatch(reason);
    expect((await derivedEntries(service, kept[1]))[kept[0]]?.content.status).toBe('stored');
  });

  it('reads a configuration once, however often an entry lists it', async () => {
    const entry = { name: 'often', source: './p', strict: false, description: 'd' };
    const report = await read({
      ...listed({ ...entry, hooks: Array.from({ length: 200_000 }, () => './h.json') }),
      'p/h.json': namingHooks('f'),
    });
    // The listed components make its manifest large.
    expect(report).toMatchObject({ status: 'complete', counts: { entries: 1, skipped: 1 } });
  });

  it.each<[what: string, file: string, error: RegExp]>([
    ['no JSON', '{"name": "x", "owner": {}, "plugins": [', /JSON/],
    ['no list', '{"name": "x", "owner": {}, "plugins": {}}', /marketplace|registry format/],
    ['nested deeply', `{"name": "x", "plugins": [${'['.repeat(200_000)}`, /nested|JSON/],
    [
      'too large',
      JSON.stringify({ name: 'x', owner: {}, plugins: [], x: 'x'.repeat(5_000_000) }),
      /larger than 4 MiB/,
    ],
  ])('fails as a whole: %s', async (_what, file, error) => {
    const report = await read({ '.claude-plugin/marketplace.json': file });
    expect(report).toMatchObject({ status: 'failed', error: expect.stringMatching(error) });
    expect(Object.keys(await derivedEntries(service, kept[1]))).toEqual(['kept']);
  });
});

describe('limits', () => {
  it('exclude versions with more than 2,048 files', async () => {
    const filesOf = (folder: string, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`${folder}/f${index}`, 'x']));
    await read({
      ...{ 'most/SKILL.md': skill('most'), ...filesOf('most', 2_047) },
      ...{ 'more/SKILL.md': skill('more'), ...filesOf('more', 2_048) },
    });
    const { most, more } = await derivedEntries(service, 'skill');
    expect(most?.content.status).toBe('stored');
    expect(more?.content).toMatchObject({ status: 'failed', error: expect.stringMatching(/2048 files/) });
  });

  it('leave nothing in the temporary directory', () => expect.poll(leftovers).toEqual([]));
});
