import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  claudeCommand,
  codexCommand,
  commandLine,
  shortName,
  skillCommands,
  toolhiveCommand,
} from './install-commands.js';
import { cursorLink, vscodeLink } from './install-links.js';

const NAME = 'io.github.acme/tool.kit';
const npx = { type: 'stdio', command: 'npx', args: ['-y', '@acme/tool@1.2.3'] };

describe('claudeCommand', () => {
  it.each([
    [npx, 'claude mcp add --scope user --transport stdio tool -- npx -y @acme/tool@1.2.3'],
    [
      { ...npx, env: { MODE: '${HOME} b' } },
      `claude mcp add --scope user --env 'MODE=\${HOME} b' --transport stdio tool -- npx -y @acme/tool@1.2.3`,
    ],
    [
      { type: 'http', url: 'https://acme.example/mcp', headers: { Authorization: 'Bearer x' } },
      "claude mcp add --scope user --transport http tool https://acme.example/mcp --header 'Authorization: Bearer x'",
    ],
  ])('of %j is %s, and replaces a server of that name', (entry, command) =>
    expect(claudeCommand('tool', entry, 'user')).toBe(
      `claude mcp remove --scope user tool 2>/dev/null\n${command}`,
    ),
  );

  it.each([{ type: 'stdio', command: 'npx', args: ['a\u001b[201~\nrm'] }, { type: 'stdio' }])(
    'does not exist for %j',
    (entry) => expect(claudeCommand('tool', entry, 'user')).toBeUndefined(),
  );
});

describe('codexCommand', () => {
  it.each([
    [
      { command: 'npx', args: ['x'], env: { MODE: '${HOME}' } },
      "codex mcp add tool --env 'MODE=${HOME}' -- npx x",
    ],
    [
      { url: 'https://acme.example/mcp', bearer_token_env_var: 'TOOL_TOKEN' },
      'codex mcp add tool --url https://acme.example/mcp --bearer-token-env-var TOOL_TOKEN',
    ],
    [{ url: 'https://acme.example/mcp', http_headers: { A: 'b' } }, undefined],
  ])('of %j is %s', (entry, command) => expect(codexCommand('tool', entry)).toBe(command));
});

describe('toolhiveCommand', () => {
  it('sets the registry and replaces a server of that name', () => {
    expect(toolhiveCommand('https://registry.example/registry/a', NAME, [['A', 'b c']])).toBe(
      'thv config set-registry https://registry.example/registry/a --allow-private-ip\n' +
        'thv rm tool-kit 2>/dev/null\n' +
        "thv run --name tool-kit --env 'A=b c' io.github.acme/tool.kit",
    );
  });

  it('does not exist with characters that are unsafe in a terminal', () => {
    expect(toolhiveCommand('https://registry.example/registry/a', NAME, [['A', '\u001b']])).toBeUndefined();
  });
});

describe('commandLine', () => {
  it.each([
    ['$(id)'],
    ['`id`'],
    ["it's"],
    ['a"b'],
    ['a\\b'],
    ['; id'],
    ['$HOME ${HOME} ${NONE:-}'],
    ['*'],
    ['~'],
    ['!!'],
    [''],
    ['--x=é'],
  ])('quotes %s so that a shell passes it on unchanged', (word) => {
    const line = commandLine(['printf', '%s', word]) ?? '';
    expect(execFileSync('/bin/sh', ['-c', line]).toString()).toBe(word);
  });
});

it('shortName keeps the characters that the commands accept', () => {
  expect(['io.acme/a.b c', 'io.acme/-x-', 'io.acme/日本'].map(shortName)).toEqual(['a-b-c', 'x', 'server']);
});

