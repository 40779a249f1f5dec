type Files = Readonly<Record<string, string>>;

/** A way to start npm's left-pad past a block of it. */
interface Evasion {
  readonly way: string;
  /**
   * Whether the launch is found, counts as a match because it cannot be read, or is missed, as docs/security.md says.
   */
  readonly reading: 'read' | 'unreadable' | 'missed';
  readonly files: Files;
}

const json = (path: string, value: unknown): Files => ({ [path]: JSON.stringify(value) });
const server = (command: string, args: readonly string[] = [], more: object = {}): Files =>
  json('.mcp.json', { mcpServers: { safe: { command, args, ...more } } });
const npx = (name: string): Files => server('npx', ['-y', name]);
const hook = (command: string): Files =>
  json('hooks/hooks.json', { hooks: { Stop: [{ hooks: [{ type: 'command', command }] }] } });
const PAD = { command: 'npx', args: ['left-pad'] };

const READ: Readonly<Record<string, Files>> = {
  'a shell': server('sh', ['-c', 'npx left-pad']),
  'a shell in a shell': server('sh', ['-c', `bash -c 'npx left-pad'`]),
  'quotes in the program': server('sh', ['-c', String.raw`n""p\x left-pad`]),
  env: server('env', ['-i', 'npx', 'left-pad']),
  'env -S': server('env', ['-Snpx left-pad']),
  'a path': server('/opt/../usr/bin/npx', ['left-pad']),
  'case and extension': server('NpX.Cmd', ['left-pad']),
  'an ignored character': server('np\u200bx', ['left-pad']),
  'the case of the name': npx('LEFT-PAD'),
  'a version': npx('left-pad@>=0'),
  'an alias': npx('safe@npm:left-pad'),
  'an option': server('npx', ['--package', 'left-pad', 'safe']),
  'an unknown option': server('npx', ['--unknown', 'x', 'left-pad']),
  'a tarball': npx('https://r.example/left-pad/-/left-pad-1.tgz'),
  'a variable of npm': server('npx', ['-c', 'x'], { env: { NPM_CONFIG_PACKAGE: 'left-pad' } }),
  'npm itself': server('node', ['npm/bin/npx-cli.js', 'left-pad']),
  'another launcher': server('corepack', ['pnpm', 'dlx', 'left-pad']),
  'a package of mise': server('mise', ['x', 'npm:left-pad', '--', 'safe']),
  'a line with mise': hook(`su -c "mise x npm:left-pad"`),
  'a launcher from npm': server('npx', ['bun', 'x', 'left-pad']),
  'an installation': hook('npm i -g left-pad && left-pad'),
  'a whole line': server('npx -y left-pad'),
  'a second line': hook('true\nnpx left-pad'),
  cmd: server('cmd', ['/cn^px left-pad']),
  'a container': server('docker', ['run', 'node', 'npx', 'left-pad']),
  'a second manifest': {
    ...json('plugin.json', { name: 'safe' }),
    ...json('.plugin/plugin.json', { name: 'safe', mcpServers: { safe: PAD } }),
  },
  'a manifest beside a file': {
    ...json('.claude-plugin/plugin.json', { name: 'safe', mcpServers: { safe: PAD } }),
    ...json('.mcp.json', {}),
  },
  'the case of a file': json('.MCP.JSON', { safe: PAD }),
  'an ignored character in a file name': json('.mcp\u200b.json', { safe: PAD }),
  'an escaped key': {
    '.mcp.json': String.raw`{"mcpServer\u0073":{"safe":{"command":"npx","args":["left-pad"]}}}`,
  },
  'a byte order mark': { '.mcp.json': `\ufeff${JSON.stringify({ safe: PAD })}` },
  'a hook': hook('npx left-pad'),
  'a monitor': json('monitors/monitors.json', [{ name: 'safe', command: 'npx left-pad' }]),
  'a language server': json('.lsp.json', { safe: PAD }),
  'a skill where the manifest says': {
    ...json('plugin.json', { name: 'safe', skills: './' }),
    'x/SKILL.md': '---\nname: x\nhooks:\n  Stop: [{ command: npx left-pad }]\n---\n',
  },
};

const UNREADABLE: Readonly<Record<string, Files>> = {
  'a key twice': { '.mcp.json': '{"a":{"command":"npx","args":["left-pad"]},"a":{"command":"x"}}' },
  'a comment': { '.mcp.json': '{"a":{"command":"npx","args":["left-pad"]}} // x' },
  'a substitution': npx('$(echo left-pad)'),
  'a variable': server('${X:-npx}', ['left-pad']),
  'a pipe': hook('echo npx left-pad | sh'),
  'a function': hook('f() { npx "$@"; }; f left-pad'),
  base64: hook('$(echo bnB4Cg== | base64 -d) left-pad'),
  code: server('node', ['-e', `require('child_process').execSync('npx left-pad')`]),
  'code with nlx': server('node', ['-e', `require('child_process').execSync('nlx left-pad')`]),
  'a compose file': server('docker', ['compose', 'run', 'pad']),
  'a bundle': { ...json('plugin.json', { name: 'safe', mcpServers: './pad.mcpb' }), 'pad.mcpb': 'PK' },
};

const MISSED: Readonly<Record<string, Files>> = {
  'a script of the plugin': { ...server('${CLAUDE_PLUGIN_ROOT}/run.sh'), 'run.sh': 'npx left-pad' },
  'a script of package.json': {
    ...server('npm', ['start']),
    ...json('package.json', { scripts: { start: 'npx left-pad' } }),
  },
  'code for a program': hook(`awk 'BEGIN { system("npx left-pad") }'`),
  'a variable of a program': server('git', ['fetch'], { env: { GIT_SSH_COMMAND: 'npx left-pad' } }),
  'a program in bin': { 'bin/safe': 'npx left-pad' },
  'the text of a command': { 'commands/safe.md': '!`npx left-pad`' },
  'a dependency in package.json': json('package.json', { dependencies: { 'left-pad': '1' } }),
  'a repository': npx('github:stevemao/left-pad'),
  'a package that runs it': npx('runs-left-pad'),
  'a plugin in a folder': json('x/.claude-plugin/plugin.json', { mcpServers: { safe: PAD } }),
};

export const EVASIONS: readonly Evasion[] = Object.entries({
  read: READ,
  unreadable: UNREADABLE,
  missed: MISSED,
}).flatMap(([reading, ways]) =>
  Object.entries(ways).map(([way, files]) => ({ way, reading: reading as Evasion['reading'], files })),
);
