import { describe, expect, it } from 'vitest';
import { EVASIONS } from '../../test/support/evasions.js';
import { memberTokens } from './members.js';
import type { Members } from './members.responses.js';
import { readMembers } from './read-members.js';

type Files = Readonly<Record<string, unknown>>;

/** Files by path; values that are neither text nor bytes are JSON. */
async function membersIn(files: Files): Promise<Members> {
  const contents = new Map(
    Object.entries(files).map(([path, value]) => [
      path,
      Buffer.isBuffer(value) ? value : Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
    ]),
  );
  const list = [...contents].map(([path, { length: bytes }]) => ({ path, bytes }));
  const { members } = await readMembers(list, async ({ path }) => contents.get(path) ?? Buffer.alloc(0));
  return members;
}

const npx = (name = 'left-pad') => ({ command: 'npx', args: ['-y', name] });
const PAD = { registryType: 'npm', identifier: 'left-pad' } as const;
const PAD_SERVER = { name: 'pad', packages: [PAD], command: 'npx -y left-pad' };
const PAD_HOOK = { event: 'Stop', packages: [PAD], command: 'npx left-pad' };
const hook = (command = 'npx left-pad') => ({
  Stop: [{ matcher: '', hooks: [{ type: 'command', command }] }],
});

describe('members are read from', () => {
  it.each<[string, Files, Members]>([
    ['.mcp.json', { '.mcp.json': { mcpServers: { pad: npx() } } }, { servers: [PAD_SERVER] }],
    ['.mcp.json without mcpServers', { '.mcp.json': { pad: npx() } }, { servers: [PAD_SERVER] }],
    [
      'mcp.json',
      { 'mcp.json': { $schema: 'x', mcpServers: { pad: { type: 'stdio', ...npx() } } } },
      { servers: [PAD_SERVER] },
    ],
    ['.github/mcp.json', { '.github/mcp.json': { mcpServers: { pad: npx() } } }, { servers: [PAD_SERVER] }],
    [
      'both, with duplicates once',
      { '.mcp.json': { pad: npx() }, 'mcp.json': { mcpServers: { pad: npx() } } },
      { servers: [PAD_SERVER] },
    ],
    [
      'a manifest',
      { '.claude-plugin/plugin.json': { mcpServers: { pad: npx() } } },
      { servers: [PAD_SERVER] },
    ],
    [
      'any manifest',
      { '.codex-plugin/plugin.json': { mcpServers: { pad: npx() } } },
      { servers: [PAD_SERVER] },
    ],
    [
      'a path in a manifest',
      { 'plugin.json': { mcpServers: './x/servers.json' }, 'x/servers.json': { mcpServers: { pad: npx() } } },
      { servers: [PAD_SERVER] },
    ],
    [
      'paths and servers in a list',
      {
        'plugin.json': { mcpServers: ['${CLAUDE_PLUGIN_ROOT}/a.json', { more: npx('more') }] },
        'a.json': { pad: npx() },
      },
      {
        servers: [
          PAD_SERVER,
          { name: 'more', packages: [{ registryType: 'npm', identifier: 'more' }], command: 'npx -y more' },
        ],
      },
    ],
    [
      'remote servers',
      {
        'mcp.json': { mcpServers: { far: { type: 'streamable-http', url: 'https://mcp.acme.example/mcp' } } },
      },
      { servers: [{ name: 'far', url: 'https://mcp.acme.example/mcp' }] },
    ],
    [
      'remote servers behind mcp-remote',
      {
        'mcp.json': {
          mcpServers: { far: { command: 'npx mcp-remote https://mcp.acme.example/mcp' } },
        },
      },
      {
        servers: [
          {
            name: 'far',
            packages: [{ registryType: 'npm', identifier: 'mcp-remote' }],
            url: 'https://mcp.acme.example/mcp',
            command: 'npx mcp-remote https://mcp.acme.example/mcp',
          },
        ],
      },
    ],
    [
      'headersHelper',
      { 'mcp.json': { far: { url: 'https://x.example', headersHelper: 'npx left-pad' } } },
      { servers: [{ name: 'far', packages: [PAD], url: 'https://x.example' }] },
    ],
    ['hooks/hooks.json', { 'hooks/hooks.json': { description: 'x', hooks: hook() } }, { hooks: [PAD_HOOK] }],
    [
      'hooks.json',
      { 'hooks.json': { version: 1, hooks: { Stop: [{ command: 'npx left-pad' }] } } },
      { hooks: [PAD_HOOK] },
    ],
    ['hooks of a manifest', { 'plugin.json': { hooks: hook() } }, { hooks: [PAD_HOOK] }],
    [
      'hooks for two shells',
      {
        'hooks.json': { hooks: { Stop: [{ type: 'command', bash: './x.sh', powershell: 'npx left-pad' }] } },
      },
      { hooks: [{ event: 'Stop', command: './x.sh' }, PAD_HOOK] },
    ],
    [
      'hooks without a shell',
      {
        'hooks.json': {
          hooks: { Stop: [{ hooks: [{ type: 'command', command: 'npx', args: ['left-pad'] }] }] },
        },
      },
      { hooks: [PAD_HOOK] },
    ],
    [
      'hooks without a command',
      { 'hooks.json': { hooks: { Stop: [{ hooks: [{ type: 'prompt', prompt: 'x' }] }] } } },
      { hooks: [{ event: 'Stop' }] },
    ],
    [
      'monitors',
      { 'monitors/monitors.json': [{ name: 'x', command: 'npx left-pad' }] },
      { hooks: [{ ...PAD_HOOK, event: 'monitors' }] },
    ],
    [
      'monitors of a manifest',
      { 'plugin.json': { experimental: { monitors: [{ name: 'x', command: 'npx left-pad' }] } } },
      { hooks: [{ ...PAD_HOOK, event: 'monitors' }] },
    ],
    [
      'settings',
      { 'settings.json': { subagentStatusLine: { type: 'command', command: 'npx left-pad' } } },
      { hooks: [{ ...PAD_HOOK, event: 'subagentStatusLine' }] },
    ],
    [
      'frontmatter',
      {
        'skills/x/SKILL.md':
          '---\nname: x\ndescription: Does x.\nhooks:\n  Stop:\n    - hooks:\n        - type: command\n          command: npx left-pad\n---\n',
      },
      { skills: [{ name: 'x', description: 'Does x.' }], hooks: [PAD_HOOK] },
    ],
    [
      'frontmatter of an agent',
      {
        'agents/a.md': '---\nname: agent\nmcpServers:\n  pad: { command: npx, args: [-y, left-pad] }\n---\n',
      },
      { servers: [PAD_SERVER], agents: ['agent'] },
    ],
    [
      '.lsp.json',
      { '.lsp.json': { go: { command: 'gopls', args: ['serve'] } } },
      { lsp: [{ name: 'go', command: 'gopls serve' }] },
    ],
    [
      'lsp.json',
      { 'lsp.json': { lspServers: { go: { command: 'gopls' } } } },
      { lsp: [{ name: 'go', command: 'gopls' }] },
    ],
    [
      'lspServers',
      { 'plugin.json': { lspServers: './l.json' }, 'l.json': { pad: npx() } },
      { lsp: [PAD_SERVER] },
    ],
    [
      'folders',
      {
        'skills/one/SKILL.md': '---\nname: "one"\ndescription: >\n  Two\n  lines\n---\n',
        'skills/two/SKILL.md': 'no frontmatter',
        'commands/run.md': '',
        'agents/review.agent.md': '',
        'bin/tool': '',
        'src/other.md': '',
      },
      {
        skills: [
          { name: 'one', description: 'Two lines' },
          { name: 'two', description: '' },
        ],
        commands: ['run'],
        agents: ['review'],
        executables: ['bin/tool'],
      },
    ],
    [
      'folders of a manifest',
      {
        'plugin.json': { skills: ['./more/'], commands: './x.md', agents: ['./a'] },
        'more/s/SKILL.md': '',
        'x.md': '',
        'a/b.md': '',
      },
      { skills: [{ name: 's', description: '' }], commands: ['x'], agents: ['b'] },
    ],
    [
      'a skill',
      { 'SKILL.md': '---\nname: own\ndescription: d\n---' },
      { skills: [{ name: 'own', description: 'd' }] },
    ],
    [
      'what a skill needs in Codex',
      {
        'skills/s/SKILL.md': '',
        'skills/s/agents/openai.yaml':
          'dependencies:\n  tools:\n    - { type: mcp, value: docs, url: "https://x.example/mcp" }\n',
      },
      { servers: [{ name: 'docs', url: 'https://x.example/mcp' }], skills: [{ name: 's', description: '' }] },
    ],
  ])('%s', async (_, files, expected) => {
    expect(await membersIn(files)).toEqual(expected);
  });
});

