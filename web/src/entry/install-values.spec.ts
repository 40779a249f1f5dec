import { describe, expect, it } from 'vitest';
import {
  askKey,
  entryIn,
  fieldsOf,
  filled,
  PLACEHOLDER,
  referredIn,
  toolhiveFields,
} from './install-values.js';

/** A package with a required and an optional variable, one of them secret, and an optional argument. */
const PART = {
  registryType: 'npm',
  identifier: 'tool',
  environmentVariables: [
    { name: 'MODE', description: 'How', choices: ['fast', 'slow'] },
    { name: 'TOKEN', isRequired: true, isSecret: true },
    { name: 'EXTRA', isSecret: true },
    { name: 'FIXED', value: 'x' },
  ],
  packageArguments: [{ type: 'positional', value: '{dir}', variables: { dir: { description: 'Folder' } } }],
};

const claude = {
  'x-environment': [
    { variable: 'MCP_T_MODE', server: 'io.a/t', name: 'MODE', description: 'How' },
    { variable: 'MCP_T_TOKEN', server: 'io.a/t', name: 'TOKEN', isSecret: true },
    { variable: 'MCP_T_EXTRA', server: 'io.a/t', name: 'EXTRA', isSecret: true },
    { variable: 'MCP_T_DIR', server: 'io.a/t', name: 'dir', description: 'Folder' },
  ],
  mcpServers: {
    'io.a/t': {
      type: 'stdio',
      command: 'npx',
      args: ['-y', 'tool', '${MCP_T_DIR:-}'],
      env: {
        MODE: '${MCP_T_MODE:-}',
        TOKEN: 'Bearer ${MCP_T_TOKEN}',
        EXTRA: '${MCP_T_EXTRA:-}',
        FIXED: 'x',
      },
    },
  },
};
const vscode = {
  inputs: [
    { type: 'pickString', id: 'io.a/t/MODE', description: 'io.a/t: How', options: ['fast', 'slow'] },
    { type: 'promptString', id: 'io.a/t/TOKEN', description: 'io.a/t: TOKEN', password: true },
    { type: 'promptString', id: 'io.a/t/EXTRA', description: 'io.a/t: EXTRA', password: true },
  ],
  servers: {
    'io.a/t': {
      type: 'stdio',
      command: 'npx',
      env: {
        MODE: '${input:io.a/t/MODE}',
        TOKEN: '${input:io.a/t/TOKEN}',
        EXTRA: '${input:io.a/t/EXTRA}',
      },
    },
  },
};
const codex = {
  'x-environment': [{ table: 'mcp_servers.t.env', variable: 'TOKEN', server: 'io.a/t', isSecret: true }],
  mcp_servers: { t: { command: 'npx', args: ['tool'] } },
};
const REMOTE = {
  headers: [{ name: 'Authorization', isRequired: true, value: 'Bearer {key}', variables: { key: {} } }],
};
const codexRemote = {
  'x-environment': [{ variable: 'MCP_KEY', server: 'io.a/t', name: 'key', isSecret: true }],
  mcp_servers: { t: { url: 'https://a.example', bearer_token_env_var: 'MCP_KEY' } },
};

describe('fieldsOf', () => {
  it('lists required fields and those that an argument needs first', () => {
    const fields = fieldsOf('claude-code', claude, PART);
    expect(fields.map(({ name, isRequired, isSecret }) => [name, isRequired, isSecret])).toEqual([
      ['TOKEN', true, true],
      ['dir', true, false],
      ['MODE', false, false],
      ['EXTRA', false, true],
    ]);
    expect(fields.find(({ name }) => name === 'MODE')?.choices).toEqual(['fast', 'slow']);
  });

  it('leaves secrets to VS Code, and headers of remotes to the environment of Codex', () => {
    const from = (fields: ReturnType<typeof fieldsOf>) => fields.map((field) => [field.name, field.from]);
    expect(from(fieldsOf('vscode', vscode, PART))).toEqual([
      ['TOKEN', 'prompt'],
      ['MODE', 'form'],
      ['EXTRA', 'prompt'],
    ]);
    expect(from(fieldsOf('codex', codex, PART))).toEqual([['TOKEN', 'form']]);
    expect(from(fieldsOf('codex', codexRemote, REMOTE))).toEqual([['key', 'environment']]);
    expect(from(toolhiveFields(PART))).toEqual([
      ['TOKEN', 'prompt'],
      ['MODE', 'form'],
      ['EXTRA', 'prompt'],
    ]);
  });
});

