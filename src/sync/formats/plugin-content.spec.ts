import { describe, expect, it } from 'vitest';
import { MANIFEST } from '../../content/version-folder.js';
import {
  configurationFiles,
  isStoredAsIs,
  configuredFiles,
  pluginContent,
  type PluginParts,
} from './plugin-content.js';

const PATHS = [
  ...[MANIFEST, 'README.md', 'LICENSE', 'package.json', 'skills/a/SKILL.md', 'skills/b/SKILL.md'],
  ...['commands/one.md', 'commands/two.md', 'agents/x.md', 'hooks/hooks.json', 'scripts/check.sh'],
  ...['scripts/lib/util.sh', 'servers/db/index.js', 'servers/db/lib.js', 'servers/other/index.js', 'run.sh'],
  ...['my tools/tool.sh', 'docs/README.md'],
];

const contentOf = (entry: Record<string, unknown>, more: Partial<PluginParts> = {}) => {
  const { only, manifest } = pluginContent({
    ...{ entry: { name: 'p', ...entry }, manifest: null, paths: PATHS, configurations: new Map() },
    ...more,
  });
  return {
    only: only && PATHS.filter((path) => only.has(path)),
    manifest: JSON.parse(manifest) as unknown,
  };
};
const lax = (entry: Record<string, unknown>, more?: Partial<PluginParts>) =>
  contentOf({ strict: false, source: './p', ...entry }, more);

describe('a plugin with its own manifest', () => {
  it('is stored unchanged', () => {
    expect(isStoredAsIs({ description: 'x', category: 'y', strict: true })).toBe(true);
    expect(isStoredAsIs({ strict: false })).toBe(false);
    expect(isStoredAsIs({ lspServers: {} })).toBe(false);
  });

  it.each<[what: string, manifest: Record<string, unknown> | null, entry: object, merged: object]>([
    [
      'skills to those of the manifest',
      { name: 'own', skills: './a' },
      { skills: ['./b', './a'] },
      { name: 'own', skills: ['./a', './b'] },
    ],
    [
      'commands to the default folder',
      { name: 'own' },
      { commands: './more/x.md' },
      { name: 'own', commands: ['./commands/', './more/x.md'] },
    ],
    [
      'agents to a list of them',
      { name: 'own', agents: ['./agents/x.md'] },
      { agents: ['./more/y.md'] },
      { name: 'own', agents: ['./agents/x.md', './more/y.md'] },
    ],
    [
      'servers to servers',
      { name: 'own', mcpServers: { a: { command: 'a' } } },
      { mcpServers: { b: { command: 'b' } } },
      { name: 'own', mcpServers: { a: { command: 'a' }, b: { command: 'b' } } },
    ],
    [
      'servers to a file',
      { name: 'own', mcpServers: './mcp.json' },
      { mcpServers: { b: {} } },
      { name: 'own', mcpServers: ['./mcp.json', { b: {} }] },
    ],
    ['hooks alone', { name: 'own' }, { hooks: { Stop: [] } }, { name: 'own', hooks: { Stop: [] } }],
    [
      'hooks to hooks',
      { name: 'own', hooks: { Stop: [1] } },
      { hooks: { Stop: [2] } },
      { name: 'own', hooks: [{ Stop: [1] }, { Stop: [2] }] },
    ],
    [
      'to a manifest that it replaces',
      null,
      { version: '1', skills: './b', tags: ['x'] },
      { name: 'p', version: '1', skills: ['./b'] },
    ],
  ])('includes the listed components: %s', (_what, manifest, entry, merged) =>
    expect(contentOf({ ...entry }, { manifest })).toEqual({ only: null, manifest: merged }),
  );
});

