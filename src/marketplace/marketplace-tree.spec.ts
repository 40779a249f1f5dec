import { describe, expect, it } from 'vitest';
import {
  attributesIn,
  manifestsIn,
  marketplaceTree,
  pluginsOf,
  remoteMarketplace,
  serversFilesIn,
  withinBytes,
} from './marketplace-tree.js';
import type { EntryWithFiles } from '../content/entries-with-content.queries.js';

const ACME = { name: 'acme', owner: 'Acme' };
const CLAUDE = '.claude-plugin/plugin.json';
const PLUGIN_SCHEMA = 'https://agent-plugins.org/schemas/1.0.0/plugin.schema.json';

const file = (path: string, digest = `digest of ${path}`) => ({ path, digest, bytes: 1, executable: false });
const entry = (
  name: string,
  paths: readonly string[] = ['README.md'],
  more: Partial<EntryWithFiles> = {},
): EntryWithFiles => ({
  type: 'plugin',
  name,
  version: '1.0.0',
  description: `About ${name}`,
  files: paths.map((path) => file(path)),
  ...more,
});
const namesOf = (...entries: EntryWithFiles[]) =>
  pluginsOf(entries).map(({ pluginName, type }) => `${type} ${pluginName}`);

/** The tree by path: JSON as a value, content as its digest. */
function treeOf(entries: EntryWithFiles[], manifests: Record<string, string> = {}): Record<string, unknown> {
  const texts = new Map(Object.entries(manifests));
  const tree = marketplaceTree(ACME, pluginsOf(entries), {
    manifests: texts,
    servers: texts,
    attributes: texts,
  });
  const paths = tree.map(({ path }) => path);
  expect(new Set(paths).size).toBe(paths.length);
  return Object.fromEntries(
    tree.map((each) => [each.path, 'text' in each ? JSON.parse(each.text) : each.digest]),
  );
}

describe('the names of plugins', () => {
  it('are in order, and are not used if differently named entries share one', () => {
    expect(namesOf(entry('io.b/y'), entry('io.b/x'))).toEqual(['plugin io-b-x', 'plugin io-b-y']);
    const shared = [entry('io.acme/x-y'), entry('io.acme-x/y')];
    expect(namesOf(...shared, entry('io.b/x'))).toEqual(['plugin io-b-x']);
    expect(namesOf(...shared.toReversed())).toEqual([]);
    expect(namesOf(...shared.slice(1))).toEqual(['plugin io-acme-x-y']);
  });

  it('identify the plugin if a skill has the same name', () => {
    const both = [entry('io.acme/x'), entry('io.acme/x', ['SKILL.md'], { type: 'skill' })];
    expect(namesOf(...both)).toEqual(['plugin io-acme-x']);
    expect(namesOf(...both.toReversed())).toEqual(['plugin io-acme-x']);
    expect(namesOf(entry('io.acme.x/y'), entry('io.acme/x-y', ['SKILL.md'], { type: 'skill' }))).toEqual([]);
  });
});

