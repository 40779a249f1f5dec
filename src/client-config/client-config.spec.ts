import { describe, expect, it } from 'vitest';
import { parse } from 'smol-toml';
import { configOf as mergedConfig, versionOf } from '../../test/support/client-configs.js';
import { ClientConfig } from './client-config.js';
import { type ClientName, CLIENTS, type ConfigForm, formsOf } from './clients.js';
import { limitedKey, shortKey } from './server-writer.js';

type Document = Record<string, unknown>;

const server = (more: Document): Document => ({ name: 'io.acme/weather', version: '1.0.0', ...more });
const run = (registryType: string, identifier: string, more: Document = {}) =>
  server({ packages: [{ registryType, identifier, transport: { type: 'stdio' }, ...more }] });
const remote = (url: string, more: Document = {}) =>
  server({ remotes: [{ type: 'streamable-http', url, ...more }] });
const value = (text: string) => ({ packageArguments: [{ type: 'positional', value: text }] });

interface Config {
  servers?: Record<string, Document>;
  mcpServers?: Record<string, Document>;
  mcp_servers?: Record<string, Document>;
  inputs?: Document[];
  'x-omitted'?: { reason: string }[];
  'x-environment'?: Document[];
}

function configOf(client: ClientName, form: ConfigForm, ...documents: Document[]): Config & Document {
  return mergedConfig(client, form, documents) as Config & Document;
}

/** Returns the entry for the only server, or the reason for its omission. */
function entryOf(client: ClientName, document: Document): unknown {
  const config = configOf(client, 'servers', document);
  return (
    config['x-omitted']?.[0]?.reason ??
    Object.values(config.servers ?? config.mcpServers ?? config.mcp_servers ?? {})[0]
  );
}

const DIGEST = 'a'.repeat(64);

describe('the command that runs a package', () => {
  it.each<[Document, string]>([
    [run('npm', '@acme/weather', { version: '1.2.3' }), 'npx -y @acme/weather@1.2.3'],
    [run('npm', 'weather'), 'npx -y weather'],
    [run('npm', 'weather', { runtimeHint: 'npx', fileSha256: DIGEST }), 'npx -y weather'],
    ...['node', 'npm'].map((runtimeHint): [Document, string] => [
      run('npm', 'weather', { runtimeHint }),
      'npx -y weather',
    ]),
    ...['python', 'python3', 'pip', 'uv'].map((runtimeHint): [Document, string] => [
      run('pypi', 'weather', { runtimeHint }),
      'uvx weather',
    ]),
    [run('oci', 'acme/weather', { runtimeHint: 'podman' }), 'docker run -i --rm acme/weather'],
    [run('pypi', 'weather', { version: '1.2' }), 'uvx weather@1.2'],
    [run('pypi', 'python-weather', { version: '1.2' }), 'uvx python-weather@1.2'],
    [run('oci', 'acme/weather', { version: '1.2' }), 'docker run -i --rm acme/weather:1.2'],
    [
      run('oci', 'ghcr.io:443/acme/weather:1.2', { version: '1.2' }),
      'docker run -i --rm ghcr.io:443/acme/weather:1.2',
    ],
    [
      run('oci', 'acme/weather', { version: `sha256:${DIGEST}` }),
      `docker run -i --rm acme/weather@sha256:${DIGEST}`,
    ],
    [run('nuget', 'Acme.Weather', { version: '1.2.3', ...value('a') }), 'dnx Acme.Weather@1.2.3 --yes -- a'],
    [
      run('npm', 'weather', { packageArguments: [{ type: 'named', name: '--port', value: '80' }] }),
      'npx -y weather --port 80',
    ],
    [
      run('npm', 'weather', { packageArguments: [{ type: 'named', name: '--port', default: '80' }] }),
      'npx -y weather --port 80',
    ],
    [
      run('npm', 'weather', { packageArguments: [{ type: 'named', name: '--fast' }] }),
      'npx -y weather --fast',
    ],
    [
      run('npm', 'weather', { packageArguments: [{ type: 'positional', valueHint: 'folder' }] }),
      'npx -y weather',
    ],
  ])('%j: %s', (document, command) => {
    for (const client of CLIENTS) {
      const { command: program, args } = entryOf(client, document) as { command: string; args: string[] };
      expect([program, ...args].join(' '), client).toBe(command);
    }
  });
});

