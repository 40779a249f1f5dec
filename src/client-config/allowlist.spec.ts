import { basename } from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CATALOGUES } from '../../test/support/catalogues.js';
import { configOf as mergedConfig } from '../../test/support/client-configs.js';
import { checkServer } from '../documents/document-rules.js';
import { type ClientName, CLIENTS, type ConfigForm, formsOf } from './clients.js';
import { limitedKey, shortKey } from './server-writer.js';
import { inSoak } from '../../test/support/soak.js';

type Document = Record<string, unknown>;
interface Entry {
  url?: string;
  command?: string;
  args?: string[];
}
interface ListEntry {
  serverUrl?: string;
  serverCommand?: string[];
}
interface CodexIdentity {
  url?: string;
  command?: { executable: string; args: { match: string; value: string }[] };
}
interface Config {
  servers?: Record<string, Entry>;
  mcpServers?: Record<string, Entry>;
  mcp_servers?: Record<string, Entry & { identity?: CodexIdentity }>;
  allowedMcpServers?: ListEntry[];
  deniedMcpServers?: ListEntry[];
  commandEntries?: string[];
  urlEntries?: string[];
  'x-omitted'?: { name: string; reason: string }[];
}

function configOf(
  client: ClientName,
  form: ConfigForm,
  documents: readonly Document[],
  denied: readonly Document[] = [],
): Config {
  return mergedConfig(client, form, documents, denied);
}

const keyOf = (client: ClientName, name: string) => {
  if (client === 'codex') return shortKey(name);
  return client === 'cursor' ? limitedKey(name) : name;
};

const glob = (pattern: string) =>
  new RegExp(
    `^${pattern
      .split('*')
      .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      .join('.*')}$`,
    's',
  );

const matches = ({ serverUrl, serverCommand }: ListEntry, { url, command, args = [] }: Entry) =>
  url === undefined
    ? JSON.stringify(serverCommand) === JSON.stringify([command, ...args])
    : serverUrl !== undefined && glob(serverUrl).test(url);

/** Returns whether a client runs a server, according to its documentation: see clients.ts. */
function allows(client: ClientName, form: ConfigForm, list: Config, key: string, entry: Entry): boolean {
  const { url, command, args = [] } = entry;
  if (client === 'codex') {
    const identity = list.mcp_servers?.[key]?.identity;
    return url === undefined
      ? identity?.command?.executable === command &&
          JSON.stringify(identity?.command?.args) ===
            JSON.stringify(args.map((value) => ({ match: 'exact', value })))
      : identity?.url === url;
  }
  if (client === 'cursor')
    return url === undefined
      ? (list.commandEntries ?? []).some((one) => glob(one).test(`/usr/bin/${[command, ...args].join(' ')}`))
      : (list.urlEntries ?? []).some((one) => glob(one).test(url));
  const isDenied = (list.deniedMcpServers ?? []).some((one) => matches(one, entry));
  const isListed = form === 'denylist' || (list.allowedMcpServers ?? []).some((one) => matches(one, entry));
  return !isDenied && isListed;
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
  // RawMcpServerConfig in config.schema.json of github.com/openai/codex.
  codex: {
    oneOf: [
      {
        type: 'object',
        additionalProperties: false,
        required: ['command', 'args'],
        properties: {
          command: { type: 'string' },
          args: { type: 'array', items: { type: 'string' } },
          env: strings,
        },
      },
      {
        type: 'object',
        additionalProperties: false,
        required: ['url'],
        properties: {
          url: { type: 'string', pattern: '^https?://' },
          bearer_token_env_var: { type: 'string' },
          http_headers: strings,
          env_http_headers: strings,
        },
      },
    ],
  },
};

const listEntries = {
  type: 'array',
  items: {
    anyOf: [
      ['serverCommand', { type: 'array', items: { type: 'string' } }] as const,
      ['serverUrl', { type: 'string' }] as const,
    ].map(([key, value]) => ({
      type: 'object',
      additionalProperties: false,
      required: [key],
      properties: { [key]: value },
    })),
  },
};
const managedSettings = {
  type: 'object',
  properties: {
    allowedMcpServers: listEntries,
    deniedMcpServers: listEntries,
    allowManagedMcpServersOnly: { type: 'boolean' },
  },
};
const texts = { type: 'array', items: { type: 'string' } };
/** The lists. For Claude Code and Copilot: claude-code-settings.json of schemastore.org; the others publish no schema. */
const LIST_SCHEMAS: Record<ClientName, object> = {
  vscode: managedSettings,
  copilot: managedSettings,
  'claude-code': managedSettings,
  cursor: { type: 'object', properties: { commandEntries: texts, urlEntries: texts } },
  codex: {
    type: 'object',
    properties: {
      mcp_servers: {
        type: 'object',
        additionalProperties: {
          type: 'object',
          required: ['identity'],
          properties: { identity: { type: 'object' } },
        },
      },
    },
  },
};