describe('the tree of a marketplace', () => {
  it('has a marketplace file for each client, with relative sources', () => {
    const tree = treeOf([entry('io.acme/deploy')]);
    const plugin = {
      name: 'io-acme-deploy',
      source: './plugins/io-acme-deploy',
      description: 'About io.acme/deploy',
    };
    const marketplace = { name: 'acme', owner: { name: 'Acme' }, plugins: [{ ...plugin, version: '1.0.0' }] };
    expect(tree['.claude-plugin/marketplace.json']).toEqual(marketplace);
    expect(tree['.github/plugin/marketplace.json']).toEqual(marketplace);
    expect(tree['.cursor-plugin/marketplace.json']).toEqual({ ...marketplace, plugins: [plugin] });
    expect(tree['.agents/plugins/marketplace.json']).toMatchObject({
      name: 'acme',
      plugins: [{ name: 'io-acme-deploy', source: { source: 'local', path: './plugins/io-acme-deploy' } }],
    });
  });

  it('has each skill as a plugin of one skill', () => {
    const tree = treeOf([entry('io.acme/greet', ['SKILL.md', 'a/b.txt'], { type: 'skill' })]);
    const at = 'plugins/io-acme-greet';
    expect(tree[`${at}/skills/greet/SKILL.md`]).toBe('digest of SKILL.md');
    expect(tree[`${at}/skills/greet/a/b.txt`]).toBe('digest of a/b.txt');
    const manifest = { name: 'io-acme-greet', version: '1.0.0', description: 'About io.acme/greet' };
    expect(tree[`${at}/${CLAUDE}`]).toEqual(manifest);
    expect(tree[`${at}/plugin.json`]).toEqual({ $schema: PLUGIN_SCHEMA, ...manifest });
  });

  it('sets the name and version in the manifests of a plugin, and adds missing manifests', () => {
    const files = ['.codex-plugin/plugin.json', CLAUDE, 'commands/x.md'];
    const tree = treeOf([entry('io.acme/x', files)], {
      [`digest of ${CLAUDE}`]: '{"name":"other","version":"9","hooks":"./h.json","description":"Own"}',
      'digest of .codex-plugin/plugin.json': 'no JSON',
    });
    const generated = { name: 'io-acme-x', version: '1.0.0', description: 'About io.acme/x' };
    expect(tree[`plugins/io-acme-x/${CLAUDE}`]).toEqual({
      ...generated,
      description: 'Own',
      hooks: './h.json',
    });
    expect(tree['plugins/io-acme-x/.codex-plugin/plugin.json']).toEqual(generated);
    expect(tree['plugins/io-acme-x/.cursor-plugin/plugin.json']).toEqual(generated);
    expect(tree['plugins/io-acme-x/commands/x.md']).toBe('digest of commands/x.md');
    expect(tree).not.toHaveProperty(['plugins/io-acme-x/plugin.json']);
  });

  it.each<[string, string[], string | undefined]>([
    ['no other manifest', ['README.md', 'skills/a/SKILL.md', 'mcp.json'], undefined],
    ['describing members', [CLAUDE], '{"name":"x","license":"MIT","author":{"name":"Ann"},"category":"a"}'],
    ['default places', [CLAUDE, '.mcp.json'], '{"skills":"./skills/","mcpServers":"./.mcp.json"}'],
  ])('has a manifest of Agent Plugins 1.0 for a plugin with %s', (_, files, manifest = '{}') => {
    const texts = { [`digest of ${CLAUDE}`]: manifest, 'digest of .mcp.json': '{}' };
    const tree = treeOf([entry('io.acme/x', files)], texts);
    expect(tree['plugins/io-acme-x/plugin.json']).toEqual({
      $schema: PLUGIN_SCHEMA,
      name: 'io-acme-x',
      version: '1.0.0',
      description: 'About io.acme/x',
    });
  });

  it.each<[string, string[], string | undefined]>([
    ['commands', ['commands/a.md'], undefined],
    ['hooks', ['hooks/hooks.json'], undefined],
    ['hooks at the top', ['hooks.json'], undefined],
    ['agents', ['Agents/a.md'], undefined],
    ['language servers', ['.lsp.json'], undefined],
    ['hooks in its manifest', [CLAUDE], '{"hooks":{"Stop":[]}}'],
    ['servers in its manifest', [CLAUDE], '{"mcpServers":{"a":{"command":"a"}}}'],
    ['skills elsewhere', [CLAUDE], '{"skills":"./other/"}'],
    ['a file of that name, as a folder', ['plugin.json/a'], undefined],
  ])('has no manifest for a plugin with %s, or clients would not load it', (_, files, manifest = '{}') => {
    const tree = treeOf([entry('io.acme/x', files)], { [`digest of ${CLAUDE}`]: manifest });
    expect(tree).not.toHaveProperty(['plugins/io-acme-x/plugin.json']);
    expect(tree).toHaveProperty([`plugins/io-acme-x/${CLAUDE}`]);
  });

  it('has no manifest for a plugin with untranslated servers, or clients would not start them', () => {
    const at = 'plugins/io-acme-x/plugin.json';
    const far = { url: 'https://x.example', headers: { Authorization: '${KEY:-}' } };
    const treeWith = (servers: object) =>
      treeOf([entry('io.acme/x', ['.mcp.json'])], { 'digest of .mcp.json': JSON.stringify(servers) });
    expect(treeWith({ far })).not.toHaveProperty([at]);
    expect(treeWith({ far: null, near: { command: 'npx' } })).not.toHaveProperty([at]);
    expect(treeWith({ far, near: { command: 'npx' } })).toHaveProperty([at]);
  });

  it('adds the missing servers file of a plugin, and keeps both if the publisher has both', () => {
    const servers = '{"mcpServers":{"one":{"command":"npx","args":["-y","a"]}}}';
    const at = 'plugins/io-acme-x';
    for (const [stored, other, schema] of [
      ['mcp.json', '.mcp.json', undefined],
      ['.mcp.json', 'mcp.json', 'https://agent-plugins.org/schemas/1.0.0/mcp.schema.json'],
    ] as const) {
      const tree = treeOf([entry('io.acme/x', [stored])], { [`digest of ${stored}`]: servers });
      expect(tree[`${at}/${stored}`]).toBe(`digest of ${stored}`);
      expect(tree[`${at}/${other}`]).toMatchObject({
        mcpServers: { one: { command: 'npx', args: ['-y', 'a'] } },
      });
      expect((tree[`${at}/${other}`] as { $schema?: string }).$schema).toBe(schema);
    }
    const both = treeOf([entry('io.acme/x', ['mcp.json', '.mcp.json'])]);
    expect([both[`${at}/mcp.json`], both[`${at}/.mcp.json`]]).toEqual([
      'digest of mcp.json',
      'digest of .mcp.json',
    ]);
    for (const odd of [['MCP.json'], ['mcp.json/a'], ['.mcp.json', 'mcp.json/a']])
      expect(Object.keys(treeOf([entry('io.acme/x', odd)])).filter((path) => /mcp/i.test(path))).toEqual(
        odd.map((path) => `${at}/${path}`),
      );
  });

  it('is complete even if the servers files of one plugin cannot be read', () => {
    const tree = treeOf([entry('io.acme/x', ['mcp.json']), entry('io.acme/y', ['.mcp.json'])], {
      'digest of mcp.json': 'no JSON',
      'digest of .mcp.json': '{"one":{"command":"a"}}',
    });
    expect(tree['plugins/io-acme-x/mcp.json']).toBe('digest of mcp.json');
    expect(tree).not.toHaveProperty(['plugins/io-acme-x/.mcp.json']);
    expect(tree).toHaveProperty(['plugins/io-acme-y/mcp.json']);
  });

  it('replaces manifests that are nested too deeply, and does not indent them', () => {
    const nested = (depth: number) => `{"x":${'['.repeat(depth)}${']'.repeat(depth)}}`;
    const textFor = (manifest: string) => {
      const plugins = pluginsOf([entry('io.acme/x', ['plugin.json'])]);
      const manifests = new Map([['digest of plugin.json', manifest]]);
      const tree = marketplaceTree(ACME, plugins, { manifests, servers: new Map(), attributes: new Map() });
      const found = tree.find(({ path }) => path === 'plugins/io-acme-x/plugin.json');
      return found && 'text' in found ? found.text : '';
    };
    expect(JSON.parse(textFor(nested(99)))).toHaveProperty('x');
    for (const depth of [100, 120_000]) expect(JSON.parse(textFor(nested(depth)))).not.toHaveProperty('x');
    // Indentation would make it megabytes long.
    const wide = `{"x":${'['.repeat(90)}${'[],'.repeat(20_000)}0${']'.repeat(90)}}`;
    expect(textFor(wide).length).toBeLessThan(wide.length + 200);
  });

  it('has only one of the files whose paths a file system may treat as equal', () => {
    const tree = treeOf(
      [entry('io.acme/x', ['.Claude-Plugin/Plugin.json', '.cursor-plugin', 'PLUGIN.JSON'])],
      {
        'digest of PLUGIN.JSON': '{"name":"other"}',
      },
    );
    expect(Object.keys(tree).filter((path) => path.startsWith('plugins/'))).toEqual([
      `plugins/io-acme-x/${CLAUDE}`,
      'plugins/io-acme-x/.cursor-plugin/plugin.json',
      'plugins/io-acme-x/plugin.json',
    ]);
    expect(tree['plugins/io-acme-x/plugin.json']).toMatchObject({ name: 'io-acme-x' });
  });

  it('has no files that make every clone fail, and all other files', () => {
    const filtering = '*.bin filter=lfs diff=lfs merge=lfs -text';
    const texts = { filtering, plain: '* text=auto' };
    const longest = 'x'.repeat(255);
    const kept = [file('.gitattributes', 'plain'), file(`${longest}/${longest}`), file('x/gitattributes')];
    const files = [
      ...[file('a/.gitattributes', 'filtering'), file('a/.gitmodules'), file('a/.GitModules/b'), ...kept],
      ...[file('b/GITATT~1', 'filtering'), file('c/.gitattributes', 'unread'), file('c/gitmod~1')],
      ...[file(`${longest}x`), file(`${'é'.repeat(128)}/a`)],
    ];
    const paths = Object.keys(treeOf([entry('io.acme/x', [], { files })], texts));
    const pluginFiles = paths.filter((path) => path.startsWith('plugins/') && !path.endsWith('plugin.json'));
    expect(pluginFiles).toEqual([files[2], ...kept].map((each) => `plugins/io-acme-x/${each?.path}`));
  });

  it('renames the folder of a skill only if Windows cannot check it out', () => {
    const pathsOf = (name: string) =>
      Object.keys(treeOf([entry(`io.acme/${name}`, ['SKILL.md'], { type: 'skill' })]));
    expect(pathsOf('con')).toContain('plugins/io-acme-con/skills/con-skill/SKILL.md');
    expect(pathsOf('com1')).toContain('plugins/io-acme-com1/skills/com1-skill/SKILL.md');
    expect(pathsOf('icon')).toContain('plugins/io-acme-icon/skills/icon/SKILL.md');
  });

  it('reads attributes of up to 64 KiB', () => {
    const long = { ...file('.gitattributes'), bytes: 64 * 1_024 + 1 };
    const short = file('a/.gitattributes');
    const files = [long, short, file('b/attributes')];
    expect(attributesIn(pluginsOf([entry('io.acme/x', [], { files })]))).toEqual([short]);
  });

  it('reads plugin manifests of up to 256 KiB, and no files of skills', () => {
    const long = { ...file('plugin.json'), bytes: 256 * 1_024 + 1 };
    const plugins = pluginsOf([
      entry('io.acme/x', [CLAUDE, 'README.md'], { files: [file(CLAUDE), file('README.md'), long] }),
      entry('io.acme/y', ['plugin.json'], { type: 'skill' }),
    ]);
    expect(manifestsIn(plugins)).toEqual([file(CLAUDE)]);
  });

  it('reads the smallest files, as many as fit', () => {
    const sized = (digest: string, bytes: number) => ({ ...file('plugin.json', digest), bytes });
    const files = [sized('a', 4), sized('b', 5), sized('c', 1), sized('c', 1), sized('d', 4)];
    expect(withinBytes(files, 15)).toEqual(['a', 'b', 'c', 'd']);
    expect(withinBytes(files, 14)).toEqual(['a', 'c', 'd']);
    expect(withinBytes(files, 9)).toEqual(['a', 'c']);
    expect(withinBytes(files, 1)).toEqual([]);
  });

  it('does not mix up the texts of manifests and servers files', () => {
    const both = [
      entry('io.acme/x', ['mcp.json'], { files: [file(CLAUDE, 'same'), file('mcp.json', 'same')] }),
    ];
    const same = new Map([['same', '{"license":"MIT"}']]);
    const pathsOf = (manifests: ReadonlyMap<string, string>, servers: ReadonlyMap<string, string>) =>
      marketplaceTree(ACME, pluginsOf(both), { manifests, servers, attributes: new Map() }).flatMap((each) =>
        'text' in each && (each.text.includes('MIT') || each.path.endsWith('/.mcp.json')) ? [each.path] : [],
      );
    expect(pathsOf(same, new Map())).toEqual([`plugins/io-acme-x/${CLAUDE}`]);
    expect(pathsOf(new Map(), new Map([['same', '{"mcpServers":{}}']]))).toEqual([
      'plugins/io-acme-x/.mcp.json',
    ]);
  });

  it('reads the only servers file of a plugin up to 256 KiB', () => {
    const long = { ...file('mcp.json'), bytes: 256 * 1_024 + 1 };
    const plugins = pluginsOf([
      entry('io.acme/a', ['mcp.json']),
      entry('io.acme/b', ['.mcp.json']),
      entry('io.acme/c', ['mcp.json', '.mcp.json']),
      entry('io.acme/d', [], { files: [long] }),
      entry('io.acme/e', ['mcp.json'], { type: 'skill' }),
    ]);
    expect(serversFilesIn(plugins)).toEqual([file('mcp.json'), file('.mcp.json')]);
  });
});

describe('the marketplace file for clients without a clone', () => {
  it('refers to the repository in each source', () => {
    const url = 'https://registry.example/registry/main/git/marketplace.git';
    const sources = { repository: url, archives: null };
    expect(remoteMarketplace(ACME, pluginsOf([entry('io.acme/deploy')]), sources)).toEqual({
      name: 'acme',
      owner: { name: 'Acme' },
      plugins: [
        {
          name: 'io-acme-deploy',
          source: { source: 'git-subdir', url, path: 'plugins/io-acme-deploy' },
          description: 'About io.acme/deploy',
          version: '1.0.0',
        },
      ],
    });
  });

  it('refers to zip files instead', () => {
    const sources = { repository: '', archives: 'https://registry.example/registry/main/x/marketplace' };
    const plugins = pluginsOf([entry('io.acme/deploy', [], { version: '1.0.0+a' })]);
    expect(remoteMarketplace(ACME, plugins, sources)).toMatchObject({
      plugins: [
        { source: { source: 'archive', url: `${sources.archives}/plugin/io.acme/deploy/1.0.0%2Ba.zip` } },
      ],
    });
  });
});
