import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { GitTree } from '../../dist/git/git-tree.js';
import type { SettingsOf } from '../../dist/source-kinds/kinds.js';
import { findInRepository } from '../../dist/sync/formats/repository-format.js';
import { outcomeOf } from '../support/answers.js';
import { aCatalogue, aServer } from '../support/documents.js';
import { fetchTree } from '../support/git-connections.js';
import type { Tree } from '../support/git-repository.js';
import { aGitServer } from '../support/git-server.js';
import { aTemporaryDirectory, namesIn, readsGit } from '../support/git-service.js';
import { versionsIn } from '../support/matchers.js';
import { aService } from '../support/service.js';
import { inSoak } from '../support/soak.js';

const OFFICIAL = 'io.modelcontextprotocol.registry/official';
const official = (meta: object) => ({ _meta: { [OFFICIAL]: meta } });
const text = (value: unknown) => JSON.stringify(value);
const a = aServer('io.acme/a');
const b = aServer('io.acme/b');
const one = { name: 'one', source: './plugins/one', description: 'One', version: '1.0.0' };
const marketplace = text({ name: 'acme', owner: { name: 'Acme' }, plugins: [one] });
const plugin = { 'plugins/one/commands/go.md': 'Go' };

describe('a file with server documents (reference/sources)', () => {
  const service = aService()
    .source('main', { servers: [a] })
    .registry('main', { sources: ['main'] })
    .runs();
  const list = async () => versionsIn(await service.get('/registry/main/v0.1/servers?limit=100'));

  it.each<[what: string, file: unknown, versions: readonly string[]]>([
    ['one document', a, ['io.acme/a@1.0.0']],
    [
      'one document as the API returns it',
      { server: b, ...official({ status: 'active' }) },
      ['io.acme/b@1.0.0'],
    ],
    ['a list', [a, b], ['io.acme/a@1.0.0', 'io.acme/b@1.0.0']],
    ['a list of API items', [{ server: a }, b], ['io.acme/a@1.0.0', 'io.acme/b@1.0.0']],
    ['a page', { servers: [{ server: a }], metadata: { nextCursor: 'x', count: 1 } }, ['io.acme/a@1.0.0']],
    ['an object with documents', { servers: [b, a] }, ['io.acme/a@1.0.0', 'io.acme/b@1.0.0']],
  ])('may have %s', async (_what, file, versions) => {
    await service.rewrite('main', { text: `\ufeff ${JSON.stringify(file, null, 1)}\n` });
    expect(await service.synced('main')).toMatchObject({
      status: 'complete',
      format: 'servers',
      skipped: [],
    });
    expect(await list()).toEqual(versions);
    expect((await service.get('/v1/sources/main')).json).toMatchObject({ sync: { format: 'servers' } });
  });

  it('keeps documents as written, and the status and dates in a saved response', async () => {
    const odd = aServer('io.acme/odd', '1.0.0', { odd: { n: 1.5e3, ключ: '✓' } });
    const old = { status: 'deprecated', statusMessage: 'old', publishedAt: '2025-01-02T03:04:05.000Z' };
    const servers = [
      { server: odd, ...official({ ...old, isLatest: true }) },
      { server: { ...odd, version: '2.0.0' }, ...official({ status: 'active', isLatest: false }) },
    ];
    await service.rewrite('main', { text: text({ servers, metadata: { count: 2 } }) });
    await service.synced('main');
    const { json } = await service.get('/registry/main/v0.1/servers/io.acme%2Fodd/versions/latest');
    expect(json).toMatchObject({ server: odd, ...official({ ...old, isLatest: true }) });
    expect((json as { server: unknown }).server).toEqual(odd);
  });

  it('skips invalid documents, and the second of two equal versions', async () => {
    const twice = text(aServer('io.acme/c')).replace('{', '{"name":"io.acme/d",');
    await service.rewrite('main', {
      text: `[${text(a)},${text({ ...b, version: '^1' })},7,{"server":{}},${text(a)},${twice},{"__proto__":{"name":"io.acme/e"}},${text({ ...b, version: '${VERSION}' })}]`,
    });
    const { skipped, counts } = await service.synced('main');
    expect(counts).toMatchObject({ entries: 1, skipped: 7 });
    expect(skipped.map(({ reasons: [reason] }) => reason)).toEqual([
      expect.stringContaining('is a range'),
      expect.stringContaining('must be an object'),
      expect.stringContaining('is required'),
      'the file contains this name and version twice; the first one is used',
      expect.stringContaining('twice in one object'),
      expect.stringContaining('is required'),
      expect.stringMatching(/^version: "\$\{VERSION\}" is a placeholder/),
    ]);
    expect(await list()).toEqual(['io.acme/a@1.0.0']);
  });

  it('may be large: it is read in another thread', async () => {
    const servers = Array.from({ length: 300 }, (_, index) =>
      aServer(`io.acme/many-${index}`, '1.0.0', { x: 'x'.repeat(1_000) }),
    );
    await service.rewrite('main', { text: text(servers.map((server) => ({ server }))) });
    expect(await service.synced('main')).toMatchObject({
      format: 'servers',
      counts: { entries: 300, skipped: 0 },
    });
    await service.rewrite('main', { text: text(aCatalogue(servers)) });
    expect(await service.synced('main')).toMatchObject({ format: 'registry', counts: { unchanged: 300 } });
  });

  it.each<[what: string, file: string, why: RegExp]>([
    ['an unclosed list', `[${text(a)}`, /not valid JSON/],
    ['two lists', `[${text(a)}] [${text(b)}]`, /not valid JSON/],
    [
      'two documents',
      `${text(a)} ${text(b)}`,
      /not valid JSON: it does not end after its first value|malformed/,
    ],
    ['two documents with a comma', `${text(a)},${text(b)}`, /does not end after its first value/],
    ['two lists of servers', `{"servers":[${text(a)}],"servers":[]}`, /the key "servers" twice/],
    [
      'no valid document',
      text([{}]),
      /^None of the 1 entries is valid; the first, servers\[0\]: name: is required/,
    ],
    [
      "a client's configuration",
      text({ mcpServers: { a: { command: 'npx' } } }),
      /configuration of a client/,
    ],
  ])('fails and keeps the earlier entries: %s', async (_what, file, why) => {
    const before = await list();
    expect(before).not.toEqual([]);
    await service.rewrite('main', { text: file });
    expect(await service.synced('main')).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(why),
    });
    expect(await list()).toEqual(before);
  });
});

