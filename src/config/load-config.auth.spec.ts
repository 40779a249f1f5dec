import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig } from './load-config.js';
import { refusal } from '../../test/support/refused-configuration.js';

const directory = mkdtempSync(join(tmpdir(), 'registry-config-'));
const PEM = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----';
for (const [name, content] of [
  ['secret', 'hunter2\n'],
  ['ca.pem', `${PEM}\n`],
  ['empty', '\n'],
] as const)
  writeFileSync(join(directory, name), content);

const provider = { name: 'corporate', issuerUrl: 'https://idp.example.com', audience: 'api://registry' };
const oauth = { resourceUrl: 'https://registry.example.com', providers: [provider] };
const roles = { superAdmin: [{ role: 'super-admin' }] };

function read(auth: unknown, environment: NodeJS.ProcessEnv = {}) {
  const file = join(directory, 'config.yaml');
  writeFileSync(file, JSON.stringify(auth === undefined ? { sources: [] } : { auth }));
  return loadConfig(file, environment, {}).config.auth;
}

const withOAuth = (changed: object) => ({ oauth: { ...oauth, ...changed } });
const withProvider = (changed: object) => withOAuth({ providers: [{ ...provider, ...changed }] });
const withAuthz = (authz: unknown) => ({ oauth, authz });

