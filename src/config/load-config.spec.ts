import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Flags } from './config.js';
import { loadConfig } from './load-config.js';
import { refusal } from '../../test/support/refused-configuration.js';

const directory = mkdtempSync(join(tmpdir(), 'registry-config-'));
const file = join(directory, 'config.yaml');
const CERTIFICATE = '-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----';
const KEY = '-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----';
writeFileSync(join(directory, 'secret'), 'hunter2\r\n');
writeFileSync(join(directory, 'ca'), CERTIFICATE);
writeFileSync(join(directory, 'key'), KEY);

const base = { auth: { mode: 'anonymous' } };
const parts = { host: 'db', user: 'me', database: 'reg' };
const url = 'postgres://me@db/reg';

function read(tree: unknown, environment: NodeJS.ProcessEnv = {}, flags: Flags = {}) {
  writeFileSync(file, typeof tree === 'string' ? tree : JSON.stringify(tree));
  return loadConfig(file, environment, flags);
}

describe('the other sections', () => {
  it.each<[unknown, string, string]>([
    [{ sources: 5 }, 'sources', 'must be a list, not a number'],
    [{ sources: null }, 'sources', 'must be a list, not nothing'],
    [{ sources: {} }, 'sources', 'must be a list, not a map'],
    [
      {
        sources: [
          { name: 'a', api: { endpoint: 'https://x', tokenFile: 'none' }, syncPolicy: { interval: '1h' } },
        ],
      },
      'sources[0].api.tokenFile',
      'does not exist',
    ],
    [
      {
        sources: [
          { name: 'a', managed: {} },
          { name: 'a', kubernetes: {} },
        ],
      },
      'sources[1].name',
      'names must be unique',
    ],
    [
      {
        sources: [
          { name: 'a', managed: {} },
          { name: 'b', managed: {} },
        ],
      },
      'sources[1].managed',
      'second managed source',
    ],
    [{ registries: 'default' }, 'registries', 'must be a list, not a string'],
    [
      { registries: [{ name: 'a', sources: ['s'] }] },
      'registries[0].sources[0]',
      'is not the name of a source',
    ],
    [{ database: null }, 'database', 'must be a map, not nothing'],
    [{ database: url }, 'database', 'must be a map, not a string'],
    [{ database: { url: 'mysql://x' } }, 'database.url', 'must be a URL such as'],
    [{ database: { url: 'postgres://me:hunter2@db' } }, 'database.url', 'must contain the database'],
    [{ database: { url, host: 'db' } }, 'database.host', 'must not be set together with url'],
    [{ database: { url, port: 5432 } }, 'database.port', 'must not be set together with url'],
    [{ database: { url, user: 'me' } }, 'database.user', 'must not be set together with url'],
    [{ database: { url, database: 'reg' } }, 'database.database', 'must not be set together with url'],
    [
      { database: { url: `${url}?sslmode=require`, sslMode: 'disable' } },
      'database.sslMode',
      'must not be set together with a url',
    ],
    [
      { database: { url: 'postgres://me:hunter2@db/r', password: 'x' } },
      'database.password',
      'the url contains a password',
    ],
    [{ database: { ...parts, host: undefined } }, 'database.host', 'is required without a url'],
    [{ database: { ...parts, user: undefined } }, 'database.user', 'is required without a url'],
    [{ database: { ...parts, database: undefined } }, 'database.database', 'is required without a url'],
    [{ database: { ...parts, host: 'a b' } }, 'database.host', 'must be a host name'],
    [{ database: { ...parts, port: '5432' } }, 'database.port', 'must be a whole number'],
    [{ database: { ...parts, port: 0 } }, 'database.port', 'from 1 to 65535'],
    [{ database: { ...parts, port: 1.5 } }, 'database.port', 'must be a whole number'],
    [{ database: { ...parts, sslMode: 'allow' } }, 'database.sslMode', 'must be one of disable'],
    [{ database: { ...parts, sslRootCertFile: 'ca' } }, 'database.sslRootCertFile', 'needs an sslMode'],
    [
      { database: { ...parts, sslMode: 'disable', sslRootCertFile: 'ca' } },
      'database.sslRootCertFile',
      'needs an sslMode',
    ],
    [
      { database: { url: `${url}?sslmode=require`, sslRootCertFile: 'ca' } },
      'database.sslRootCertFile',
      'must not be set together with a url',
    ],
    [
      { database: { ...parts, sslMode: 'require', sslCertFile: 'ca' } },
      'database.sslKeyFile',
      'sslCertFile and sslKeyFile belong together',
    ],
    [
      { database: { ...parts, sslMode: 'require', sslRootCertFile: 'secret' } },
      'database.sslRootCertFile',
      'contains no PEM certificate',
    ],
    [
      { database: { ...parts, sslMode: 'require', sslCertFile: 'ca', sslKeyFile: 'ca' } },
      'database.sslKeyFile',
      'contains no PEM private key',
    ],
    [{ database: { ...parts, sslMode: false } }, 'database.sslMode', 'must be one of disable'],
    [{ database: { ...parts, pool: 5 } }, 'database.pool', 'must be a map, not a number'],
    [{ database: { ...parts, pool: { max: 0 } } }, 'database.pool.max', 'from 1 to 1000'],
    [{ database: { ...parts, password: 123 } }, 'database.password', 'put it in quotes'],
    [
      { database: { ...parts, password: 'hunter2', passwordFile: 'secret' } },
      'database.passwordFile',
      'must not be set together with password',
    ],
    [{ database: { ...parts, passwordFile: 'none' } }, 'database.passwordFile', 'does not exist'],
    [
      { database: { ...parts, migrationPassword: 'hunter2' } },
      'database.migrationUser',
      'is required with migrationPassword',
    ],
    [
      {
        database: {
          ...parts,
          migrationUser: 'a',
          migrationPassword: 'hunter2',
          migrationPasswordFile: 'secret',
        },
      },
      'database.migrationPasswordFile',
      'must not be set together with migrationPassword',
    ],
    [{ database: { ...parts, username: 'a' } }, 'database.username', 'is not a known key'],
    [{ cors: [] }, 'cors', 'must be a map, not a list'],
    [{ cors: { origins: '*' } }, 'cors.origins', 'must be a list, not a string'],
    [{ cors: { origins: ['https://a.example/'] } }, 'cors.origins[0]', 'must be "*" or an origin'],
    [{ cors: { origins: ['*.example.com'] } }, 'cors.origins[0]', 'must be "*" or an origin'],
    [{ cors: { origins: ['null'] } }, 'cors.origins[0]', 'must be "*" or an origin'],
    [{ cors: { origin: ['*'] } }, 'cors.origin', 'did you mean origins?'],
    [{ adminFileRoot: 'relative' }, 'adminFileRoot', 'must be an absolute path'],
    [{ adminFileRoot: '/nowhere' }, 'adminFileRoot', 'is not a directory'],
    [{ adminFileRoot: {} }, 'adminFileRoot', 'must be a string, not a map'],
    [{ readOnly: 'yes' }, 'readOnly', 'must be true or false'],
    [
      { adminFileRoot: '/', adminFileRoots: [] },
      'adminFileRoot',
      'must not be set together with adminFileRoots',
    ],
    [{ adminFileRoots: {} }, 'adminFileRoots', 'must be a list, not a map'],
    [{ adminFileRoots: ['/'] }, 'adminFileRoots[0]', 'must be a map, not a string'],
    [{ adminFileRoots: [{ path: 'a' }] }, 'adminFileRoots[0].path', 'must be an absolute path'],
    [{ adminFileRoots: [{ path: '/nowhere' }] }, 'adminFileRoots[0].path', 'is not a directory'],
    [
      { adminFileRoots: [{ path: '/' }, { path: '/./' }] },
      'adminFileRoots[1].path',
      'is already in the list',
    ],
    [{ adminFileRoots: [{ path: '/', claims: { org: [] } }] }, 'adminFileRoots[0].claims.org', 'empty list'],
    [
      { adminFileRoots: [{ path: '/', hosts: ['a:1'] }] },
      'adminFileRoots[0].hosts[0]',
      'a host name without scheme',
    ],
    [
      { adminFileRoots: [{ path: '/', hosts: ['*.a'] }] },
      'adminFileRoots[0].hosts[0]',
      'a host name without scheme',
    ],
    [{ adminFileRoots: [{ path: '/', host: ['a'] }] }, 'adminFileRoots[0].host', 'did you mean hosts?'],
    [{ adminKubernetesNamespaces: 'tools' }, 'adminKubernetesNamespaces', 'must be a list'],
    [{ adminKubernetesNamespaces: ['*'] }, 'adminKubernetesNamespaces[0]', 'must be a DNS label'],
    [{ log: 'debug' }, 'log', 'must be a map, not a string'],
    [{ log: { level: 'verbose' } }, 'log.level', 'must be one of trace'],
    [{ dataDirectory: './x' }, 'dataDirectory', 'is not a known key'],
    [{ source: [] }, 'source', 'did you mean sources?'],
    [{ 'a b': 1 }, '["a b"]', 'is not a known key'],
  ])('refuses %j at %s: %s', (changed, path, fragment) => {
    const error = refusal(() => read({ ...base, ...(changed as object) }));
    expect(error.problems.map((problem) => problem.path)).toEqual([path]);
    expect(error.message).toContain(fragment);
    expect(error.message).not.toContain('hunter2');
  });

  it.each<[object, object]>([
    [{ url }, { host: 'db', port: 5432, user: 'me', database: 'reg', poolMax: 10 }],
    [
      { url, pool: { max: 3 }, password: 'hunter2' },
      { poolMax: 3, password: 'hunter2' },
    ],
    [{ url, sslMode: 'verify-full' }, { tls: { mode: 'verify-full' } }],
    [
      { url: 'postgres://me:hunter2@db/reg?sslmode=disable' },
      { password: 'hunter2', tls: { mode: 'disable' } },
    ],
    [
      { ...parts, host: '/var/run/postgresql', passwordFile: 'secret' },
      { host: '/var/run/postgresql', password: 'hunter2' },
    ],
    [{ ...parts, sslMode: 'require' }, { tls: { mode: 'require' } }],
    [
      { ...parts, sslMode: 'require', sslRootCertFile: 'ca', sslCertFile: 'ca', sslKeyFile: 'key' },
      { tls: { mode: 'require', rootCert: CERTIFICATE, cert: CERTIFICATE, key: KEY } },
    ],
    [
      { ...parts, port: 6432, sslMode: 'disable' },
      { port: 6432, tls: { mode: 'disable' } },
    ],
    [{ url, migrationUser: 'owner' }, { migration: { user: 'owner' } }],
    [
      { url, migrationUser: 'owner', migrationPasswordFile: 'secret' },
      { migration: { user: 'owner', password: 'hunter2' } },
    ],
  ])('accepts the database %j', (database, expected) => {
    expect(read({ ...base, database }).config.database).toMatchObject(expected);
  });

  it('have defaults', () => {
    expect(read(base).config).toEqual({
      auth: { mode: 'anonymous' },
      sources: [],
      shutdown: { noticeMs: null },
      web: { enabled: true, logins: [], iconOrigins: [], title: 'Registry', logo: null, accent: null },
      registries: [],
      rootRegistry: null,
      database: null,
      cors: { origins: ['*'] },
      search: { synonyms: [] },
      readOnly: false,
      adminFileRoots: [],
      adminAllowPrivateIP: false,
      adminOpenAccess: false,
      adminKubernetesNamespaces: [],
      dataDirectory: resolve('data'),
      kubeconfig: [],
      proxy: { http: null, https: null, noProxy: [] },
      log: { level: 'info', format: null },
      webhooks: [],
      admission: { webhooks: [] },
      audit: { reads: false, retentionMs: 90 * 24 * 60 * 60_000 },
      telemetry: {
        traces: null,
        metrics: null,
        metricIntervalMs: 60_000,
        sampleRatio: 0.1,
        propagates: true,
        traceparentHosts: [],
      },
      limits: {
        searchesPerCaller: 2,
        requestsInFlight: 1000,
        connections: 2000,
        claimSetsPerSource: 10000,
        mebibytesPerFile: 64,
        versionsPerEntry: 1000,
        bytesPerEntry: 64 * 1024 * 1024,
        publisherMeta: 256 * 1024,
        apiSources: 1000,
        apiRegistries: 1000,
        changesPerMinute: 600,
        searchIndexBytes: 128 * 1024 * 1024,
        keepAliveMs: 65_000,
      },
      content: {
        fetchHosts: [],
        fetchAccounts: [],
        maxBytesPerVersion: 16 * 1024 ** 2,
        maxBytes: 10 * 1024 ** 3,
      },
      addresses: { public: { port: 8080 }, internal: { port: 8081 } },
      insecureUrls: false,
    });
  });

  it('override defaults', () => {
    const written = {
      cors: { origins: ['https://a.example', 'http://localhost:3000'] },
      readOnly: true,
      adminFileRoots: [{ path: directory, claims: { org: 'acme' }, hosts: ['git.acme.com'] }],
      adminKubernetesNamespaces: ['tools'],
      log: { level: 'silent', format: 'text' },
    };
    expect(read({ ...base, ...written }).config).toMatchObject(written);
  });

  it('treat adminFileRoot as one root without claims, for any host', () => {
    const { config } = read({ ...base, adminFileRoot: directory });
    expect(config.adminFileRoots).toEqual([{ path: directory, claims: {}, hosts: null }]);
  });

  it('allow no hosts for a root without hosts, and normalize host names', () => {
    const roots = [{ path: directory }, { path: '/', hosts: ['Git.Acme.COM', '[::1]', 'bücher.example'] }];
    expect(read({ ...base, adminFileRoots: roots }).config.adminFileRoots).toEqual([
      { path: directory, claims: {}, hosts: [] },
      { path: '/', claims: {}, hosts: ['git.acme.com', '[::1]', 'xn--bcher-kva.example'] },
    ]);
  });
});

