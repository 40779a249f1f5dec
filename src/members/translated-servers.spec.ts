import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { CLAUDE_FILE, PORTABLE_FILE, translatedServers } from './translated-servers.js';

type Config = Record<string, unknown>;

/** The translation of a single server: its configuration, or the reason why there is none. */
function translated(file: typeof PORTABLE_FILE | typeof CLAUDE_FILE, config: unknown): unknown {
  const { text, untranslated } = translatedServers(file, JSON.stringify({ mcpServers: { one: config } }));
  const { mcpServers } = JSON.parse(text ?? '{}') as { mcpServers?: { one?: Config } };
  return mcpServers?.one ?? untranslated[0]?.reason;
}

const CLAUDE_ENV = { PLUGIN_ROOT: '${CLAUDE_PLUGIN_ROOT}', PLUGIN_DATA: '${CLAUDE_PLUGIN_DATA}' };
const PORTABLE_ENV = { CLAUDE_PLUGIN_ROOT: '${PLUGIN_ROOT}', CLAUDE_PLUGIN_DATA: '${PLUGIN_DATA}' };

describe('mcp.json for Claude Code', () => {
  it.each<[string, Config, Config]>([
    [
      'a program with the plugin’s folders',
      {
        type: 'stdio',
        command: 'node',
        args: ['${PLUGIN_ROOT}/a.js', '--data=${PLUGIN_DATA}/x'],
        env: { A: '${PLUGIN_ROOT}' },
      },
      {
        type: 'stdio',
        command: 'node',
        args: ['${CLAUDE_PLUGIN_ROOT}/a.js', '--data=${CLAUDE_PLUGIN_DATA}/x'],
        env: { A: '${CLAUDE_PLUGIN_ROOT}', ...CLAUDE_ENV },
      },
    ],
    [
      'a file of the plugin, in the plugin’s folder',
      { type: 'stdio', command: './bin/server', cwd: '${PLUGIN_ROOT}' },
      { type: 'stdio', command: '${CLAUDE_PLUGIN_ROOT}/bin/server', args: [], env: CLAUDE_ENV },
    ],
    [
      'a remote server',
      { type: 'streamable-http', url: 'https://acme.example/mcp', headers: { 'X-A': '$b' } },
      { type: 'http', url: 'https://acme.example/mcp', headers: { 'X-A': '$b' } },
    ],
    [
      'a remote server with SSE',
      { type: 'sse', url: 'http://127.0.0.1:8000/sse' },
      { type: 'sse', url: 'http://127.0.0.1:8000/sse' },
    ],
  ])('has %s', (_, config, expected) => {
    expect(translated(PORTABLE_FILE, config)).toEqual(expected);
  });

  it.each<[unknown, RegExp]>([
    // Claude Code would expand these; Agent Plugins does not.
    [{ command: 'node', args: ['${HOME}/a.js'] }, /\$\{HOME\}/],
    [{ command: 'node', args: ['${CLAUDE_PLUGIN_ROOT}/a.js'] }, /\$\{CLAUDE_PLUGIN_ROOT\}/],
    [{ command: 'node', env: { A: '${PLUGIN_ROOT:-x}' } }, /\$\{PLUGIN_ROOT:-x\}/],
    [{ url: 'https://acme.example', headers: { A: '${B}' } }, /\$\{B\}/],
    [{ url: 'https://${HOST}/mcp' }, /\$\{HOST\}/],
    [{ command: 'node', cwd: '${PLUGIN_DATA}' }, /working directory/],
    [{ command: 'node', args: ['./a.js'] }, /relative path/],
    [{ command: 'node', args: ['..'] }, /relative path/],
    [{ command: '../a' }, /command/],
    [{ command: './../a' }, /command/],
    [{ command: '/bin/a' }, /command/],
    [{ command: '${PLUGIN_ROOT}/a' }, /command/],
    [{ command: 'npx -y a' }, /command/],
    [{}, /command/],
    [{ command: 'node', env: { PLUGIN_ROOT: 'x' } }, /env/],
    [{ command: 'node', env: { A: 1 } }, /env/],
    [{ command: 'node', args: 'a' }, /args/],
    [{ command: 'node', disabled: true }, /`disabled`/],
    [{ type: 'ws', url: 'wss://acme.example' }, /transport/],
    [{ type: 'http', command: 'node' }, /transport/],
    [{ url: 'http://acme.example/mcp' }, /url/],
    [{ url: 'https://user@acme.example/mcp' }, /url/],
    [{ url: 'https://acme.example/mcp#a' }, /url/],
  ])('leaves out %j', (config, reason) => {
    expect(translated(PORTABLE_FILE, config)).toMatch(reason);
  });
});

