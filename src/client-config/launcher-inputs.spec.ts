import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { configOf } from '../../test/support/client-configs.js';
import { CLIENTS } from './clients.js';

type Document = Record<string, unknown>;
interface Entry {
  command: string;
  args: string[];
  env?: Record<string, string>;
}

const aPackage = (registryType: string, more: Document): Document => ({
  registryType,
  identifier: 'weather',
  transport: { type: 'stdio' },
  ...more,
});
const server = (...packages: Document[]): Document => ({
  name: 'io.acme/weather',
  version: '1.0.0',
  packages,
});

/** Returns the entry for the only server, or the reason for its omission: the same for each client and form. */
function entryOf(document: Document): Entry | string {
  const found = CLIENTS.map((client) => {
    const [servers, list] = (['servers', 'allowlist'] as const).map((form) =>
      configOf(client, form, [document]),
    );
    const [reason, listReason] = [servers, list].map(
      (config) => (config?.['x-omitted'] as { reason: string }[] | undefined)?.[0]?.reason,
    );
    expect(listReason, client).toBe(reason);
    if (reason !== undefined) return reason;
    const { command, args, env } = Object.values(
      (servers?.['servers'] ?? servers?.['mcpServers'] ?? servers?.['mcp_servers']) as Record<string, Entry>,
    )[0] as Entry;
    return { command, args, ...(env ? { env } : {}) };
  });
  for (const each of found) expect(each).toEqual(found[0]);
  return found[0] as Entry | string;
}

const named = (name: string, more: Document = {}): Document => ({ type: 'named', name, ...more });
const positional = (value: string): Document => ({ type: 'positional', value });

describe('runtime arguments', () => {
  it.each<[string, Document[], string]>([
    ['npm', [named('-y')], 'npx -y weather'],
    ['npm', [named('--yes'), named('--quiet')], 'npx --yes --quiet weather'],
    ['npm', [named('-q')], 'npx -y -q weather'],
    ['npm', [positional('-y')], 'npx -y weather'],
    ['pypi', [named('-q')], 'uvx -q weather'],
    ['pypi', [named('--quiet')], 'uvx --quiet weather'],
    ['oci', [named('-i'), named('--rm')], 'docker run -i --rm weather'],
    ['oci', [named('--interactive'), named('--init')], 'docker run -i --rm --interactive --init weather'],
    ['nuget', [named('-y')], 'dnx weather -y'],
    ['nuget', [named('--yes')], 'dnx weather --yes'],
  ])('of %s are written from the list: %j', (type, runtimeArguments, command) => {
    const entry = entryOf(server(aPackage(type, { runtimeArguments }))) as Entry;
    expect([entry.command, ...entry.args].join(' ')).toBe(command);
  });

  it.each<[string, Document]>([
    ...['npm', 'pypi', 'oci', 'nuget'].flatMap((type): [string, Document][] => [
      [type, positional('evil')],
      [type, positional('--')],
      [type, positional('')],
      [type, named('-y --evil')],
      [type, named('-Y')],
      [type, { type: 'positional', valueHint: 'path' }],
      [type, { type: 'positional', valueHint: 'path', isRequired: true }],
      [type, {}],
    ]),
    ...[
      '--registry',
      '--package',
      '-p',
      '-c',
      '--call',
      '--prefix',
      '--userconfig',
      '--node-options',
      '-yc',
    ].flatMap((name): [string, Document][] => [
      ['npm', named(name, { value: 'evil' })],
      ['npm', named(name)],
      ['npm', positional(`${name}=evil`)],
    ]),
    ['npm', named('-y', { value: 'evil' })],
    ['npm', named('-y', { default: '' })],
    ['npm', named('-y', { value: '' })],
    ['npm', named('-y', { isRequired: true })],
    ['npm', named('--yes=false')],
    ['npm', named('-i')],
    ['npm', named('{flag}', { variables: { flag: { value: '-y' } } })],
    ...['--from', '--with', '--index-url', '--python', '-p', '-y', '-v'].map((name): [string, Document] => [
      'pypi',
      named(name, { value: 'evil' }),
    ]),
    ...[
      '--privileged',
      '-v',
      '--volume',
      '--mount',
      '--entrypoint',
      '--network',
      '-e',
      '--env-file',
      '-it',
    ].flatMap((name): [string, Document][] => [
      ['oci', named(name)],
      ['oci', named(name, { value: '/:/host' })],
      ['oci', positional(`${name}=/:/host`)],
    ]),
    ['oci', positional('run')],
    ['oci', named('--rm', { value: 'false' })],
    ['oci', named('-v', { valueHint: 'folder' })],
    ['nuget', named('--source', { value: 'https://evil.example' })],
    ['nuget', named('--add-source')],
    ['nuget', named('--configfile')],
    ['nuget', named('-q')],
  ])('of %s are refused outside the list: %j', (type, argument) => {
    const flags = { npm: '-y', pypi: '-q', oci: '-i', nuget: '-y' } as Record<string, string>;
    for (const runtimeArguments of [[argument], [named(flags[type] ?? ''), argument]])
      expect(entryOf(server(aPackage(type, { runtimeArguments })))).toBe('unsafe_runtime_argument');
  });
});