describe('filled', () => {
  const envOf = (
    client: string,
    configuration: object,
    values: Record<string, string>,
    options: Parameters<typeof filled>[3],
  ) => {
    const { entry } = entryIn(configuration as Record<string, unknown>);
    const fields = fieldsOf(client, configuration as Record<string, unknown>, PART);
    return filled(entry, fields, values, options) as { env?: object; args?: string[] };
  };
  const COMMAND = { withSecrets: true, missing: 'placeholder' } as const;
  const FILE = { withSecrets: false, missing: 'reference' } as const;

  it('leaves out optional values that are missing, and asks for required ones', () => {
    expect(envOf('claude-code', claude, {}, COMMAND)).toMatchObject({
      args: ['-y', 'tool', PLACEHOLDER],
      env: { TOKEN: `Bearer ${PLACEHOLDER}`, FIXED: 'x' },
    });
    expect(envOf('claude-code', claude, {}, COMMAND).env).toEqual({
      TOKEN: `Bearer ${PLACEHOLDER}`,
      FIXED: 'x',
    });
  });

  it('writes the values once, even if one looks like a reference', () => {
    const values = { TOKEN: '${MCP_T_MODE:-}', MODE: 'fast', dir: '/a', EXTRA: '$&' };
    expect(envOf('claude-code', claude, values, COMMAND)).toMatchObject({
      args: ['-y', 'tool', '/a'],
      env: { TOKEN: 'Bearer ${MCP_T_MODE:-}', MODE: 'fast', EXTRA: '$&', FIXED: 'x' },
    });
  });

  it('keeps the references of secrets in files that others may read', () => {
    const values = { TOKEN: 'secret', MODE: 'fast', dir: '/a' };
    const entry = envOf('claude-code', claude, values, FILE);
    expect(entry.env).toEqual({ TOKEN: 'Bearer ${MCP_T_TOKEN}', MODE: 'fast', FIXED: 'x' });
    const left = referredIn(fieldsOf('claude-code', claude, PART), entry as never);
    expect(left.map(({ variable }) => variable)).toEqual(['MCP_T_TOKEN']);
  });

  it('lets VS Code ask for required secrets, and for optional ones on request', () => {
    const typed = { TOKEN: 'secret', EXTRA: 'secret' };
    expect(envOf('vscode', vscode, typed, FILE).env).toEqual({ TOKEN: '${input:io.a/t/TOKEN}' });
    expect(envOf('vscode', vscode, { [askKey('EXTRA')]: 'yes' }, FILE).env).toEqual({
      TOKEN: '${input:io.a/t/TOKEN}',
      EXTRA: '${input:io.a/t/EXTRA}',
    });
  });

  it('adds the variables that Codex has no references for', () => {
    expect(envOf('codex', codex, { TOKEN: 'x' }, COMMAND).env).toEqual({ TOKEN: 'x' });
    expect(envOf('codex', codex, {}, COMMAND).env).toEqual({ TOKEN: PLACEHOLDER });
    expect(envOf('codex', codex, {}, FILE).env).toBeUndefined();
  });

  it('leaves the headers of remotes to the environment of Codex', () => {
    const { entry } = entryIn(codexRemote);
    expect(filled(entry, fieldsOf('codex', codexRemote, REMOTE), {}, COMMAND)).toEqual(entry);
  });
});