describe('a file', () => {
  const remote = { source: 'github', repo: 'acme/remote', sha: '1'.repeat(40) };
  const plugins = [
    { name: 'remote', source: remote, version: '1.0.0', description: 'Remote' },
    { name: 'local', source: './local', version: '1.0.0', description: 'Local' },
  ];
  const service = aService()
    .source('main', {
      text: text({ name: 'acme', owner: { name: 'Acme' }, plugins }),
      settings: { namespace: 'com.acme' },
    })
    .source('malformed', { text: '', settings: { format: 'marketplace', namespace: 'com.acme' } })
    .source('unnamed', { text: text({ name: 'acme', plugins }) })
    .source('servers', { text: text([a]), settings: { format: 'servers' } })
    .registry('main', { sources: ['main'] })
    .runs();

  it('with a marketplace yields the plugins that are in Git repositories', async () => {
    const { format, counts, skipped } = await service.synced('main');
    expect({ format, counts }).toMatchObject({ format: 'marketplace', counts: { entries: 1, skipped: 1 } });
    expect(skipped[0]?.reasons[0]).toContain('add that repository as a git source');
    expect((await service.get('/registry/main/v0.1/x/dev.toolhive/plugins')).json).toMatchObject({
      plugins: [{ namespace: 'com.acme', name: 'remote', version: '1.0.0' }],
    });
  });

  it('is not quoted if its marketplace is malformed: it may be a secret', async () => {
    await service.rewrite('malformed', { text: '{"name": "acme", "plugins": [hunter2]}' });
    expect((await service.synced('malformed')).error).toBe(
      'The file is not valid JSON: the marketplace is malformed',
    );
  });

  it('with a marketplace needs a namespace', async () => {
    expect(await service.synced('unnamed')).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('set one in file.namespace'),
    });
  });

  it('is read only in the configured format', async () => {
    expect(await service.synced('servers')).toMatchObject({ status: 'complete', format: 'servers' });
    await service.rewrite('servers', { text: text(aCatalogue([b])) });
    expect(await service.synced('servers')).toMatchObject({
      status: 'failed',
      error: 'The file has the format registry, but the source has the format servers',
      format: 'servers',
    });
  });
});