describe('.mcp.json for Agent Plugins', () => {
  it.each<[string, Config, Config]>([
    [
      'a program with the plugin’s folders',
      { command: 'node', args: ['${CLAUDE_PLUGIN_ROOT}/a.js'], env: { A: '${CLAUDE_PLUGIN_DATA}' } },
      {
        type: 'stdio',
        command: 'node',
        args: ['${PLUGIN_ROOT}/a.js'],
        env: { A: '${PLUGIN_DATA}', ...PORTABLE_ENV },
      },
    ],
    [
      'a file of the plugin',
      { type: 'stdio', command: '${CLAUDE_PLUGIN_ROOT}/bin/server' },
      { type: 'stdio', command: './bin/server', args: [], env: PORTABLE_ENV },
    ],
    [
      'a remote server',
      { type: 'http', url: 'https://acme.example/mcp', headers: { A: 'b' } },
      { type: 'streamable-http', url: 'https://acme.example/mcp', headers: { A: 'b' } },
    ],
  ])('has %s', (_, config, expected) => {
    expect(translated(CLAUDE_FILE, config)).toEqual(expected);
  });

  it.each<[unknown, RegExp]>([
    [{ command: 'node', args: ['${CLAUDE_PROJECT_DIR}'] }, /\$\{CLAUDE_PROJECT_DIR\}/],
    [{ command: 'node', args: ['${PLUGIN_ROOT}/a.js'] }, /\$\{PLUGIN_ROOT\}/],
    [{ command: 'node', env: { TOKEN: '${TOKEN}' } }, /\$\{TOKEN\}/],
    [{ command: '${CLAUDE_PLUGIN_ROOT}' }, /command/],
    [{ command: '${CLAUDE_PLUGIN_ROOT}/../a' }, /command/],
    [{ command: './bin/server' }, /command/],
    [{ command: 'node', cwd: '/tmp' }, /cwd/],
    [{ url: 'https://acme.example', headersHelper: 'x' }, /`headersHelper`/],
    [{ url: 'https://acme.example', headers: { A: 'Bearer ${TOKEN}' } }, /\$\{TOKEN\}/],
  ])('leaves out %j', (config, reason) => {
    expect(translated(CLAUDE_FILE, config)).toMatch(reason);
  });

  it('reads servers at the top of the file, and returns a file that Agent Plugins accepts', () => {
    const { text } = translatedServers(
      CLAUDE_FILE,
      '{"one":{"command":"npx","args":["-y","a"]},"two":{"url":"https://a.example"}}',
    );
    const isServers = new Ajv2020({ strict: false }).compile(SERVERS_SCHEMA);
    const value = JSON.parse(text ?? '') as { mcpServers: Config };
    expect(isServers(value)).toBe(true);
    expect(Object.keys(value.mcpServers)).toEqual(['one', 'two']);
  });
});

it.each([
  ['no JSON', '{'],
  ['a list', '[]'],
  ['a server that is not an object', '{"mcpServers":{"one":"npx"}}'],
  ['too deep', `{"a":${'['.repeat(200)}${']'.repeat(200)}}`],
  ['too long', `{"mcpServers":{},"x":"${'x'.repeat(256 * 1_024)}"}`],
])('a file that is %s has no translation, and is reported', (_, text) => {
  expect(translatedServers(CLAUDE_FILE, text)).toEqual({
    text: null,
    untranslated: [{ file: CLAUDE_FILE, reason: 'The file is not an object of servers' }],
    hasNone: true,
  });
});

it('reports each server that is left out, and keeps the others', () => {
  const mcpServers = { good: { command: 'npx' }, bad: { command: './x' }, __proto__x: { url: 'ftp://x' } };
  const { text, untranslated } = translatedServers(CLAUDE_FILE, JSON.stringify({ mcpServers }));
  expect(Object.keys((JSON.parse(text ?? '') as { mcpServers: Config }).mcpServers)).toEqual(['good']);
  expect(untranslated.map(({ file, server }) => [file, server])).toEqual([
    [CLAUDE_FILE, 'bad'],
    [CLAUDE_FILE, '__proto__x'],
  ]);
});

/** https://agent-plugins.org/schemas/1.0.0/mcp.schema.json, without descriptions. */
const STRINGS = { type: 'object', additionalProperties: { type: 'string' } };
const SERVERS_SCHEMA = {
  type: 'object',
  properties: {
    $schema: { const: 'https://agent-plugins.org/schemas/1.0.0/mcp.schema.json' },
    mcpServers: {
      type: 'object',
      additionalProperties: {
        oneOf: [
          {
            type: 'object',
            properties: {
              type: { const: 'stdio' },
              command: { type: 'string', minLength: 1 },
              args: { type: 'array', items: { type: 'string' } },
              env: { ...STRINGS, propertyNames: { not: { enum: ['PLUGIN_ROOT', 'PLUGIN_DATA'] } } },
            },
            required: ['type', 'command'],
            additionalProperties: false,
          },
          ...['streamable-http', 'sse'].map((type) => ({
            type: 'object',
            properties: { type: { const: type }, url: { type: 'string', minLength: 1 }, headers: STRINGS },
            required: ['type', 'url'],
            additionalProperties: false,
          })),
        ],
      },
    },
  },
  required: ['$schema', 'mcpServers'],
  additionalProperties: false,
};