// oxfmt-ignore
const READ_BY_LAUNCHERS = [
  'npm_config_registry', 'NPM_CONFIG_REGISTRY', 'Npm_Config_Registry', 'npm_package_name', 'NODE_OPTIONS', 'node_options',
  'NODE_PATH', 'PATH', 'Path', 'HOME', 'BASH_ENV', 'ENV', 'IFS', 'LD_PRELOAD', 'ld_preload', 'LD_LIBRARY_PATH', 'DYLD_INSERT_LIBRARIES',
  'UV_INDEX_URL', 'uv_index', 'PIP_INDEX_URL', 'PYTHONPATH', 'PYTHONSTARTUP', 'pythonhome', 'DOTNET_STARTUP_HOOKS', 'NUGET_PACKAGES',
  'DOCKER_HOST', 'DOCKER_CONFIG', 'GIT_SSH_COMMAND', 'HTTP_PROXY', 'https_proxy', 'ALL_PROXY', 'no_proxy', 'SSL_CERT_FILE', 'SSLKEYLOGFILE',
  'SHELLOPTS', 'PS4', 'PERL5OPT', 'RUBYOPT', 'JAVA_TOOL_OPTIONS', '_JAVA_OPTIONS', 'JDK_JAVA_OPTIONS', 'CLASSPATH', 'CURL_HOME',
  'REQUESTS_CA_BUNDLE', 'OPENSSL_CONF', 'GCONV_PATH', 'LOCPATH', 'MALLOC_CHECK_', 'GLIBC_TUNABLES', 'EDITOR', 'PAGER', 'VISUAL', 'BROWSER',
  'XDG_CONFIG_HOME', 'TMPDIR', 'COMSPEC', 'ComSpec', 'PATHEXT', 'SYSTEMROOT', 'SystemRoot', 'APPDATA', 'USERPROFILE', 'YARN_REGISTRY',
  'PNPM_HOME', 'BUN_INSTALL', 'DENO_DIR', 'ELECTRON_RUN_AS_NODE', 'COREPACK_NPM_REGISTRY', 'CORECLR_PROFILER', 'COMPlus_EnableDiagnostics',
  'PREFIX', 'LDSHARED', 'LDCXXSHARED', 'RANLIB', 'NODENV_HOOK_PATH', 'R_LIBS_USER', '__PYVENV_LAUNCHER__', 'SSH_ASKPASS', 'GODEBUG', 'HOSTALIASES', 'PSModulePath', 'CC', 'NETRC', 'TERMINFO', 'DBUS_SESSION_BUS_ADDRESS',
];
// oxfmt-ignore
const OTHERS = [
  'API_KEY', 'TOKEN', 'GITHUB_TOKEN', 'OPENAI_API_KEY', 'GOOGLE_API_KEY', 'GEMINI_API_KEY', 'PERPLEXITY_API_KEY', 'AWS_REGION', 'DATABASE_URL',
  'LOG_LEVEL', 'MY_PATH', 'PATHS', 'HOMEPAGE', 'ENVIRONMENT', 'NODES', 'PIPELINE_ID', 'SSH_HOST', 'KUBECONFIG', 'PROXY_HOST', 'MODE', 'a',
];

describe('environment variables', () => {
  const withVariable = (type: string, variable: Document) =>
    server(aPackage(type, { environmentVariables: [{ name: 'FIRST', value: '1' }, variable] }));

  it.each(READ_BY_LAUNCHERS)('%s is refused, even in containers', (name) => {
    for (const type of ['npm', 'pypi', 'oci', 'nuget'])
      for (const variable of [{ name }, { name, value: 'x' }, { name, isSecret: true, isRequired: true }])
        expect(entryOf(withVariable(type, variable))).toBe('unsafe_environment_variable');
  });

  it.each(OTHERS)('%s is written', (name) => {
    for (const type of ['npm', 'pypi', 'nuget'])
      expect(entryOf(withVariable(type, { name, value: 'x' }))).toMatchObject({
        env: { FIRST: '1', [name]: 'x' },
      });
    const { args } = entryOf(withVariable('oci', { name, value: 'x' })) as Entry;
    expect(args).toEqual(['run', '-i', '--rm', '-e', 'FIRST=1', '-e', `${name}=x`, 'weather']);
  });
});