describe('a repository', () => {
  const leftovers = aTemporaryDirectory();
  const git = aGitServer().runs();
  const repository = git.repository('acme');
  const service = readsGit(aService().configuration({ adminAllowPrivateIP: true }), git, async () => {
    await repository.commit({ 'registry.json': text(aCatalogue([a])) });
    return {};
  });
  const bodyOf = (settings: object) => ({
    git: { repository: git.url('acme'), ...settings },
    syncPolicy: { interval: '1h' },
  });
  const test = async (settings: object = {}) => {
    const reply = await service.post('/v1/sources/new/test', bodyOf(settings));
    expect(outcomeOf(reply)).toBe('200');
    expect(service.logs().filter(({ level }) => level === 'error')).toEqual([]);
    return reply.json as { status: string; format?: string; error?: string; counts: Record<string, number> };
  };
  /** Reads more than a slow machine reads within the 20 s of a test. */
  const read = async (settings: object = {}) => {
    expect(outcomeOf(await service.put('/v1/sources/large', bodyOf(settings)))).toBeOneOf(['200', '201']);
    const report = await service.synced('large');
    expect(service.logs().filter(({ level }) => level === 'error')).toEqual([]);
    return report;
  };
  it.each<[what: string, tree: Tree, format: string, settings?: object]>([
    [
      'registry.json before all others',
      {
        'registry.json': text(aCatalogue([a])),
        'server.json': text(b),
        '.claude-plugin/marketplace.json': marketplace,
      },
      'registry',
    ],
    [
      'a marketplace before server.json',
      { '.claude-plugin/marketplace.json': marketplace, ...plugin, 'server.json': text(a) },
      'marketplace',
    ],
    [
      'a folder',
      { 'registry.json': text(aCatalogue([b])), 'more/server.json': text(a) },
      'servers',
      { path: 'more/' },
    ],
    [
      'a file of any name by its content',
      { 'x/list.json': text([a]), 'registry.json': '{}' },
      'servers',
      { path: 'x/list.json' },
    ],
  ])('is read in the detected format: %s', async (_what, tree, format, settings) => {
    await repository.commit(tree);
    expect(await test(settings)).toMatchObject({
      status: 'complete',
      format,
      counts: { entries: 1, skipped: 0 },
    });
  });

  it.each<[what: string, tree: Tree, why: RegExp, settings?: object]>([
    ['no files', {}, /: there are no files in commit/],
    [
      'nothing to read',
      { 'README.md': '# x' },
      /there is no file registry\.json, .*SKILL\.md in commit \w{12}; set path/,
    ],
    ['servers, if none is there', { 'a.md': 'a' }, /has no server documents/, { format: 'servers' }],
  ])('fails with a sentence for %s', async (_what, tree, why, settings) => {
    await repository.commit(tree);
    const { status, error } = await test(settings);
    expect(status).toBe('failed');
    expect(error).toMatch(why);
    await expect.poll(leftovers).toEqual([]);
  });

  it('has a server document in every server.json, and directly in files of other names', async () => {
    await repository.commit({
      'server.json': `\ufeff${text(a)}`,
      'services/b/server.json': text(b),
      'direct.json': text(aServer('io.acme/direct')),
      'package.json': text({ name: 'acme', version: '1.0.0', description: 'x', packages: [] }),
      'composer.json': text({ name: 'acme/x', require: {} }),
      'services/b/other.json': text(aServer('io.acme/other')),
      'broken/server.json': '{"name": 7',
      'config/server.json': text({ port: 8080 }),
      'large/server.json': `"${'x'.repeat(4 * 1024 * 1024)}"`,
      'latin1/server.json': Buffer.from([0x22, 0xe9, 0x22]),
      'link/server.json': { mode: '120000', target: '../server.json' },
      'again/server.json': text(a),
      [`${'p'.repeat(250)}/server.json`]: '7',
      module: { mode: '160000', target: '1'.repeat(40) },
    });
    const { skipped, counts, format } = await service.synced('main');
    expect(format).toBe('servers');
    expect(await namesIn(service)).toEqual(['a', 'b', 'direct']);
    expect(counts).toMatchObject({ entries: 3, skipped: 6 });
    expect(skipped.map(({ reasons: [reason] }) => reason)).toEqual([
      'broken/server.json: is not valid JSON',
      expect.stringMatching(/^config\/server\.json: /),
      'large/server.json: is larger than 4 MiB',
      'latin1/server.json: is not UTF-8 text',
      expect.stringMatching(/^…p{188}\/server\.json: must be an object/),
      'server.json: an earlier file has this name and version',
    ]);
  });

  it('is not read again for a commit that leaves the folder unchanged', async () => {
    const tree = { 'servers/a/server.json': text(a), 'servers/b/server.json': text(b) };
    await repository.commit(tree);
    await service.reload((edited) =>
      edited.source('main', { kind: 'git', settings: { repository: git.url('acme'), path: 'servers' } }),
    );
    await service.synced('main');
    expect(await namesIn(service)).toEqual(['a', 'b']);
    await repository.commit({ ...tree, 'README.md': 'changed' });
    git.takeRequests();
    expect(await service.synced('main')).toMatchObject({ status: 'complete', format: 'servers' });
    const uploads = git.takeRequests().filter((request) => request.startsWith('POST'));
    // The requests are ls-remote and a fetch of the commit without files.
    expect(uploads).toHaveLength(3);
    await service.synced('main');
    expect(git.takeRequests()).toHaveLength(2);
  });

  describe('at its limits', () => {
    const MIB = 1024 * 1024;
    type Row = [what: string, full: string, more: string, count: number, why: RegExp];
    // A folder with this many files, in a folder with one more.
    const files = (count: number, folder: string, name: string, content: string): Tree =>
      Object.fromEntries([
        ...Array.from({ length: count }, (_, index) => [`${folder}/full/${index}/${name}`, content] as const),
        [`${folder}/more/${name}`, content.slice(0, 2)],
      ]);
    const plugins = (count: number) =>
      text({
        name: 'acme',
        plugins: Array.from({ length: count }, () => ({ name: 'one', source: '../up' })),
      });
    beforeAll(() =>
      repository.commit({
        ...files(10_000, 'servers', 'server.json', '{}'),
        ...files(10_000, 'skills', 'SKILL.md', 'none'),
        ...inSoak(files(32, 'bytes', 'server.json', 'x'.repeat(4 * MIB)), {}),
        ...{ 'plugins/full.json': plugins(10_000), 'plugins/more.json': plugins(10_001) },
        'marketplace/full.json': marketplace.padEnd(4 * MIB, ' '),
        'marketplace/more.json': marketplace.padEnd(4 * MIB + 1, ' '),
        ...plugin,
      }),
    );

    it.each<Row>([
      ['10,000 server files', 'servers/full', 'servers', 10_000, /has more than 10000 server files/],
      ['10,000 skills', 'skills/full', 'skills', 10_000, /more than 10000 skills/],
      ['10,000 plugins', 'plugins/full.json', 'plugins/more.json', 10_000, /more than 10000 plugins/],
      ...inSoak<Row[]>(
        [['128 MiB of server files', 'bytes/full', 'bytes', 32, /^The server files have more than 128 MiB$/]],
        [],
      ),
    ])('may have %s', async (_what, full, more, count, why) => {
      expect((await read({ path: full })).error).toContain(
        `None of the ${count} entries is valid; the first`,
      );
      expect((await read({ path: more })).error).toMatch(why);
    });

    it('may have a marketplace of 4 MiB, which may be anywhere', async () => {
      expect(await read({ path: 'marketplace/full.json' })).toMatchObject({
        format: 'marketplace',
        counts: { entries: 1 },
      });
      expect((await read({ path: 'marketplace/more.json' })).error).toMatch(/larger than 4 MiB/);
    });
  });
});