it.each<[string, Files]>([
  ['a missing folder', { 'plugin.json': { skills: './skills/', commands: ['./x'] } }],
  ['a folder without member files', { 'README.md': 'npx left-pad', 'nested/.mcp.json': { pad: npx() } }],
])('finds no members in %s', async (_, files) => {
  expect(await membersIn(files)).toEqual({});
});

describe('a file is unreadable if it', () => {
  const servers = JSON.stringify({ pad: npx() });
  it.each<[string, Files]>([
    ['is broken', { '.mcp.json': servers.slice(0, -1) }],
    ['has a comment', { '.mcp.json': `// x\n${servers}` }],
    ['has a duplicate key', { '.mcp.json': '{"pad":{"command":"x"},"pad":{"command":"npx"}}' }],
    [
      'has a duplicate key, once escaped',
      { '.mcp.json': String.raw`{"pad":{"command":"x"},"p\u0061d":{"command":"npx"}}` },
    ],
    ['is not UTF-8', { '.mcp.json': Buffer.from([0x7b, 0xff, 0x7d]) }],
    ['is deep', { '.mcp.json': '['.repeat(100_000) }],
    ['is long', { '.mcp.json': { pad: npx(), more: 'x'.repeat(300_000) } }],
    ['is not a map', { '.mcp.json': [npx()] }],
    [
      'has an unknown launch command',
      { '.mcp.json': { pad: { command: '$(echo npx)', args: ['left-pad'] } } },
    ],
    ['has a command that is a map', { '.mcp.json': { pad: { command: {} } } }],
    ['has arguments in a text', { '.mcp.json': { pad: { command: 'npx', args: '-y left-pad' } } }],
    ['has an unknown URL', { '.mcp.json': { far: { url: 'https://${HOST}/mcp' } } }],
    ['has a long command', { '.mcp.json': { pad: { command: 'x'.repeat(3_000) } } }],
    ['has a NUL', { '.mcp.json': String.raw`{"pad":{"command":"n\u0000px"}}` }],
    [
      'has many members',
      { '.mcp.json': Object.fromEntries(Array.from({ length: 1_001 }, (_, at) => [`s${at}`, npx()])) },
    ],
    ['names a file that is not there', { 'plugin.json': { mcpServers: './missing.json' } }],
    ['names a pattern', { 'plugin.json': { agents: './a/*.md' } }],
    ['names a bundle', { 'plugin.json': { mcpServers: 'https://acme.example/x.mcpb' } }],
    [
      'has frontmatter that is not YAML',
      { 'skills/x/SKILL.md': '---\nname: x: y\nhooks:\n  Stop: []\n---\n' },
    ],
    ['has a duplicate key in frontmatter', { 'agents/x.md': '---\nhooks: {}\nhooks: {}\n---\n' }],
    ['hides a key in frontmatter', { 'agents/x.md': '---\n"\\x68ooks": { a: }\nb: c: d\n---\n' }],
    ['has a comment before keys', { 'agents/x.md': `---\n${'# x\n'.repeat(5_000)}hooks: {}\n---\n` }],
    [
      'may close its frontmatter',
      { 'agents/x.md': `---\n#${'x'.repeat(16 * 1024 - 9)}\n---x\nhooks: {}\n---\n` },
    ],
    ['has an alias as a key', { 'agents/x.md': '---\nname: &k hooks\n*k : {}\n---\n' }],
    ['has a key behind ?', { 'agents/x.md': '---\n? hooks # c\n: {}\n---\n' }],
    ['merges keys', { 'agents/x.md': '---\nx: {}\n<<: x\n---\n' }],
    [
      'has a long file of dependencies',
      { 'skills/x/agents/openai.yaml': `${'# x\n'.repeat(5_000)}dependencies: {}\n` },
    ],
    [
      'has an alias in a file of dependencies',
      { 'skills/x/agents/openai.yaml': 'x: &k dependencie\n*k : {}\n' },
    ],
    ['has long frontmatter', { 'agents/x.md': `---\nhooks: {}\nx: ${'y'.repeat(20_000)}\n---\n` }],
  ])('%s', async (_, files) => {
    expect((await membersIn(files)).unreadable).toEqual([Object.keys(files)[0]]);
  });
});