describe('a ConfigurationError', () => {
  it('lists all problems in file order', () => {
    const text = [
      'auth:',
      '  mode: none',
      'sources:',
      '  - name: A',
      '    file: {}',
      'logs: {}',
      'registries: 5',
    ].join('\n');
    expect(
      refusal(() => read(text))
        .message.split('\n')
        .slice(1),
    ).toEqual([
      '  auth.mode: must be one of oauth, anonymous (line 2)',
      expect.stringMatching(/^ {2}sources\[0\]\.name: .* \(line 4\)$/),
      expect.stringMatching(/^ {2}sources\[0\]\.syncPolicy: .* \(line 4\)$/),
      '  sources[0].file: needs a path or a url (line 5)',
      '  logs: is not a known key; did you mean log? (line 6)',
      '  registries: must be a list, not a number (line 7)',
    ]);
  });

  it('identifies the file when the file itself is the problem', () => {
    expect(refusal(() => loadConfig('/nowhere.yaml', {}, {})).problems).toEqual([
      { path: '/nowhere.yaml', message: 'does not exist' },
    ]);
  });

  it('identifies the variable or flag that set the value', () => {
    const environment = { REGISTRY_LOG_LEVEL: 'loud', REGISTRY_DATABASE_PASSWORD: 'hunter2' };
    const { message } = refusal(() => read(base, environment, { authMode: 'none' }));
    expect(message).toContain('auth.mode: must be one of oauth, anonymous (set by --auth-mode)');
    expect(message).toContain(
      'log.level: must be one of trace, debug, info, warn, error, fatal, silent (set by REGISTRY_LOG_LEVEL)',
    );
    expect(message).toContain('database.host: is required without a url (set by REGISTRY_DATABASE_PASSWORD)');
    expect(message).not.toContain('hunter2');
  });
});