describe('links', () => {
  it('contain the name and the configuration', () => {
    const vscode = vscodeLink(NAME, npx, [{ id: 'a&b' }]) ?? '';
    expect(vscode).toMatch(/^vscode:mcp\/install\?[\w%.~!*'()-]+$/);
    expect(JSON.parse(decodeURIComponent(vscode.slice(vscode.indexOf('?') + 1)))).toEqual({
      name: NAME,
      ...npx,
      inputs: [{ id: 'a&b' }],
    });
    const cursor = new URL(cursorLink(NAME, { ...npx, args: ['é\u202e'] }) ?? '');
    expect(cursor.searchParams.get('name')).toBe(NAME);
    const config = Buffer.from(cursor.searchParams.get('config') ?? '', 'base64').toString();
    expect(JSON.parse(config)).toEqual({ ...npx, args: ['é\u202e'] });
  });

  it('of VS Code shorten descriptions beyond 2,000 characters', () => {
    const inputs = [{ id: 'acme/tool/TOKEN', description: 'x'.repeat(2_000), password: true }];
    const link = vscodeLink(NAME, npx, inputs) ?? '';
    expect(JSON.parse(decodeURIComponent(link.slice(link.indexOf('?') + 1)))).toEqual({
      name: NAME,
      ...npx,
      inputs: [{ id: 'acme/tool/TOKEN', description: 'TOKEN', password: true }],
    });
  });

  it('are left out beyond 2,000 characters', () => {
    const long = { ...npx, args: ['x'.repeat(2_000)] };
    expect([vscodeLink(NAME, long, undefined), cursorLink(NAME, long)]).toEqual([undefined, undefined]);
  });
});

describe('skillCommands', () => {
  const home = mkdtempSync(join(tmpdir(), 'skill-commands-'));
  const upstream = join(home, 'upstream');
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', upstream, ...args])
      .toString()
      .trim();
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(upstream, path)), { recursive: true });
    writeFileSync(join(upstream, path), text);
    git('add', '.');
    git('-c', 'user.name=a', '-c', 'user.email=a@example.com', 'commit', '-qm', path);
  };
  /** Runs the commands as a user would paste them. */
  const run = (commands = '') => {
    const config = [`HOME=${home}`, 'GIT_CONFIG_COUNT=1', `GIT_CONFIG_VALUE_0=${url}`];
    const key = `GIT_CONFIG_KEY_0=url.file://${upstream}.insteadOf`;
    const input = `export ${[...config, key].join(' ')}\n${commands}`;
    return execFileSync('sh', ['-e'], { input, cwd: home, stdio: ['pipe', 'pipe', 'pipe'] });
  };
  const filesOf = (folder: string) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .map((file) => file.replaceAll('\\', '/'))
      .sort();
  const url = 'https://git.example.com/skills';
  const folder = join(home, 'skills', 'review');

  beforeAll(() => {
    mkdirSync(upstream);
    git('init', '-q', '-b', 'main');
    write('sets/my review/SKILL.md', 'first');
    write('sets/my review/scripts/run.sh', 'run');
    git('tag', 'v1');
  });
  afterAll(() => rmSync(home, { recursive: true }));

  it('copy a folder of a repository, and update it when they run again', () => {
    const commands = skillCommands({ url, subfolder: './sets/my review/' }, folder);
    run(commands);
    expect(filesOf(folder)).toEqual(['SKILL.md', 'scripts', 'scripts/run.sh']);
    write('sets/my review/SKILL.md', 'second');
    run(commands);
    expect(filesOf(folder)).toEqual(['SKILL.md', 'scripts', 'scripts/run.sh']);
    expect(readFileSync(join(folder, 'SKILL.md'), 'utf8')).toBe('second');
  });

  it('copy a whole repository without its history, of a tag or commit', () => {
    for (const [at, version] of [
      [{ ref: 'v1' }, 'first'],
      [{ commit: git('rev-parse', 'main') }, 'second'],
    ] as const) {
      run(skillCommands({ url, ...at }, folder));
      expect(readFileSync(join(folder, 'sets/my review/SKILL.md'), 'utf8')).toBe(version);
      expect(filesOf(folder)).not.toContain('.git');
    }
  });

  it.each([
    { url: 'ext::sh -c id' },
    { url: '--upload-pack=id' },
    { url, ref: '--upload-pack=id' },
    { url, commit: '--output=x' },
    { url, subfolder: 'a/../../b' },
    { url, subfolder: 'a\u001b[201~' },
    {},
  ])('do not exist for %j', (repository) => {
    expect(skillCommands(repository, '~/skills/x')).toBeUndefined();
  });
});