describe('package arguments', () => {
  it.each([
    ['npm', ['npx', '-y', 'weather']],
    ['pypi', ['uvx', 'weather']],
    ['oci', ['docker', 'run', '-i', '--rm', 'weather']],
    ['nuget', ['dnx', 'weather', '--yes', '--']],
  ])('of %s follow the package, so that the launcher does not read them', (type, before) => {
    const packageArguments = [named('--package', { value: 'evil' }), positional('--privileged')];
    const { command, args } = entryOf(server(aPackage(type, { packageArguments }))) as Entry;
    expect([command, ...args]).toEqual([...before, '--package', 'evil', '--privileged']);
  });
});

describe('a server with several packages', () => {
  const unsafe = aPackage('npm', {
    runtimeArguments: [named('--registry', { value: 'https://evil.example' })],
  });
  const unsafeVariable = aPackage('npm', { environmentVariables: [{ name: 'NODE_OPTIONS' }] });

  it('is started by the first safe one', () => {
    expect(entryOf(server(unsafe, unsafeVariable, aPackage('pypi', {})))).toMatchObject({ command: 'uvx' });
  });

  it('is omitted, with the reason of the first, if none is safe', () => {
    expect(entryOf(server(unsafe, unsafeVariable))).toBe('unsafe_runtime_argument');
    expect(entryOf(server(unsafeVariable, unsafe))).toBe('unsafe_environment_variable');
  });
});

describe('a random document', () => {
  const FLAGS: Record<string, string[]> = {
    npx: ['-y', '--yes', '-q', '--quiet'],
    uvx: ['-q', '--quiet'],
    docker: ['run', '-i', '--interactive', '--rm', '--init'],
    dnx: ['-y', '--yes'],
  };
  // Only the names that reference/client-config lists.
  const FORBIDDEN =
    /^(npm_.*|NODE_.*|PATH|HOME|BASH_ENV|LD_.*|DYLD_.*|UV_.*|PIP_.*|PYTHON.*|DOTNET_.*|NUGET_.*|DOCKER_.*|GIT_.*|.*_PROXY|SSL_.*)$/i;
  const PACKAGE = /^weather(@1\.0\.0|:1\.0\.0)?$/;

  const flag = fc.constantFrom(
    ...Object.values(FLAGS).flat(),
    '--package',
    '-v',
    '--registry=x',
    'weather',
    '--',
  );
  const variable = fc.oneof(
    fc.constantFrom(...READ_BY_LAUNCHERS, ...OTHERS),
    fc
      .tuple(fc.constantFrom('npm_', 'Ld_', 'X_', ''), fc.stringMatching(/^[A-Za-z_]{1,4}$/))
      .map((one) => one.join('')),
  );
  const value = fc.constantFrom(undefined, undefined, 'x', '', '{v}', 'weather');
  const argument = fc
    .record({ type: fc.constantFrom('named', 'positional'), name: flag, value, isRequired: fc.boolean() })
    .map(({ type, name, value: given, ...more }) =>
      type === 'named' ? { type, name, value: given, ...more } : { type, value: given ?? name, ...more },
    );
  const onePackage = fc.record({
    registryType: fc.constantFrom('npm', 'pypi', 'oci', 'nuget'),
    identifier: fc.constantFrom('weather', '--weather', 'weather evil'),
    version: fc.constantFrom(undefined, '1.0.0', '--evil'),
    transport: fc.constant({ type: 'stdio' }),
    runtimeArguments: fc.array(argument, { maxLength: 2 }),
    packageArguments: fc.array(argument, { maxLength: 2 }),
    environmentVariables: fc.array(fc.record({ name: variable, value }), { maxLength: 2 }),
  });

  it('never gets an argument or a variable that breaks the rules', () => {
    let written = 0;
    fc.assert(
      fc.property(fc.array(onePackage, { minLength: 1, maxLength: 3 }), (packages) => {
        for (const client of CLIENTS) {
          const config = configOf(client, 'servers', [server(...packages)]);
          const entries = (config['servers'] ?? config['mcpServers'] ?? {}) as Record<string, Entry>;
          for (const { command, args, env = {} } of Object.values(entries)) {
            written += 1;
            const position = args.findIndex((arg, at) => PACKAGE.test(arg) && args[at - 1] !== '-e');
            const [before, after] = [args.slice(0, position), args.slice(position + 1)];
            const names = before.flatMap((arg, at) =>
              arg === '-e' ? [before[at + 1]?.split('=')[0] ?? ''] : [],
            );
            const flags = before.filter((arg, at) => arg !== '-e' && before[at - 1] !== '-e');
            if (command === 'dnx') flags.push(...after.slice(0, [...after, '--'].indexOf('--')));
            expect(flags.filter((one) => !FLAGS[command]?.includes(one))).toEqual([]);
            expect([...names, ...Object.keys(env)].filter((name) => FORBIDDEN.test(name))).toEqual([]);
          }
        }
      }),
      { numRuns: 300 },
    );
    expect(written).toBeGreaterThan(20);
  });
});