describe('flags', () => {
  it.each<[Flags, string]>([
    [{ address: '8080' }, '--address'],
    [{ internalAddress: 'x:y' }, '--internal-address'],
    [{ address: ':9000', internalAddress: '127.0.0.1:9000' }, '--internal-address'],
    [{ authMode: 'oauth' }, 'auth.oauth'],
    [{ authMode: '' }, 'auth.mode'],
  ])('refuses %j at %s', (flags, path) => {
    expect(refusal(() => read(base, {}, flags)).problems.map((problem) => problem.path)).toEqual([path]);
  });

  it('override variables, which override the file', () => {
    const tree = { auth: { mode: 'oauth' }, log: { level: 'error' } };
    const environment = { REGISTRY_AUTH_MODE: 'oauth', REGISTRY_LOG_LEVEL: 'debug' };
    const { config } = read(tree, environment, {
      authMode: 'anonymous',
      address: '[::1]:0',
      internalAddress: ':0',
    });
    expect(config).toMatchObject({
      auth: { mode: 'anonymous' },
      log: { level: 'debug' },
      addresses: { public: { host: '::1', port: 0 }, internal: { port: 0 } },
    });
  });
});

describe('the loaded configuration', () => {
  it('is deeply frozen', () => {
    const sources = [{ name: 's', managed: {}, claims: { org: ['a'] } }];
    const { config } = read({ ...base, sources, database: { ...parts, sslMode: 'require' } });
    expect(
      [config, config.auth, config.sources, config.sources[0]?.claims['org'], config.database?.tls].every(
        Object.isFrozen,
      ),
    ).toBe(true);
  });

  it('has warnings about settings without effect', () => {
    const { warnings } = read(
      { ...base, database: { url: `${url}?application_name=x` } },
      { REGISTRY_LOG_LEVLE: 'debug' },
    );
    expect(warnings).toEqual([
      'the environment variable REGISTRY_LOG_LEVLE is unknown and has no effect; did you mean REGISTRY_LOG_LEVEL?',
      'database.url: the parameter "application_name" has no effect',
    ]);
  });
});