describe('an unreadable file', () => {
  it('keeps the known members of the other files', async () => {
    expect(await membersIn({ '.mcp.json': { pad: npx(), x: { command: '$X' } }, 'bin/y': '' })).toEqual({
      servers: [PAD_SERVER, { name: 'x', command: '$X' }],
      executables: ['bin/y'],
      unreadable: ['.mcp.json'],
    });
  });
});

describe('frontmatter is readable', () => {
  it('with text that looks like an anchor, a key or a pattern', async () => {
    const text = '---\nname: a\ndescription: R&D & more? Yes, *all* of it ? << 1\ntools: *\n---\n';
    expect(await membersIn({ 'agents/x.md': text + 'x'.repeat(20_000) })).toEqual({ agents: ['a'] });
  });

  it('that clients accept although it is not YAML', async () => {
    const text =
      '---\nname: a\ndescription: Use it: for hooks, and "more"\n  <example>user: hi</example>\n---\n';
    expect(await membersIn({ 'agents/x.md': text })).toEqual({ agents: ['a'] });
  });
});

describe('reading hostile files', () => {
  it('keeps members short and counts the rest as unreadable', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 900 }, (_, at) => [`s${at}`, { command: 'x'.repeat(1_000) }]),
    );
    const members = await membersIn({ '.mcp.json': many.s0 ? { s0: many.s0 } : {}, 'mcp.json': many });
    expect(members.unreadable).toEqual(['mcp.json']);
    expect(JSON.stringify(members).length).toBeLessThan(256 * 1024);
  });

  it.each<[string, Files]>([
    ...['<', '{', '%a', '$(', 'npx '].flatMap((text): [string, Files][] => {
      const long = text.repeat(250_000 / text.length);
      return [
        [`a URL of ${text}`, { '.mcp.json': { a: { url: long } } }],
        [`a helper of ${text}`, { '.mcp.json': { a: { url: 'https://x.example', headersHelper: long } } }],
        [`a line of ${text}`, { '.mcp.json': { a: { command: 'npm', env: { npm_config_call: long } } } }],
        [
          `a package of ${text}`,
          { '.mcp.json': { a: { command: 'npm', env: { npm_config_package: long } } } },
        ],
        [`a command of ${text}`, { '.mcp.json': { a: { command: long } } }],
        [`a hook of ${text}`, { 'hooks.json': hook(long) }],
      ];
    }),
    ['a path of slashes', { 'plugin.json': { skills: `a${'/'.repeat(250_000)}b` } }],
  ])('cuts %s before it parses it', async (_, files) => {
    const members = await membersIn(files);
    expect(members.unreadable).toEqual(Object.keys(files));
    expect(JSON.stringify(members).length).toBeLessThan(10_000);
  });

  it('ignores a long value of another variable', async () => {
    const a = { command: 'npx', args: ['left-pad'], env: { KEY: 'x'.repeat(10_000) } };
    expect((await membersIn({ '.mcp.json': { a } })).unreadable).toBeUndefined();
  });

  it('reads ten thousand commands in slices, between which timers run', async () => {
    const one = Object.fromEntries(Array.from({ length: 900 }, (_, at) => [`s${at}`, npx(`p${at % 7}`)]));
    const paths = Array.from({ length: 12 }, (_, at) => `s/${at}.json`);
    const files = Object.fromEntries(paths.map((path) => [path, { mcpServers: one }]));
    let ticks = 0;
    const timer = setInterval(() => (ticks += 1), 1);
    const members = await membersIn({ 'plugin.json': { mcpServers: paths }, ...files });
    clearInterval(timer);
    expect(members.servers).toHaveLength(900);
    expect(ticks).toBeGreaterThan(3);
  });

  it('parses only a limited number of skills', async () => {
    const text = '---\nname: x\nhooks: {}\n---\n';
    const paths = Array.from({ length: 60 }, (_, at) => `skills/s${at}/SKILL.md`);
    const members = await membersIn(Object.fromEntries(paths.map((path) => [path, text])));
    expect(members.unreadable).toHaveLength(10);
  });
});

describe('the tokens of members', () => {
  it('include packages in every spelling, URLs, hooks and skills', async () => {
    const members = await membersIn({
      '.mcp.json': {
        pad: npx('Left-Pad@1'),
        far: { url: 'https://MCP.acme.example/mcp/?x=1' },
        image: { command: 'docker', args: ['run', 'acme/mcp:1'] },
      },
      'hooks.json': hook('./x'),
      'SKILL.md': '---\nname: Own\n---\n',
    });
    expect(memberTokens(members)).toEqual(
      expect.arrayContaining([
        'npm:left-pad',
        'oci:acme/mcp:1',
        'oci:acme/mcp',
        'oci:docker.io/acme/mcp',
        'url:https://mcp.acme.example/mcp',
        'hook:stop',
        'skill:own',
      ]),
    );
  });
});

it.each(EVASIONS.map(({ way, reading, files }) => [way, reading, files] as const))(
  'a block cannot be evaded by %s: %s',
  async (_, reading, files) => {
    const members = await membersIn(files);
    const isRead = memberTokens(members).includes('npm:left-pad');
    expect(isRead ? 'read' : members.unreadable ? 'unreadable' : 'missed').toBe(reading);
  },
);