describe('the auth section', () => {
  const P = 'auth.oauth.providers[0]';
  it.each<[unknown, string, string]>([
    [undefined, 'auth', 'is required'],
    [null, 'auth', 'must be a map, not nothing'],
    ['anonymous', 'auth', 'must be a map, not a string'],
    [{}, 'auth.oauth', 'is required in oauth mode'],
    [{ mode: 'oauth' }, 'auth.oauth', 'is required in oauth mode'],
    [{ mode: 'none' }, 'auth.mode', 'must be one of oauth, anonymous'],
    [{ mode: 'Anonymous' }, 'auth.mode', 'must be one of'],
    [{ mode: null, oauth }, 'auth.mode', 'must be one of'],
    [{ mode: ['anonymous'], oauth }, 'auth.mode', 'must be one of'],
    [{ mode: 'anonymous', modes: 1 }, 'auth.modes', 'did you mean mode?'],
    [{ oauth: 'x' }, 'auth.oauth', 'must be a map, not a string'],
    [withOAuth({ resourceUrl: undefined }), 'auth.oauth.resourceUrl', 'is required'],
    [withOAuth({ resourceUrl: 'registry.example.com' }), 'auth.oauth.resourceUrl', 'http:// or https://'],
    [withOAuth({ resourceUrl: 'https://x/?a=b' }), 'auth.oauth.resourceUrl', 'a query or a fragment'],
    [withOAuth({ resourceUrl: 'https://x/#a' }), 'auth.oauth.resourceUrl', 'a query or a fragment'],
    [withOAuth({ resourceUrl: 'https://u@x/' }), 'auth.oauth.resourceUrl', 'a user or a password'],
    [withOAuth({ realm: '' }), 'auth.oauth.realm', 'must not be empty'],
    [withOAuth({ realm: 'a"b' }), 'auth.oauth.realm', 'printable ASCII without quotes'],
    [withOAuth({ realm: 'a\r\nb' }), 'auth.oauth.realm', 'control characters'],
    [withOAuth({ scopesSupported: 'read' }), 'auth.oauth.scopesSupported', 'must be a list'],
    [withOAuth({ scopesSupported: ['a b'] }), 'auth.oauth.scopesSupported[0]', 'must be a scope'],
    [withOAuth({ publicPaths: ['docs'] }), 'auth.oauth.publicPaths[0]', 'must start with "/"'],
    [withOAuth({ publicPaths: ['/a', '/a*'] }), 'auth.oauth.publicPaths[1]', 'only as its last segment'],
    [withOAuth({ publicPaths: ['/*/a'] }), 'auth.oauth.publicPaths[0]', 'only as its last segment'],
    [withOAuth({ publicPaths: ['/*/*'] }), 'auth.oauth.publicPaths[0]', 'only as its last segment'],
    [withOAuth({ publicPaths: ['/a/../b'] }), 'auth.oauth.publicPaths[0]', '".."'],
    [withOAuth({ publicPaths: ['/a?b'] }), 'auth.oauth.publicPaths[0]', 'must be a path without query'],
    [withOAuth({ resourceDocumentation: 5 }), 'auth.oauth.resourceDocumentation', 'must be a string'],
    [
      withOAuth({ resourceDocumentation: 'javascript:x' }),
      'auth.oauth.resourceDocumentation',
      'http:// or https://',
    ],
    [withOAuth({ providers: undefined }), 'auth.oauth.providers', 'is required'],
    [withOAuth({ providers: [] }), 'auth.oauth.providers', 'must not be an empty list'],
    [withOAuth({ providers: provider }), 'auth.oauth.providers', 'must be a list, not a map'],
    [withOAuth({ providers: [null] }), P, 'must be a map, not nothing'],
    [withOAuth({ providers: [[provider]] }), P, 'must be a map, not a list'],
    [withOAuth({ providers: [provider, provider] }), 'auth.oauth.providers[1].name', 'names must be unique'],
    [withProvider({ name: undefined }), `${P}.name`, 'is required'],
    [withProvider({ issuerUrl: undefined }), `${P}.issuerUrl`, 'is required'],
    [withProvider({ issuerUrl: 'idp' }), `${P}.issuerUrl`, 'http:// or https://'],
    [withProvider({ issuerUrl: 'http://idp.example.com' }), `${P}.issuerUrl`, 'must be https://'],
    [withProvider({ issuerUrl: 'http://localhost.example.com' }), `${P}.issuerUrl`, 'must be https://'],
    [withProvider({ issuerUrl: 'http://127.0.0.1.example.com' }), `${P}.issuerUrl`, 'must be https://'],
    [withProvider({ connectOrigins: ['*'] }), `${P}.connectOrigins[0]`, 'must be an origin'],
    [
      withProvider({ connectOrigins: ['https://login.example.com/token'] }),
      `${P}.connectOrigins[0]`,
      'must be an origin',
    ],
    [withProvider({ issuerURL: 'x' }), `${P}.issuerURL`, 'did you mean issuerUrl?'],
    [withProvider({ jwksUrl: 'http://10.0.0.1/keys' }), `${P}.jwksUrl`, 'must be https://'],
    [withProvider({ introspectionUrl: 'http://idp/i' }), `${P}.introspectionUrl`, 'must be https://'],
    [withProvider({ audience: '' }), `${P}.audience`, 'must not be empty'],
    [withProvider({ audience: ['a'] }), `${P}.audience`, 'must be a string, not a list'],
    [withProvider({ allowPrivateIP: 'true' }), `${P}.allowPrivateIP`, 'must be true or false'],
    [withProvider({ clientSecret: 'hunter2' }), `${P}.clientSecret`, 'is not a known key'],
    [withProvider({ clientSecretFile: 'secret' }), `${P}.clientId`, 'is required with clientSecretFile'],
    [withProvider({ clientId: 'a', clientSecretFile: 'none' }), `${P}.clientSecretFile`, 'does not exist'],
    [
      withProvider({ clientId: 'a', clientSecretFile: '.' }),
      `${P}.clientSecretFile`,
      'is not a regular file',
    ],
    [withProvider({ clientId: 'a', clientSecretFile: 'empty' }), `${P}.clientSecretFile`, 'is empty'],
    [withProvider({ caCertPath: 'none' }), `${P}.caCertPath`, 'does not exist'],
    [withProvider({ caCertPath: 'secret' }), `${P}.caCertPath`, 'contains no PEM certificate'],
    [withProvider({ idTokens: 'ask' }), `${P}.idTokens`, 'must be one of refuse, accept'],
    [withProvider({ tokenPrefix: 'okta_' }), `${P}.introspectionUrl`, 'is required with tokenPrefix'],
    [
      withProvider({ tokenPrefix: 'a b', introspectionUrl: 'https://idp.example.com/i' }),
      `${P}.tokenPrefix`,
      'must be the start of a token',
    ],
    [withProvider({ introspection: 'never' }), `${P}.introspection`, 'must be one of fallback, always'],
    [withProvider({ introspection: 'always' }), `${P}.introspectionUrl`, 'is required with introspection'],
    [withProvider({ clockTolerance: '121s' }), `${P}.clockTolerance`, 'from 0s to 120s'],
    [withProvider({ clockTolerance: 5 }), `${P}.clockTolerance`, 'with units'],
    [withProvider({ displayName: '' }), `${P}.displayName`, 'must not be empty'],
    [withOAuth({ blocked: [{}] }), 'auth.oauth.blocked[0].subject', 'is required'],
    [withOAuth({ blocked: [{ subject: 'a', issuer: 'b' }] }), 'auth.oauth.blocked[0].issuer', 'URL'],
    [withAuthz(null), 'auth.authz', 'must be a map, not nothing'],
    [withAuthz({}), 'auth.authz.roles', 'is required'],
    [withAuthz({ roles: [] }), 'auth.authz.roles', 'must be a map, not a list'],
    [withAuthz({ roles: { superadmin: [] } }), 'auth.authz.roles.superadmin', 'did you mean superAdmin?'],
    [
      withAuthz({ roles: { superAdmin: { a: 'b' } } }),
      'auth.authz.roles.superAdmin',
      'must be a list, not a map',
    ],
    [
      withAuthz({ roles: { superAdmin: [{}] } }),
      'auth.authz.roles.superAdmin[0]',
      'must have at least one claim',
    ],
    [
      withAuthz({ roles: { superAdmin: ['a'] } }),
      'auth.authz.roles.superAdmin[0]',
      'must be a map of claims',
    ],
    [
      withAuthz({ roles: { superAdmin: [{ role: 'x', exp: '1' }] } }),
      'auth.authz.roles.superAdmin[0].exp',
      'identifies a token',
    ],
    [
      withAuthz({ roles: { manageEntries: [{ a: 'b' }, { a: 1 }] } }),
      'auth.authz.roles.manageEntries[1].a',
      'a string or a list',
    ],
    [
      withAuthz({ roles: { manageEntries: [{ a: [] }] } }),
      'auth.authz.roles.manageEntries[0].a',
      'must not be an empty list',
    ],
    [
      withAuthz({ roles, policy: { arrayValues: 'some' } }),
      'auth.authz.policy.arrayValues',
      'must be one of all, any',
    ],
    [
      withAuthz({ roles, policy: { unlabeled: true } }),
      'auth.authz.policy.unlabeled',
      'must be one of allow, deny',
    ],
    [
      withAuthz({ roles, policy: { registryListing: 'all' } }),
      'auth.authz.policy.registryListing',
      'managers, readers',
    ],
    [withAuthz({ roles, policies: {} }), 'auth.authz.policies', 'is not a known key'],
  ])('refuses %j at %s: %s', (auth, path, fragment) => {
    const error = refusal(() => read(auth));
    expect(error.problems.map((problem) => problem.path)).toEqual([path]);
    expect(error.message).toContain(fragment);
    expect(error.message).not.toContain('hunter2');
  });

  it.each<[unknown]>([
    [{ mode: 'anonymous' }],
    [{ mode: 'anonymous', oauth }],
    [{ oauth }],
    [withOAuth({ blocked: [{ subject: 'a' }, { subject: 'a', issuer: provider.issuerUrl }] })],
    [
      withProvider({
        idTokens: 'accept',
        tokenPrefix: 'okta_',
        introspectionUrl: 'https://idp.example.com/i',
      }),
    ],
    [withProvider({ introspection: 'always', introspectionUrl: 'https://idp.example.com/i' })],
    [withProvider({ clockTolerance: '120s', displayName: 'preferred_username' })],
    [withOAuth({ publicPaths: ['/', '/*', '/registry/public/*', '/v1/me'], scopesSupported: [] })],
    [withOAuth({ resourceUrl: 'http://registry.example.com:8080/base' })],
    [withOAuth({ providers: [provider, { ...provider, name: 'other' }] })],
    [
      withProvider({
        issuerUrl: 'http://localhost:9000/',
        jwksUrl: 'http://[::1]/k',
        introspectionUrl: 'http://127.0.0.1/i',
      }),
    ],
    [withProvider({ clientId: 'a', clientSecretFile: 'secret' })],
    [withAuthz({ roles: {} })],
    [withAuthz({ roles: { superAdmin: [], manageSources: [{ org: 'a', role: ['x', 'y'] }] } })],
  ])('accepts %j', (auth) => expect(read(auth)).toHaveProperty('mode'));

  it('has defaults', () => {
    expect(read(withAuthz({ roles }))).toEqual({
      mode: 'oauth',
      oauth: {
        ...oauth,
        realm: 'mcp-registry',
        scopesSupported: ['mcp-registry:read', 'mcp-registry:write'],
        publicPaths: [],
        providers: [
          {
            ...provider,
            allowPrivateIP: false,
            connectOrigins: [],
            introspection: 'fallback',
            idTokens: 'refuse',
            clockToleranceMs: 0,
          },
        ],
        blocked: [],
      },
      authz: {
        roles: { superAdmin: roles.superAdmin, manageSources: [], manageRegistries: [], manageEntries: [] },
        policy: { arrayValues: 'all', unlabeled: 'allow', registryListing: 'managers' },
      },
    });
  });

  it('contains the content of secret files, without the final line break', () => {
    const files = {
      clientId: 'a',
      clientSecretFile: 'secret',
      caCertPath: 'ca.pem',
      authTokenFile: 'secret',
    };
    expect(read(withProvider(files)).oauth?.providers[0]).toMatchObject({
      clientSecret: 'hunter2',
      caCert: PEM,
      authTokenFile: join(directory, 'secret'),
    });
  });

  it('allows http:// URLs of providers with REGISTRY_INSECURE_URLS', () => {
    const auth = withProvider({ issuerUrl: 'http://idp.example.com' });
    expect(read(auth, { REGISTRY_INSECURE_URLS: 'true' }).mode).toBe('oauth');
    expect(refusal(() => read(auth, { REGISTRY_INSECURE_URLS: 'false' })).problems).toHaveLength(1);
  });
});

describe('an unreadable token file of a provider', () => {
  const load = (authTokenFile: string) => {
    const file = join(directory, 'token-file.yaml');
    const config = { auth: { oauth: { ...oauth, providers: [{ ...provider, authTokenFile }] } } };
    writeFileSync(file, JSON.stringify(config));
    return loadConfig(file, {}, {});
  };

  it.each([
    ['none', 'does not exist'],
    ['.', 'is not a regular file'],
    ['empty', 'is empty'],
  ])('is only a warning: %j %s', (name, problem) => {
    const { config, warnings } = load(name);
    const path = resolve(directory, name);
    expect(config.auth.oauth?.providers[0]?.authTokenFile).toBe(path);
    expect(warnings).toEqual([
      `auth.oauth.providers[0].authTokenFile: the file ${path} ${problem}; until it can be read, tokens of this ` +
        'provider are refused with 503',
    ]);
  });

  it('causes no warning once the file exists', () => expect(load('secret').warnings).toEqual([]));
});
