import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CATALOGUES } from '../../test/support/catalogues.js';
import { configOf as mergedConfig } from '../../test/support/client-configs.js';
import { checkServer } from '../documents/document-rules.js';
import { type ClientName, CLIENTS } from './client-config.js';

type Document = Record<string, unknown>;
interface Entry {
  url?: string;
  command?: string;
  args?: string[];
}
interface Config {
  servers?: Record<string, Entry>;
  mcpServers?: Record<string, Entry>;
  allowedMcpServers?: { serverUrl?: string; serverCommand?: string[] }[];
  commandEntries?: string[];
  urlEntries?: string[];
  'x-omitted'?: { name: string; reason: string }[];
}

function configOf(client: ClientName, form: 'servers' | 'allowlist', documents: readonly Document[]): Config {
  return mergedConfig(client, form, documents);
}

const glob = (pattern: string) =>
  new RegExp(
    `^${pattern
      .split('*')
      .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      .join('.*')}$`,
    's',
  );

/** Returns whether a client allows a server, according to its documentation: see clients.ts. */
function allows(client: ClientName, list: Config, { url, command, args = [] }: Entry): boolean {
  if (client === 'cursor')
    return url === undefined
      ? (list.commandEntries ?? []).some((entry) =>
          glob(entry).test(`/usr/bin/${[command, ...args].join(' ')}`),
        )
      : (list.urlEntries ?? []).some((entry) => glob(entry).test(url));
  return (list.allowedMcpServers ?? []).some(({ serverUrl, serverCommand }) =>
    url === undefined
      ? JSON.stringify(serverCommand) === JSON.stringify([command, ...args])
      : serverUrl !== undefined && glob(serverUrl).test(url),
  );
}

const strings = { type: 'object', additionalProperties: { type: 'string' } };
const stdio = (type: string, more: object = {}) => ({
  type: 'object',
  additionalProperties: false,
  required: ['type', 'command', ...Object.keys(more)],
  properties: {
    type: { const: type },
    command: { enum: ['npx', 'uvx', 'docker', 'dnx'] },
    args: { type: 'array', items: { type: 'string' } },
    env: strings,
    ...more,
  },
});
const http = (more: object = {}) => ({
  type: 'object',
  additionalProperties: false,
  required: ['url', ...Object.keys(more)],
  properties: { url: { type: 'string', pattern: '^https?://' }, headers: strings, ...more },
});
const type = { enum: ['http', 'sse'] };
const tools = { const: ['*'] };
/** Based on the documentation of the clients, linked in clients.ts. */
const SERVER_SCHEMAS: Record<ClientName, object> = {
  vscode: { oneOf: [stdio('stdio'), http({ type })] },
  copilot: { oneOf: [stdio('local', { tools }), http({ type, tools })] },
  'claude-code': { oneOf: [stdio('stdio'), http({ type })] },
  cursor: { oneOf: [stdio('stdio'), http()] },
};

const VALIDATORS = new Map<ClientName, ValidateFunction>();

/** Returns entries that the client cannot read, or that its allow-list neither allows nor omits. */
function problemsOf(client: ClientName, documents: readonly Document[]): string[] {
  const [config, list] = [configOf(client, 'servers', documents), configOf(client, 'allowlist', documents)];
  const entries = Object.entries(config.servers ?? config.mcpServers ?? {});
  const omitted = new Set((list['x-omitted'] ?? []).map(({ name }) => name));
  const validate = VALIDATORS.get(client) ?? new Ajv({ strict: false }).compile(SERVER_SCHEMAS[client]);
  VALIDATORS.set(client, validate);
  return [
    ...entries.filter(([, entry]) => !validate(entry)).map(([name]) => `${name} is not valid`),
    ...entries
      .filter(([name, entry]) => allows(client, list, entry) === omitted.has(name))
      .map(([name]) => `${name} is ${omitted.has(name) ? 'omitted but allowed' : 'not allowed'}`),
    ...(entries.length + (config['x-omitted']?.length ?? 0) === documents.length ? [] : ['some are lost']),
  ];
}

const word = fc.oneof(
  fc.constantFrom(
    'a',
    '--flag',
    '${input:x}',
    '$HOME',
    '$(id)',
    '*',
    'a b',
    '"',
    '{v}',
    '$',
    'constructor',
    '__proto__',
  ),
  fc.string({ maxLength: 6 }),
);
const input = fc.record(
  {
    value: word,
    default: word,
    isRequired: fc.boolean(),
    isSecret: fc.boolean(),
    variables: fc.constant({ v: { isRequired: true } }),
  },
  { requiredKeys: [] },
);
const list = (of: fc.Arbitrary<object>) => fc.array(of, { maxLength: 2 });
const named = fc.tuple(input, word).map(([one, name]) => ({ ...one, name }));
const argument = fc.oneof(
  fc.tuple(named).map(([one]) => ({ ...one, type: 'named' })),
  fc.tuple(input, word).map(([one, valueHint]) => ({ ...one, type: 'positional', valueHint })),
);
const aPackage = fc.record({
  registryType: fc.constantFrom('npm', 'pypi', 'oci', 'nuget', 'mcpb', 'constructor'),
  identifier: fc.oneof(fc.constantFrom('weather', 'acme/weather'), word),
  version: fc.constantFrom('1.0.0', undefined),
  transport: fc.constantFrom({ type: 'stdio' }, { type: 'sse', url: 'http://localhost/' }),
  runtimeArguments: list(argument),
  packageArguments: list(argument),
  environmentVariables: list(named),
});
const aRemote = fc.record({
  type: fc.constantFrom('streamable-http', 'sse'),
  url: fc.constantFrom(
    'https://a.example',
    'https://{v}.example/mcp',
    'https://a.example/{v}/mcp?k={v}',
    'https://a.example/*',
    '{v}',
  ),
  headers: list(named),
  variables: fc.constant({ v: {} }),
});
const documents = fc
  .array(fc.record({ packages: list(aPackage), remotes: list(aRemote) }), { maxLength: 4 })
  .map((all) => all.map((one, at) => ({ name: `io.acme/s${at}`, version: '1.0.0', ...one })));

describe.each(CLIENTS)('each entry for %s', (client) => {
  it('is valid, and allowed by the allow-list or omitted from it', () => {
    fc.assert(
      fc.property(documents, (all) => {
        expect(problemsOf(client, all)).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });

  it.each(readdirSync(CATALOGUES).filter((file) => file.endsWith('.json')))(
    'is valid, and allowed or omitted, in %s',
    (file) => {
      const { data } = JSON.parse(readFileSync(join(CATALOGUES, file), 'utf8')) as {
        data: { servers: Document[] };
      };
      const valid = data.servers.filter((document) => checkServer(document).length === 0);
      // Files may contain several versions of a name; a configuration contains one.
      const last = new Map(valid.map((document) => [document['name'], document]));
      expect(problemsOf(client, [...last.values()])).toEqual([]);
    },
  );
});