const VALIDATORS = new Map<object, ValidateFunction>();

function isValid(schema: object, value: unknown): boolean {
  const validate = VALIDATORS.get(schema) ?? new Ajv({ strict: false }).compile(schema);
  VALIDATORS.set(schema, validate);
  return validate(value);
}

const entriesOf = ({ servers, mcpServers, mcp_servers: codex }: Config) =>
  servers ?? mcpServers ?? codex ?? {};
const omittedIn = (client: ClientName, config: Config) =>
  new Set((config['x-omitted'] ?? []).map(({ name }) => keyOf(client, name)));

/** Returns entries that the client cannot read, or that are missing both from its lists and from the omissions. */
function problemsOf(
  client: ClientName,
  documents: readonly Document[],
  denied: readonly Document[] = [],
): string[] {
  const config = configOf(client, 'servers', documents);
  const entries = Object.entries(entriesOf(config));
  return [
    ...entries
      .filter(([, entry]) => !isValid(SERVER_SCHEMAS[client], entry))
      .map(([name]) => `${name} is not valid`),
    ...formsOf(client)
      .filter((form) => form !== 'servers')
      .filter((form) => !isValid(LIST_SCHEMAS[client], configOf(client, form, documents, denied)))
      .map((form) => `${form} is not valid`),
    ...(entries.length + (config['x-omitted']?.length ?? 0) === documents.length ? [] : ['some are lost']),
    ...formsOf(client)
      .filter((form) => form === 'allowlist' || form === 'managed')
      .flatMap((form) => {
        const omitted = omittedIn(client, configOf(client, form, documents));
        const list = configOf(client, form, documents, denied);
        return entries
          .filter(([key, entry]) => allows(client, form, list, key, entry) === omitted.has(key))
          .map(([key]) => `${form}: ${key} is ${omitted.has(key) ? 'omitted but allowed' : 'not allowed'}`);
      }),
  ];
}

/** Returns denied versions that a client's list neither blocks nor omits. */
function allowedAlthoughDenied(
  client: ClientName,
  documents: readonly Document[],
  denied: readonly Document[],
): string[] {
  return formsOf(client)
    .filter((form) => form !== 'servers')
    .flatMap((form) => {
      const list = configOf(client, form, documents, denied);
      const omitted = omittedIn(client, list);
      const listed = configOf(client, 'allowlist', documents);
      return denied
        .flatMap((document) => Object.entries(entriesOf(configOf(client, 'servers', [document]))))
        .filter(([key, entry]) => allows(client, form, list, key, entry) && !omitted.has(key))
        .filter(([key, entry]) => !allows(client, 'allowlist', listed, key, entry))
        .map(([key]) => `${form}: ${key} is allowed`);
    });
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
const documents = (namespace: string, ways = 4) =>
  fc
    .array(
      fc
        .record({ packages: list(aPackage), remotes: list(aRemote) })
        .filter(({ packages, remotes }) => packages.length + remotes.length <= ways),
      { maxLength: 4 },
    )
    .map((all) => all.map((one, at) => ({ name: `${namespace}/s${at}`, version: '1.0.0', ...one })));
const RUNS = inSoak(10_000, 15);

describe.each(CLIENTS)('each entry for %s', (client) => {
  it('is valid, and each list allows or omits it, even if something is denied', () => {
    fc.assert(
      fc.property(documents('io.acme'), documents('io.old'), (all, denied) => {
        expect(problemsOf(client, all, denied)).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });

  it('is refused by each list if it is denied, unless a listed server is identical', () => {
    fc.assert(
      fc.property(documents('io.acme'), documents('io.old', 1), (all, denied) => {
        expect(allowedAlthoughDenied(client, all, denied)).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });

  it.each(CATALOGUES.map(({ path, text }) => ({ file: basename(path), text })))(
    'is valid, and allowed or omitted, in $file',
    ({ text }) => {
      const { servers } = (JSON.parse(text) as { data: { servers: Document[] } }).data;
      const valid = servers.filter((document) => checkServer(document).length === 0);
      // Files may contain several versions of a name; a configuration contains one.
      const last = new Map(valid.map((document) => [document['name'], document]));
      expect(problemsOf(client, [...last.values()])).toEqual([]);
    },
  );
});