describe('what a source reads from a repository', () => {
  type Settings = Pick<SettingsOf<'git'>, 'path' | 'format'>;
  const link = (target: string) => ({ mode: '120000', target }) as const;
  const submodule = { mode: '160000', target: '1'.repeat(40) } as const;
  const path = 'catalogue/registry.json';

  const found: readonly [what: string, tree: Tree, found: string, settings?: Settings][] = [
    [
      'registry.json before all others',
      { 'registry.json': '', 'server.json': '', '.claude-plugin/marketplace.json': '' },
      'registry: registry.json',
    ],
    ...['.claude-plugin', '.github/plugin', '.agents/plugins', '.cursor-plugin'].map(
      (folder): [string, Tree, string] => [
        `a marketplace in ${folder} before server.json`,
        { [`${folder}/marketplace.json`]: '', 'server.json': '' },
        `marketplace: ${folder}/marketplace.json`,
      ],
    ),
    ['server.json before skills', { 'deep/down/server.json': '', 'x/SKILL.md': '' }, 'servers: '],
    ['skills, if nothing else is there', { 'deep/down/one/SKILL.md': '', 'a.json': '' }, 'skills: '],
    ['a folder', { 'registry.json': '', 'more/server.json': '' }, 'servers: more', { path: 'more/' }],
    [
      'registry.json in a folder',
      { 'more/registry.json': '' },
      'registry: more/registry.json',
      { path: './more' },
    ],
    ['a file, whose content decides', { 'x/list.json': '' }, 'null: x/list.json', { path: 'x/list.json' }],
    [
      'a file in the named format',
      { 'x/list.json': '' },
      'marketplace: x/list.json',
      { path: 'x/list.json', format: 'marketplace' },
    ],
    [
      'skills, if they are named',
      { 'skills/one/SKILL.md': '', 'server.json': '', '.claude-plugin/marketplace.json': '' },
      'skills: ',
      { format: 'skills' },
    ],
    ['servers, if they are named', { 'registry.json': '', 'a.json': '' }, 'servers: ', { format: 'servers' }],
    [
      'registry.json, if it is named',
      { 'server.json': '', 'registry.json': '' },
      'registry: registry.json',
      { format: 'registry' },
    ],
  ];
  const refused: readonly [what: string, tree: Tree, why: RegExp, settings?: Settings][] = [
    [
      'nothing to read',
      { 'docs/a.md': '' },
      / is a directory in commit \w{12}; it has no registry\.json, .*SKILL\.md$/,
    ],
    [
      "only a client's configuration",
      { 'README.md': '', 'config/.mcp.json': '' },
      / is a directory .*config\/\.mcp\.json is the configuration of a client/,
    ],
    ["Docker's catalog", { 'servers/a/server.yaml': '' }, /servers\/a\/server\.yaml is Docker's MCP catalog/],
    ['a link as registry.json', { 'registry.json': link('/etc/passwd') }, /it has no registry\.json/],
    [
      'skills in a file',
      { 'a.json': '' },
      /a\.json is a file in commit \w{12}; skills are folders/,
      { path: 'a.json', format: 'skills' },
    ],
    [
      'no registry.json, if it is named',
      { 'server.json': '' },
      /it has no registry\.json$/,
      { format: 'registry' },
    ],
    [
      'a missing file',
      { a: '' },
      /there is no file .*\/catalogue\/registry\.json in commit [0-9a-f]{12}$/,
      { path },
    ],
    ['a directory', { [`${path}/a`]: '' }, /registry\.json is a directory in commit/, { path }],
    ['a symlink', { [path]: link('/etc/passwd') }, /is a symbolic link in commit/, { path }],
    [
      'a symlinked parent directory',
      { catalogue: link('real'), 'real/registry.json': '' },
      /there is no file/,
      { path },
    ],
    ['a submodule', { [path]: submodule }, /is a submodule in commit/, { path }],
    ['a submodule as parent directory', { catalogue: submodule }, /there is no file/, { path }],
  ];

  const git = aGitServer().runs();
  const repository = git.repository('acme');
  let all: GitTree;
  beforeAll(async () => {
    const trees = [...found, ...refused].map(([what, tree]) =>
      Object.entries(tree).map(([file, content]) => [`${what}/${file}`, content] as const),
    );
    await repository.commit(Object.fromEntries(trees.flat()));
    all = await fetchTree({ repository: git.url('acme') });
  });
  afterAll(() => all.close());
  const find = (what: string, { path: below, format }: Settings = {}) =>
    findInRepository(all, below === undefined ? what : `${what}/${below}`, format ?? null);

  it.each(found)('%s', async (what, _tree, answer, settings) => {
    const { at, format } = await find(what, settings);
    expect(`${format}: ${at.path.slice(what.length + 1)}`).toBe(answer);
  });

  it.each(refused)('is refused with a sentence: %s', async (what, _tree, why, settings) => {
    await expect(find(what, settings)).rejects.toThrow(why);
  });
});