describe('a plugin that its entry defines', () => {
  it('has a manifest derived from the entry', () => {
    const entry = { description: 'x', version: '1', lspServers: { a: { command: 'a' } } };
    const marketplace = { category: 'c', tags: ['t'], relevance: {} };
    expect(lax({ ...entry, ...marketplace }, { manifest: { name: 'own', skills: './z' } })).toEqual({
      only: null,
      manifest: { name: 'p', ...entry },
    });
  });

  it.each<[what: string, entry: Record<string, unknown>, only: string[]]>([
    ['skills', { skills: ['./skills/a'] }, ['skills/a/SKILL.md']],
    ['a folder of skills', { skills: './skills/' }, ['skills/a/SKILL.md', 'skills/b/SKILL.md']],
    [
      'commands and agents',
      { commands: ['./commands/one.md'], agents: './agents' },
      ['commands/one.md', 'agents/x.md'],
    ],
    ['commands by name', { commands: { go: { source: './commands/two.md' } } }, ['commands/two.md']],
    ['nothing that exists', { skills: ['./nowhere'] }, []],
    ['paths out of the folder', { skills: ['../x', '/etc', 'skills/a/../b'] }, ['skills/b/SKILL.md']],
    [
      'servers with the folder of their files',
      { mcpServers: { db: { command: 'node', args: ['${CLAUDE_PLUGIN_ROOT}/servers/db/index.js'] } } },
      ['servers/db/index.js', 'servers/db/lib.js'],
    ],
    [
      'hooks, quoted',
      { hooks: { Stop: [{ hooks: [{ command: '"${CLAUDE_PLUGIN_ROOT}"/scripts/check.sh --fast' }] }] } },
      ['scripts/check.sh', 'scripts/lib/util.sh'],
    ],
    [
      'a folder that is named',
      { mcpServers: { db: { command: 'uv', args: ['--directory', '${CLAUDE_PLUGIN_ROOT}/servers'] } } },
      ['servers/db/index.js', 'servers/db/lib.js', 'servers/other/index.js'],
    ],
    [
      'only a file at the top',
      { hooks: { Stop: [{ command: '${CLAUDE_PLUGIN_ROOT}/run.sh' }] } },
      ['run.sh'],
    ],
    [
      'a path with a space',
      { hooks: { Stop: [{ command: '${CLAUDE_PLUGIN_ROOT}/my tools/tool.sh' }] } },
      ['my tools/tool.sh'],
    ],
    ['a path that leaves the folder', { hooks: { Stop: [{ command: '${CLAUDE_PLUGIN_ROOT}/../x' }] } }, []],
  ])('has only %s, with README and LICENSE', (_what, entry, only) =>
    expect(new Set(lax(entry).only)).toEqual(new Set(['README.md', 'LICENSE', ...only])),
  );

  it('has the files of a listed configuration, and the files that it references', () => {
    const entry = { hooks: './hooks/hooks.json', strict: false };
    expect(configurationFiles(entry)).toEqual(['hooks/hooks.json']);
    const hooks = { Stop: [{ hooks: [{ command: '${CLAUDE_PLUGIN_ROOT}/scripts/check.sh' }] }] };
    const configurations = new Map([['hooks/hooks.json', configuredFiles({ hooks })]]);
    expect(lax(entry, { configurations }).only).toEqual([
      ...['README.md', 'LICENSE', 'hooks/hooks.json', 'scripts/check.sh', 'scripts/lib/util.sh'],
    ]);
  });

  it('has all files if the listed folder is the plugin', () => {
    expect(lax({ skills: ['./'] }).only).toEqual(PATHS);
  });
});

it('does not grow if a manifest is nested', () => {
  const nested = JSON.stringify({
    name: 'p',
    strict: false,
    x: JSON.parse(`${'['.repeat(90)}${']'.repeat(90)}`),
  });
  const entry = JSON.parse(nested) as Record<string, unknown>;
  const { manifest } = pluginContent({ entry, manifest: null, paths: PATHS, configurations: new Map() });
  expect(manifest.length).toBeLessThan(nested.length);
});

it('reads no configuration of a plugin that has all its files', () => {
  expect(configurationFiles({ hooks: './hooks.json' })).toEqual([]);
  expect(configurationFiles({ lspServers: './lsp.json', strict: false })).toEqual([]);
});

it('keeps keys such as __proto__ as they are', () => {
  const entry = JSON.parse(
    '{"name": "p", "strict": false, "__proto__": {"x": 1}, "skills": "./skills/a"}',
  ) as object;
  const { manifest } = pluginContent({
    ...{ entry: entry as Record<string, unknown>, manifest: null, paths: PATHS, configurations: new Map() },
  });
  expect(manifest).toContain('"__proto__"');
  expect(({} as Record<string, unknown>)['x']).toBeUndefined();
});
