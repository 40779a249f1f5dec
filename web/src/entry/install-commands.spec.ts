import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import {
  claudeCommand,
  codexCommand,
  commandLine,
  cursorLink,
  shortName,
  vscodeLink,
} from './install-commands.js';

const NAME = 'io.github.acme/tool.kit';
const npx = { type: 'stdio', command: 'npx', args: ['-y', '@acme/tool@1.2.3'] };

describe('claudeCommand', () => {
  it.each([
    [npx, [], 'claude mcp add --transport stdio tool-kit -- npx -y @acme/tool@1.2.3'],
    [
      { ...npx, env: { MODE: '${HOME} b', TOKEN: '${TOOL_TOKEN}' } },
      ['TOOL_TOKEN'],
      `claude mcp add --env 'MODE=\${HOME} b' --env TOKEN=YOUR_VALUE --transport stdio tool-kit -- npx -y @acme/tool@1.2.3`,
    ],
    [
      { type: 'http', url: 'https://acme.example/mcp', headers: { Authorization: 'Bearer ${TOOL_TOKEN:-}' } },
      ['TOOL_TOKEN'],
      "claude mcp add --transport http tool-kit https://acme.example/mcp --header 'Authorization: Bearer YOUR_VALUE'",
    ],
    [{ type: 'stdio', command: 'npx', args: ['a\u001b[201~\nrm'] }, [], undefined],
    [{ type: 'stdio' }, [], undefined],
  ])('of %j with %j is %s', (entry, variables, command) =>
    expect(claudeCommand(NAME, entry, variables)).toBe(command),
  );
});

describe('codexCommand', () => {
  it.each([
    [
      { command: 'npx', args: ['x'], env: { MODE: '${HOME}' } },
      ['TOKEN'],
      "codex mcp add tool-kit --env 'MODE=${HOME}' --env TOKEN=YOUR_VALUE -- npx x",
    ],
    [
      { url: 'https://acme.example/mcp', bearer_token_env_var: 'TOOL_TOKEN' },
      [],
      'codex mcp add tool-kit --url https://acme.example/mcp --bearer-token-env-var TOOL_TOKEN',
    ],
    [{ url: 'https://acme.example/mcp', http_headers: { A: 'b' } }, [], undefined],
  ])('of %j with %j is %s', (entry, variables, command) =>
    expect(codexCommand(NAME, entry, variables)).toBe(command),
  );
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