describe('a server is omitted', () => {
  it.each<[Document, string]>([
    [server({}), 'no_connection'],
    [run('mcpb', 'https://acme.example/weather.mcpb'), 'unsupported_registry_type'],
    [run('constructor', 'weather'), 'unsupported_registry_type'],
    [
      run('npm', 'weather', { transport: { type: 'sse', url: 'http://localhost/' } }),
      'unsupported_transport',
    ],
    [run('npm', 'weather', { registryBaseUrl: 'https://npm.evil.example' }), 'custom_package_registry'],
    [run('npm', '--registry=https://evil.example'), 'invalid_package'],
    [run('npm', 'acme/weather'), 'invalid_package'],
    [run('npm', 'weather', { version: 'https://evil.example/x.tgz' }), 'invalid_package'],
    [run('npm', 'weather', { version: 'npm:evil' }), 'invalid_package'],
    [run('npm', 'weather', { version: '--call=id' }), 'invalid_package'],
    [run('npm', 'weather', { version: '1.0.0 --call=id' }), 'invalid_package'],
    [run('npm', 'weather', { version: '1.0.tgz' }), 'invalid_package'],
    [run('npm', 'weather@npm:evil'), 'invalid_package'],
    [run('npm', 'weather.tgz'), 'invalid_package'],
    [run('npm', 'weather.tar.gz'), 'invalid_package'],
    [run('pypi', '-r evil'), 'invalid_package'],
    [run('pypi', 'weather @ https://evil.example/x.whl'), 'invalid_package'],
    [run('pypi', 'weather.whl'), 'invalid_package'],
    [run('pypi', 'python', value('-c')), 'invalid_package'],
    [run('pypi', 'Python3.12', { version: '3.12' }), 'invalid_package'],
    [run('oci', '--privileged'), 'invalid_package'],
    [run('oci', 'weather evil'), 'invalid_package'],
    [run('oci', 'weather', { version: 'sha256:evil' }), 'invalid_package'],
    [run('nuget', '--source'), 'invalid_package'],
    [run('nuget', 'Weather', { version: '1.0.0 --source evil' }), 'invalid_package'],
    [run('npm', 'weather', { runtimeHint: 'sh' }), 'unsupported_runtime'],
    [run('npm', 'weather', { runtimeHint: 'docker' }), 'unsupported_runtime'],
    [run('npm', 'weather', { runtimeHint: 'python' }), 'unsupported_runtime'],
    [run('pypi', 'weather', { runtimeHint: 'node' }), 'unsupported_runtime'],
    [run('oci', 'acme/weather', { runtimeHint: 'npm' }), 'unsupported_runtime'],
    [run('npm', 'weather', { runtimeHint: 'NODE' }), 'unsupported_runtime'],
    [run('nuget', 'Acme.Weather', { runtimeHint: 'dotnet' }), 'unsupported_runtime'],
    [run('npm', 'weather', { environmentVariables: [{ name: 'A=B' }] }), 'invalid_environment_variable'],
    [remote('https://a.example/<YOUR_TOKEN>'), 'invalid_url'],
    [remote('https://user:secret@a.example/'), 'invalid_url'],
    [remote('{scheme}://a.example/', { variables: { scheme: {} } }), 'invalid_url'],
    [remote('https://a.example/', { headers: [{ name: 'X', value: 'a\nY: b' }] }), 'invalid_header'],
    [remote('https://a.example/', { headers: [{ name: 'X: y', value: 'a' }] }), 'invalid_header'],
    [
      remote('https://a.example/', {
        headers: [
          { name: 'X', value: 'a' },
          { name: 'x', value: 'b' },
        ],
      }),
      'invalid_header',
    ],
  ])('%j: %s', (document, reason) => {
    for (const client of CLIENTS) expect(entryOf(client, document), client).toBe(reason);
  });
});

