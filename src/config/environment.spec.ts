import { describe, expect, it } from 'vitest';
import { buildReport, collide, kubeconfigOf, parseAddress } from './environment.js';
import { applyOverrides, overridesOf, unknownVariables } from './overrides.js';

describe('variables that override scalars', () => {
  it.each<[NodeJS.ProcessEnv, unknown]>([
    [{ REGISTRY_AUTH_MODE: 'anonymous' }, { auth: { mode: 'anonymous', oauth: {} } }],
    [{ REGISTRY_AUTH_OAUTH_RESOURCE_URL: 'x' }, { auth: { mode: 'oauth', oauth: { resourceUrl: 'x' } } }],
    [{ REGISTRY_AUTH_OAUTH_RESOURCEURL: 'x' }, { auth: { mode: 'oauth', oauth: { resourceUrl: 'x' } } }],
    [
      { REGISTRY_DATABASE_POOL_MAX: '5' },
      { auth: { mode: 'oauth', oauth: {} }, database: { pool: { max: 5 } } },
    ],
    [{ REGISTRY_DATABASE_PORT: 'x' }, { auth: { mode: 'oauth', oauth: {} }, database: { port: 'x' } }],
    [
      { REGISTRY_DATABASE_PASSWORD: '123' },
      { auth: { mode: 'oauth', oauth: {} }, database: { password: '123' } },
    ],
    [{ REGISTRY_READ_ONLY: 'true' }, { auth: { mode: 'oauth', oauth: {} }, readOnly: true }],
    [{ REGISTRY_READ_ONLY: 'false' }, { auth: { mode: 'oauth', oauth: {} }, readOnly: false }],
    [{ REGISTRY_READONLY: 'yes' }, { auth: { mode: 'oauth', oauth: {} }, readOnly: 'yes' }],
    [{ REGISTRY_AUTH_MODE: '' }, { auth: { mode: 'oauth', oauth: {} } }],
    [{ registry_auth_mode: 'anonymous' }, { auth: { mode: 'oauth', oauth: {} } }],
  ])('%j', (environment, expected) => {
    const tree = { auth: { mode: 'oauth', oauth: {} } };
    expect(applyOverrides(tree, overridesOf(environment))).toEqual(expected);
    expect(tree).toEqual({ auth: { mode: 'oauth', oauth: {} } });
  });

  it.each([[{ auth: 5 }], [{ auth: null }], [{ auth: [] }], [{ auth: { oauth: 'x' } }]])(
    'leave a section that is not a map unchanged: %j',
    (tree) => expect(applyOverrides(tree, overridesOf({ REGISTRY_AUTH_OAUTH_REALM: 'x' }))).toEqual(tree),
  );
});

describe('unknown variables', () => {
  it.each([
    ['REGISTRY_SERVICE_HOST', '10.0.0.1'],
    ['REGISTRY_SERVICE_PORT', '8080'],
    ['REGISTRY_SERVICE_PORT_HTTP', '8080'],
    ['REGISTRY_PORT', 'tcp://10.0.0.1:8080'],
    ['REGISTRY_PORT_8080_TCP', 'tcp://10.0.0.1:8080'],
    ['REGISTRY_PORT_8080_TCP_ADDR', '10.0.0.1'],
    ['REGISTRY_API_SERVICE_HOST', '10.0.0.1'],
    ['REGISTRY_API_PORT', 'tcp://10.0.0.1:8080'],
    ['REGISTRY_API_PORT_8080_TCP_PROTO', 'tcp'],
    ['REGISTRY_DATA_DIR', '/data'],
    ['REGISTRY_INSECURE_URLS', 'true'],
    ['REGISTRY_DATABASE_PORT', '5432'],
    ['THV_REGISTRY_SERVICE_HOST', '10.0.0.1'],
    ['THV_REGISTRY_PORT', 'tcp://10.0.0.1:8080'],
    ['REGISTRYX', ''],
    ['PATH', '/bin'],
  ])('ignores %s=%s', (name, value) => expect(unknownVariables({ [name]: value })).toEqual([]));

  it.each([
    ['REGISTRY_DATABASE_URI', 'REGISTRY_DATABASE_URL'],
    ['REGISTRY_AUTHMODE', 'REGISTRY_AUTH_MODE'],
    ['REGISTRY_DATABSE_PORT', 'REGISTRY_DATABASE_PORT'],
    ['THV_REGISTRY_DATABASE_MIGRATIONPASSWORD', 'REGISTRY_DATABASE_MIGRATION_PASSWORD'],
    ['THV_REGISTRY_INSECURE_URL', 'REGISTRY_INSECURE_URLS'],
  ])('suggests for %s: %s', (name, suggestion) => {
    expect(unknownVariables({ [name]: 'hunter2' })).toEqual([
      expect.stringContaining(`did you mean ${suggestion}?`),
    ]);
    expect(unknownVariables({ [name]: 'hunter2' })[0]).not.toContain('hunter2');
  });
});

it('reports a ToolHive variable without a counterpart as unknown', () => {
  expect(unknownVariables({ THV_REGISTRY_LEADER_ELECTION_ID: 'x' })).toEqual([
    'the environment variable THV_REGISTRY_LEADER_ELECTION_ID is unknown and has no effect',
  ]);
});

it('reads commit and build date', () => {
  expect(buildReport({ REGISTRY_COMMIT: 'abc', REGISTRY_BUILD_DATE: '' })).toEqual({
    commit: 'abc',
    date: undefined,
  });
});

it.each<[NodeJS.ProcessEnv, string[]]>([
  [{}, []],
  [{ KUBECONFIG: '' }, []],
  [{ KUBECONFIG: '/a:/b' }, ['/a', '/b']],
  [{ KUBECONFIG: '/a', REGISTRY_KUBECONFIG: '/b' }, ['/b']],
  [{ KUBECONFIG: '/a', REGISTRY_KUBECONFIG: '' }, ['/a']],
  [{ REGISTRY_KUBECONFIG: 'here' }, [`${process.cwd()}/here`]],
])('reads the kubeconfig files of %j as %j', (environment, files) => {
  expect(kubeconfigOf(environment)).toEqual(files);
  expect(unknownVariables(environment)).toEqual([]);
});

it.each([
  [':8080', { port: 8080 }],
  [':0', { port: 0 }],
  ['127.0.0.1:80', { host: '127.0.0.1', port: 80 }],
  ['localhost:8080', { host: 'localhost', port: 8080 }],
  ['[::1]:8080', { host: '::1', port: 8080 }],
  ['[::]:65535', { host: '::', port: 65535 }],
])('parses the address %s as %j', (text, address) => expect(parseAddress(text)).toEqual(address));

it.each([
  '',
  '8080',
  ':',
  ':65536',
  ':-1',
  ':80a',
  'a b:80',
  '::1:80',
  '[]:80',
  '[zz]:80',
  '[127.0.0.1]:80',
  'http://x:80',
  '*:80',
  ':8080\n',
])('refuses %j as an address', (text) => expect(parseAddress(text)).toBeUndefined());

it.each([
  [':1', ':1', true],
  ['127.0.0.1:1', ':1', true],
  ['127.0.0.1:1', '127.0.0.1:1', true],
  ['127.0.0.1:1', '[::1]:1', false],
  [':1', ':2', false],
  [':0', ':0', false],
])('%s and %s collide: %s', (one, other, answer) =>
  expect(collide(parseAddress(one) ?? { port: 0 }, parseAddress(other) ?? { port: 0 })).toBe(answer),
);