// Text that a client would expand, or a shell between the client and the program.
describe('text of a document', () => {
  const texts = [
    '${input:token}',
    '${env:SECRET}',
    '${SECRET}',
    '$SECRET',
    '$(id)',
    '`id`',
    '"',
    "'",
    'a;b',
    'a|b',
    '%PATH%',
    'a\nb',
    'a b',
    '$',
  ];
  const omits = {
    vscode: { remote: /\$[{S]/, npm: /[$`"';|%\n]/, oci: /\$[{S]/ },
    copilot: { remote: /\$[{S]/, npm: /[$`"';|%\n]/, oci: /\$[{S]/ },
    'claude-code': { remote: /\$\{/, npm: /\$\{/, oci: /\$\{/ },
    cursor: { remote: /\$\{/, npm: /[$`"';|%\n]/, oci: /[$`"';|%\n]/ },
    codex: { remote: /(?!)/, npm: /(?!)/, oci: /(?!)/ },
  } satisfies Record<ClientName, object>;

  it.each(CLIENTS.flatMap((client) => texts.map((text) => [client, text] as const)))(
    'is unchanged for %s, or the server is omitted: %j',
    (client, text) => {
      const { npm, oci, remote: inHeader } = omits[client];
      for (const [type, pattern] of [
        ['npm', npm],
        ['oci', oci],
      ] as const) {
        const entry = entryOf(client, run(type, 'weather', value(text)));
        if (pattern.test(text)) expect(entry).toMatch(/^(shell_syntax|variable_reference)$/);
        else expect((entry as { args: string[] }).args.at(-1)).toBe(text);
      }
      if (text.includes('\n')) return;
      const entry = entryOf(
        client,
        remote('https://a.example/mcp', { headers: [{ name: 'X-Y', value: text }] }),
      );
      if (inHeader.test(text)) expect(entry).toBe('variable_reference');
      else
        expect(entry).toMatchObject({ [client === 'codex' ? 'http_headers' : 'headers']: { 'X-Y': text } });
    },
  );

  it.each(CLIENTS)('never forms a variable reference with the text after it, for %s', (client) => {
    const omission = client === 'codex' ? 'unsupported_input' : 'variable_reference';
    const headers = [{ name: 'X', value: '${token}', variables: { token: { isRequired: true } } }];
    expect(entryOf(client, remote('https://a.example/mcp', { headers }))).toBe(omission);
  });

  it('is set only inside the container, to which user input is passed on', () => {
    const environmentVariables = [{ name: 'MODE', value: 'fast' }, { name: 'TOKEN' }];
    expect(entryOf('claude-code', run('oci', 'weather', { environmentVariables }))).toEqual({
      type: 'stdio',
      command: 'docker',
      args: ['run', '-i', '--rm', '-e', 'MODE=fast', '-e', 'TOKEN', 'weather'],
      env: { TOKEN: expect.stringMatching(/^\$\{MCP_WEATHER_[0-9A-F]{16}_TOKEN:-\}$/) },
    });
  });
});

describe('user input', () => {
  const secret = { name: 'AWS_SECRET_ACCESS_KEY', description: 'The key', isRequired: true, isSecret: true };
  const document = run('npm', 'weather', { environmentVariables: [secret] });

  it('has an id unique to the server in VS Code', () => {
    const other = { ...document, name: 'io.evil/weather' };
    expect(configOf('vscode', 'servers', document, other)).toEqual({
      servers: {
        'io.acme/weather': expect.objectContaining({
          env: { AWS_SECRET_ACCESS_KEY: '${input:io.acme/weather/AWS_SECRET_ACCESS_KEY}' },
        }),
        'io.evil/weather': expect.objectContaining({
          env: { AWS_SECRET_ACCESS_KEY: '${input:io.evil/weather/AWS_SECRET_ACCESS_KEY}' },
        }),
      },
      inputs: ['io.acme', 'io.evil'].map((namespace) => ({
        type: 'promptString',
        id: `${namespace}/weather/AWS_SECRET_ACCESS_KEY`,
        description: `${namespace}/weather: The key`,
        password: true,
      })),
    });
  });

  it.each(['copilot', 'claude-code', 'cursor'] as const)(
    'is a generated variable for %s, not an existing one of the user',
    (client) => {
      const config = configOf(client, 'servers', document, { ...document, name: 'io.evil/weather' });
      const variables = (config['x-environment'] ?? []).map(({ variable }) => variable);
      expect(new Set(variables).size).toBe(2);
      for (const variable of variables)
        expect(variable).toMatch(/^MCP_WEATHER_[0-9A-F]{16}_AWS_SECRET_ACCESS_KEY$/);
      expect(JSON.stringify(config)).not.toMatch(/\$\{(env:)?AWS/);
    },
  );
});

describe('the allow-list', () => {
  const open = { packageArguments: [{ type: 'positional', valueHint: 'folder', isRequired: true }] };

  it.each<[ClientName, Document, unknown]>([
    ['copilot', run('npm', 'weather', open), 'chosen_by_user'],
    ['vscode', run('npm', 'weather', open), 'chosen_by_user'],
    ['cursor', run('npm', 'weather', open), 'chosen_by_user'],
    [
      'claude-code',
      run('npm', 'weather', open),
      { serverCommand: ['npx', '-y', 'weather', expect.stringMatching(/^\$\{MCP_/)] },
    ],
    [
      'copilot',
      remote('https://a.example/{id}/mcp', { variables: { id: {} } }),
      { serverUrl: 'https://a.example/*/mcp' },
    ],
    ['claude-code', remote('https://{id}.example/mcp', { variables: { id: {} } }), 'chosen_by_user'],
    ['claude-code', remote('https://a.example/*'), 'wildcard'],
    ['claude-code', remote('https://a.example'), { serverUrl: 'https://a.example/' }],
  ])('of %s for %j: %j', (client, document, expected) => {
    const { 'x-omitted': omitted, allowedMcpServers = [] } = configOf(client, 'allowlist', document);
    expect(omitted?.[0]?.reason ?? (allowedMcpServers as unknown[])[0]).toEqual(expected);
  });
});

describe('a document that expands to much more text', () => {
  const names = (count: number) => Array.from({ length: count }, (_, index) => `x${index}`);
  const long = 'x'.repeat(50_000);
  const secrets = (count: number) =>
    names(count).map((name) => ({ name: `${'N'.repeat(100)}${name}`, isSecret: true }));

  it.each<[string, Document]>([
    [
      'many references to a long value',
      remote(`https://a.example/${'{id}'.repeat(2_000)}`, { variables: { id: { value: long } } }),
    ],
    [
      'a long description of user input',
      remote(`https://a.example/${'{id}'.repeat(2_000)}`, { variables: { id: { description: long } } }),
    ],
    [
      'very many choices',
      remote(`https://a.example/${'{id}'.repeat(2_000)}`, { variables: { id: { choices: names(3_000) } } }),
    ],
    [
      'very many headers with user input',
      remote('https://a.example/', { headers: names(1_500).map((name) => ({ name, isSecret: true })) }),
    ],
    [
      'very many variables',
      run('npm', 'weather', { environmentVariables: names(2_000).map((name) => ({ name, value: '1' })) }),
    ],
    ['long names of user input', server({ ...remote('https://a.example/', { headers: secrets(300) }) })],
  ])('with %s is omitted', (_, document) => {
    expect(JSON.stringify(document).length).toBeLessThan(64 * 1_024);
    for (const client of CLIENTS)
      expect(entryOf(client, document)).toMatch(
        client === 'codex' ? /^(too_long|unsupported_input)$/ : /^too_long$/,
      );
  });

  it('is omitted if any of its members exceeds 64 KiB', () => {
    const { length } = JSON.stringify(remote('https://a.example/', { more: '' }));
    for (const letter of ['x', '\u00e9']) {
      const fits = Math.floor((64 * 1_024 - length) / Buffer.byteLength(letter));
      for (const client of CLIENTS) {
        const at = (count: number) =>
          entryOf(client, remote('https://a.example/', { more: letter.repeat(count) }));
        expect(at(fits)).toMatchObject({ url: 'https://a.example/' });
        expect(at(fits + 1)).toBe('too_long');
      }
    }
  });

  it('has an entry if its lengths are realistic', () => {
    const headers = names(50).map((name) => ({ name, isSecret: true, description: 'y'.repeat(200) }));
    const document = remote('https://a.example/{id}{id}', {
      variables: { id: { value: 'x'.repeat(500) } },
      headers,
    });
    expect(configOf('vscode', 'servers', document).inputs).toHaveLength(50);
  });

  it('is searched for a connection up to a limit', () => {
    const remotes = names(1_000).map(() => ({ type: 'sse', url: 'x' }));
    const packages = [{ registryType: 'npm', identifier: 'weather', transport: { type: 'stdio' } }];
    expect(entryOf('cursor', server({ remotes: remotes.slice(0, 49), packages }))).toMatchObject({
      command: 'npx',
    });
    expect(entryOf('cursor', server({ remotes, packages }))).toBe('invalid_url');
  });

  it('gives distinct IDs to inputs with the same name', () => {
    const packageArguments = names(300).map((description) => ({
      type: 'positional',
      valueHint: 'folder',
      isRequired: true,
      description,
    }));
    const { inputs = [] } = configOf('vscode', 'servers', run('npm', 'weather', { packageArguments }));
    const ids = inputs.map(({ id }) => id);
    expect(new Set(ids).size).toBe(300);
    expect([ids[0], ids[1], ids[299]]).toEqual(
      ['', '_2', '_300'].map((end) => `io.acme/weather/folder${end}`),
    );
  });
});

describe('the text of a configuration', () => {
  const secret = { headers: [{ name: 'X', isSecret: true, isRequired: true, description: 'a\nb' }] };
  const documents = [
    { ...remote('https://a.example/', secret), name: 'io.acme/a' },
    { ...run('npm', 'b', value('x')), name: 'io.acme/b' },
    { ...server({}), name: 'io.acme/c' },
    { ...run('oci', 'd'), name: 'io.acme/d' },
  ];

  it.each(CLIENTS.flatMap((client) => formsOf(client).map((form) => [client, form] as const)))(
    'for %s, %s, does not depend on the pages it is read in',
    async (client, form) => {
      const config = new ClientConfig(client, form);
      const parts = documents.map((document) =>
        form === 'denylist' ? config.denied(versionOf(document), new Set()) : config.of(versionOf(document)),
      );
      const textOf = async (perPage: number, count = parts.length) => {
        const read = async (key: string, after: number | null) => {
          const [start, end] = [after ?? 0, Math.min((after ?? 0) + perPage, count)];
          const items = await config.itemsOf(key, parts.slice(start, end));
          return { items, next: end < count ? end : null };
        };
        const pieces: Buffer[] = [];
        for await (const piece of config.text(read)) pieces.push(piece);
        return Buffer.concat(pieces).toString();
      };
      const [all, none] = [await textOf(4), await textOf(1, 0)];
      for (const perPage of [1, 2]) expect(await textOf(perPage)).toBe(all);
      const expected: Document = {};
      for (const part of parts)
        for (const [key, value] of Object.entries(part))
          expected[key] = Array.isArray(value)
            ? [...((expected[key] ?? []) as unknown[]), ...(value as unknown[])]
            : typeof value === 'object'
              ? { ...(expected[key] as object), ...value }
              : value;
      const parsed = (text: string) =>
        client === 'codex' ? parse(text.replace(/^# /gm, '')) : (JSON.parse(text) as object);
      expect(parsed(all)).toMatchObject(expected);
      if (client === 'codex') expect(Object.keys(parse(all))).toEqual(['mcp_servers']);
      else expect(all).toBe(`${JSON.stringify(JSON.parse(all), null, 2)}\n`);
      const serversKey = { vscode: 'servers', codex: 'mcp_servers' }[client as string] ?? 'mcpServers';
      if (form === 'servers' || client === 'codex') expect(parsed(none)).toEqual({ [serversKey]: {} });
    },
  );
});

describe('Codex', () => {
  const KEY = shortKey('io.acme/weather');
  const secret = { isSecret: true, isRequired: true, description: 'The key' };

  it('reads headers from generated variables', () => {
    const headers = [
      { name: 'Authorization', value: 'Bearer {token}', variables: { token: secret } },
      { name: 'X-Key', ...secret },
      { name: 'X-Mode', value: 'fast' },
    ];
    const config = configOf('codex', 'servers', remote('https://a.example/mcp', { headers }));
    expect(config.mcp_servers).toEqual({
      [KEY]: {
        url: 'https://a.example/mcp',
        bearer_token_env_var: expect.stringMatching(/^MCP_WEATHER_[0-9A-F]{16}_TOKEN$/),
        http_headers: { 'X-Mode': 'fast' },
        env_http_headers: { 'X-Key': expect.stringMatching(/^MCP_WEATHER_[0-9A-F]{16}_X_KEY$/) },
      },
    });
    expect(config['x-environment']).toMatchObject([{ name: 'token' }, { name: 'X-Key' }]);
  });

  it("does not pass on the user's existing variables; the server's table has the values", () => {
    const environmentVariables = [
      { name: 'AWS_SECRET_ACCESS_KEY', ...secret },
      { name: 'MODE', value: 'fast' },
    ];
    const config = configOf('codex', 'servers', run('npm', 'weather', { environmentVariables }));
    expect(config).toEqual({
      mcp_servers: { [KEY]: { command: 'npx', args: ['-y', 'weather'], env: { MODE: 'fast' } } },
      'x-environment': [
        {
          table: `mcp_servers.${KEY}.env`,
          variable: 'AWS_SECRET_ACCESS_KEY',
          server: 'io.acme/weather',
          description: 'The key',
          isSecret: true,
        },
      ],
    });
  });

  it.each<[string, Document, string]>([
    ['HTTP+SSE', server({ remotes: [{ type: 'sse', url: 'https://a.example/' }] }), 'unsupported_remote'],
    ['user input in a URL', remote('https://a.example/{id}', { variables: { id: {} } }), 'unsupported_input'],
    [
      'user input in an argument',
      run('npm', 'a', { packageArguments: [{ type: 'positional', isRequired: true }] }),
      'unsupported_input',
    ],
  ])('omits %s', (_, document, reason) => expect(entryOf('codex', document)).toBe(reason));

  it('is bound to the key, the program and each argument', () => {
    for (const form of ['allowlist', 'managed'] as const)
      expect(
        configOf('codex', form, run('npm', 'weather'), {
          ...remote('https://a.example/'),
          name: 'io.acme/b',
        }),
      ).toEqual({
        mcp_servers: {
          [KEY]: {
            identity: {
              command: {
                executable: 'npx',
                args: ['-y', 'weather'].map((text) => ({ match: 'exact', value: text })),
              },
            },
          },
          [shortKey('io.acme/b')]: { identity: { url: 'https://a.example/' } },
        },
      });
  });
});

describe('the key of a server', () => {
  const long = `io.github.${'a'.repeat(40)}/${'weather-'.repeat(5)}`;

  it('is at most 30 characters long for Cursor and Codex, stable and unique', () => {
    expect(limitedKey('io.acme/weather')).toBe('io.acme/weather');
    expect(limitedKey(long)).toBe(shortKey(long));
    expect(shortKey('io.acme/weather')).toBe('weather-0sr4uh9lt9c78');
    const names = Array.from({ length: 1_000 }, (_, at) => `${long}${at}`);
    const keys = names.map(shortKey);
    expect(new Set(keys).size).toBe(names.length);
    for (const key of keys) expect(key).toMatch(/^[A-Za-z0-9_-]{14,30}$/);
    expect(
      Object.keys(
        configOf('cursor', 'servers', { ...remote('https://a.example/'), name: long }).mcpServers ?? {},
      ),
    ).toEqual([shortKey(long)]);
  });
});

describe('the deny-list', () => {
  const old = (more: Document, name = 'io.acme/weather'): Document => ({ ...more, name, version: '0.9.0' });
  const deniedIn = (form: ConfigForm, listed: readonly Document[], denied: readonly Document[]) =>
    mergedConfig('claude-code', form, listed, denied) as {
      deniedMcpServers?: unknown[];
      'x-omitted'?: object[];
    };

  it('blocks every connection of a version', () => {
    const document = {
      ...run('npm', 'weather', { version: '0.9.0' }),
      ...remote('https://old.acme.example/mcp'),
    };
    for (const form of ['denylist', 'managed'] as const)
      expect(deniedIn(form, [], [old(document)]).deniedMcpServers).toEqual([
        { serverUrl: 'https://old.acme.example/mcp' },
        { serverCommand: ['npx', '-y', 'weather@0.9.0'] },
      ]);
  });

  it.each<[string, Document, Document]>([
    ['the same URL', remote('https://a.example/mcp'), remote('https://A.example:443/mcp#x')],
    ['the same command', run('npm', 'weather'), run('npm', 'weather')],
    [
      'a URL that the pattern matches',
      remote('https://a.example/x/mcp'),
      remote('https://a.example/{id}/mcp', { variables: { id: {} } }),
    ],
  ])('never blocks a listed server with %s, under any name', (_, listed, denied) => {
    for (const name of ['io.acme/weather', 'io.acme/before'])
      expect(deniedIn('managed', [listed], [old(denied, name)])['x-omitted']).toEqual([
        { name, version: '0.9.0', reason: 'still_listed' },
      ]);
    const [one] = deniedIn('denylist', [], [old(denied)]).deniedMcpServers ?? [];
    expect(one).toBeDefined();
  });
});
