import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { check } from '../../dist/cli/check.js';
import { Cli, printed } from '../support/cli.js';
import { aCatalogue, aServer } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { keepSecret } from '../support/secrets.js';

const folder = aFolder();
const path = (name: string) => join(folder.path, name);

const SYNCED = { syncPolicy: { interval: '1h' } };
const GROUPS = { from: '/groups', to: 'team', values: { g1: 'platform', g2: 'data' } };
const ROLES = { from: '/realm_access/roles', to: 'role' };

const BASE = () => ({
  auth: {
    mode: 'oauth',
    oauth: {
      resourceUrl: 'https://registry.example.com',
      publicPaths: [] as string[],
      blocked: [] as object[],
      providers: [
        {
          name: 'corporate',
          issuerUrl: 'https://idp.example.com',
          audience: 'registry',
          claims: [GROUPS, ROLES] as object[] | undefined,
        },
      ] as Record<string, unknown>[],
    },
    authz: {
      roles: { superAdmin: [{ role: 'super-admin' }], manageSources: [{ role: 'admin' }] },
      policy: {} as Record<string, string>,
    } as object | undefined,
  },
  sources: [
    { name: 'platform', file: { path: 'platform.json' }, claims: { team: 'platform' }, ...SYNCED },
    { name: 'data', file: { path: 'data.json' }, claims: { team: 'data' }, ...SYNCED },
    { name: 'ide', file: { path: 'data.json' }, claims: { audience: 'ide' }, ...SYNCED },
  ] as Record<string, unknown>[],
  registries: [
    { name: 'default', sources: ['platform', 'data'] },
    { name: 'team', sources: ['data'], claims: { team: 'data' } },
    {
      name: 'ide',
      sources: ['ide'],
      claims: { audience: 'ide' },
      anonymous: { claims: { audience: 'ide' } },
    },
    {
      name: 'keyed',
      sources: ['platform'],
      claims: { team: 'platform' },
      keys: [{ name: 'copilot', secretFile: 'one.key', claims: { team: 'platform' }, expires: '2090-01-01' }],
    },
  ] as Record<string, unknown>[],
  readOnly: false,
});
type Configuration = ReturnType<typeof BASE>;

beforeAll(() => {
  writeFileSync(path('platform.json'), JSON.stringify(aCatalogue([aServer('io.acme/deploy')])));
  writeFileSync(path('data.json'), JSON.stringify(aCatalogue([aServer('io.acme/lake')])));
  for (const name of ['one.key', 'two.key'])
    writeFileSync(path(name), keepSecret(randomBytes(32).toString('base64url')));
});

function configure(name: string, change: (configuration: Configuration) => void): string {
  const configuration = BASE();
  change(configuration);
  writeFileSync(path(name), stringify(configuration));
  return path(name);
}

const provider = ({ auth }: Configuration) => auth.oauth.providers[0] ?? {};
const registry = ({ registries }: Configuration, name: string) =>
  registries.find((one) => one['name'] === name) ?? {};
const key = (configuration: Configuration) => (registry(configuration, 'keyed')['keys'] as object[])[0] ?? {};

interface Row {
  readonly change: (configuration: Configuration) => void;
  /** The lines from the base to the change; none if access does not change. */
  readonly there: readonly string[];
  /** The lines of the reverse change. */
  readonly back: readonly string[];
}

const CHANGES: Readonly<Record<string, Row>> = {
  'a mapping makes every caller a super-admin': {
    change: (all) => (provider(all)['claims'] = [GROUPS, ROLES, { to: 'role', value: 'super-admin' }]),
    there: ['any caller: gains the role superAdmin'],
    back: ['any caller: loses the role superAdmin'],
  },
  "a team's group becomes another team's": {
    change: (all) => (provider(all)['claims'] = [{ ...GROUPS, values: { g1: 'data', g2: 'data' } }, ROLES]),
    there: [
      'groups is g1: can no longer enter registry keyed',
      'groups is g1: can now enter registry team',
      'groups is g1: loses 1 entry in registry default: server io.acme/deploy',
      'groups is g1: gains 1 entry in registry default: server io.acme/lake',
      'groups is g1: gains 1 entry in registry team: server io.acme/lake',
      'groups is g1: loses 1 entry in registry keyed: server io.acme/deploy',
      '/realm_access/roles is admin and groups is g1: can no longer manage source platform',
      '/realm_access/roles is admin and groups is g1: can now manage source data',
    ],
    back: [
      'groups is g1: can no longer enter registry team',
      'groups is g1: can now enter registry keyed',
      'groups is g1: loses 1 entry in registry default: server io.acme/lake',
      'groups is g1: gains 1 entry in registry default: server io.acme/deploy',
      'groups is g1: loses 1 entry in registry team: server io.acme/lake',
      'groups is g1: gains 1 entry in registry keyed: server io.acme/deploy',
      '/realm_access/roles is admin and groups is g1: can no longer manage source data',
      '/realm_access/roles is admin and groups is g1: can now manage source platform',
    ],
  },
  'groups are mapped by a pattern': {
    change: (all) =>
      (provider(all)['claims'] = [{ from: '/groups', to: 'team', pattern: '/teams/*' }, ROLES]),
    there: [
      'groups is g1: can no longer enter registry keyed',
      'groups is g1: loses 1 entry in registry default: server io.acme/deploy',
      'groups is g1: loses 1 entry in registry keyed: server io.acme/deploy',
      'groups is g2: can no longer enter registry team',
      'groups is g2: loses 1 entry in registry default: server io.acme/lake',
      'groups is g2: loses 1 entry in registry team: server io.acme/lake',
      'groups is /teams/platform: can now enter registry keyed',
      'groups is /teams/platform: gains 1 entry in registry default: server io.acme/deploy',
      'groups is /teams/platform: gains 1 entry in registry keyed: server io.acme/deploy',
      'groups is /teams/data: can now enter registry team',
      'groups is /teams/data: gains 1 entry in registry default: server io.acme/lake',
      'groups is /teams/data: gains 1 entry in registry team: server io.acme/lake',
      '/realm_access/roles is admin and groups is g1: can no longer manage source platform',
      '/realm_access/roles is admin and groups is g2: can no longer manage source data',
      '/realm_access/roles is admin and groups is /teams/platform: can now manage source platform',
      '/realm_access/roles is admin and groups is /teams/data: can now manage source data',
    ],
    back: [
      'groups is /teams/platform: can no longer enter registry keyed',
      'groups is /teams/platform: loses 1 entry in registry default: server io.acme/deploy',
      'groups is /teams/platform: loses 1 entry in registry keyed: server io.acme/deploy',
      'groups is /teams/data: can no longer enter registry team',
      'groups is /teams/data: loses 1 entry in registry default: server io.acme/lake',
      'groups is /teams/data: loses 1 entry in registry team: server io.acme/lake',
      'groups is g1: can now enter registry keyed',
      'groups is g1: gains 1 entry in registry default: server io.acme/deploy',
      'groups is g1: gains 1 entry in registry keyed: server io.acme/deploy',
      'groups is g2: can now enter registry team',
      'groups is g2: gains 1 entry in registry default: server io.acme/lake',
      'groups is g2: gains 1 entry in registry team: server io.acme/lake',
      '/realm_access/roles is admin and groups is /teams/platform: can no longer manage source platform',
      '/realm_access/roles is admin and groups is /teams/data: can no longer manage source data',
      '/realm_access/roles is admin and groups is g1: can now manage source platform',
      '/realm_access/roles is admin and groups is g2: can now manage source data',
    ],
  },
  'a provider loses its mapping': {
    change: (all) => (provider(all)['claims'] = undefined),
    there: [
      '/realm_access/roles is super-admin: loses the role superAdmin',
      '/realm_access/roles is admin: loses the role manageSources',
      'groups is g1: can no longer enter registry keyed',
      'groups is g1: loses 1 entry in registry default: server io.acme/deploy',
      'groups is g1: loses 1 entry in registry keyed: server io.acme/deploy',
      'groups is g2: can no longer enter registry team',
      'groups is g2: loses 1 entry in registry default: server io.acme/lake',
      'groups is g2: loses 1 entry in registry team: server io.acme/lake',
      'role is super-admin: gains the role superAdmin',
      'role is admin: gains the role manageSources',
      'team is platform: can now enter registry keyed',
      'team is platform: gains 1 entry in registry default: server io.acme/deploy',
      'team is platform: gains 1 entry in registry keyed: server io.acme/deploy',
      'team is data: can now enter registry team',
      'team is data: gains 1 entry in registry default: server io.acme/lake',
      'team is data: gains 1 entry in registry team: server io.acme/lake',
      'audience is ide: can now enter registry ide',
      'audience is ide: gains 1 entry in registry ide: server io.acme/lake',
    ],
    back: [
      'role is super-admin: loses the role superAdmin',
      'role is admin: loses the role manageSources',
      'team is platform: can no longer enter registry keyed',
      'team is platform: loses 1 entry in registry default: server io.acme/deploy',
      'team is platform: loses 1 entry in registry keyed: server io.acme/deploy',
      'team is data: can no longer enter registry team',
      'team is data: loses 1 entry in registry default: server io.acme/lake',
      'team is data: loses 1 entry in registry team: server io.acme/lake',
      'audience is ide: can no longer enter registry ide',
      'audience is ide: loses 1 entry in registry ide: server io.acme/lake',
      '/realm_access/roles is super-admin: gains the role superAdmin',
      '/realm_access/roles is admin: gains the role manageSources',
      'groups is g1: can now enter registry keyed',
      'groups is g1: gains 1 entry in registry default: server io.acme/deploy',
      'groups is g1: gains 1 entry in registry keyed: server io.acme/deploy',
      'groups is g2: can now enter registry team',
      'groups is g2: gains 1 entry in registry default: server io.acme/lake',
      'groups is g2: gains 1 entry in registry team: server io.acme/lake',
    ],
  },
  'a registry opens to callers without a token': {
    change: (all) => (registry(all, 'team')['anonymous'] = { claims: { team: 'data' } }),
    there: [
      'a caller without a token: can now enter registry team',
      'a caller without a token: gains 1 entry in registry team: server io.acme/lake',
    ],
    back: [
      'a caller without a token: can no longer enter registry team',
      'a caller without a token: loses 1 entry in registry team: server io.acme/lake',
    ],
  },
  'a key gets another secret': {
    change: (all) => Object.assign(key(all), { secretFile: 'two.key' }),
    there: [
      'the former secret of the key copilot of registry keyed: can no longer enter registry keyed',
      'the former secret of the key copilot of registry keyed: loses 1 entry in registry keyed: server io.acme/deploy',
      'the key copilot of registry keyed: can now enter registry keyed',
      'the key copilot of registry keyed: gains 1 entry in registry keyed: server io.acme/deploy',
    ],
    back: [
      'the former secret of the key copilot of registry keyed: can no longer enter registry keyed',
      'the former secret of the key copilot of registry keyed: loses 1 entry in registry keyed: server io.acme/deploy',
      'the key copilot of registry keyed: can now enter registry keyed',
      'the key copilot of registry keyed: gains 1 entry in registry keyed: server io.acme/deploy',
    ],
  },
  'a key expires earlier': {
    change: (all) => Object.assign(key(all), { expires: '2089-01-01' }),
    there: ['the key copilot of registry keyed: now expires 2089-01-01 instead of 2090-01-01'],
    back: ['the key copilot of registry keyed: now expires 2090-01-01 instead of 2089-01-01'],
  },
  'a provider expects another audience': {
    change: (all) => (provider(all)['audience'] = 'api://registry'),
    there: [
      'provider corporate: audience changes from registry to api://registry: other tokens are accepted',
    ],
    back: ['provider corporate: audience changes from api://registry to registry: other tokens are accepted'],
  },
  'a provider has another issuer, keys and introspection': {
    change: (all) =>
      Object.assign(provider(all), {
        issuerUrl: 'https://login.example.com',
        jwksUrl: 'https://login.example.com/keys',
        introspectionUrl: 'https://login.example.com/introspect',
        introspection: 'always',
        clockTolerance: '60s',
        groups: { from: 'userinfo' },
      }),
    there: [
      'provider corporate: issuerUrl changes from https://idp.example.com to https://login.example.com: other tokens are accepted',
      'provider corporate: jwksUrl changes: other tokens may be accepted',
      'provider corporate: introspectionUrl changes: other tokens that no key verifies are accepted',
      'provider corporate: introspection is now always: only claims of the introspection response count, and tokens that it rejects are refused',
      'provider corporate: clockTolerance is now 60 s: expired tokens are accepted for 60 s more',
      'provider corporate: groups changes: tokens that omit their groups are judged differently',
    ],
    back: [
      'provider corporate: issuerUrl changes from https://login.example.com to https://idp.example.com: other tokens are accepted',
      'provider corporate: jwksUrl changes: other tokens may be accepted',
      'provider corporate: introspectionUrl changes: other tokens that no key verifies are accepted',
      'provider corporate: introspection is no longer always: the claims of a JWT count, and a JWT that introspection rejects is accepted',
      'provider corporate: clockTolerance is now 0 s: expired tokens are accepted for 60 s less',
      'provider corporate: groups changes: tokens that omit their groups are judged differently',
    ],
  },
  'a second provider is trusted': {
    change: ({ auth }) =>
      auth.oauth.providers.push({
        name: 'partner',
        issuerUrl: 'https://partner.example.com',
        audience: 'registry',
        claims: [{ from: '/dept', to: 'team', values: { 7: 'data' } }],
      }),
    there: [
      'any caller (provider partner): can now enter registry default',
      'any caller (provider partner): is now accepted',
      'dept is 7 (provider partner): can now enter registry team',
      'dept is 7 (provider partner): gains 1 entry in registry default: server io.acme/lake',
      'dept is 7 (provider partner): gains 1 entry in registry team: server io.acme/lake',
    ],
    back: ['any caller (provider partner): is now refused'],
  },
  'a caller is blocked': {
    change: ({ auth }) => auth.oauth.blocked.push({ subject: '1fb57c10' }),
    there: ['sub is 1fb57c10: is now refused'],
    back: ['sub is 1fb57c10: can now enter registry default', 'sub is 1fb57c10: is now accepted'],
  },
  'the policy, a role and the source of a registry change': {
    change: (all) => {
      all.auth.authz = {
        roles: { superAdmin: [{ role: 'super-admin' }], manageSources: [{ role: 'owner' }] },
        policy: { unlabeled: 'deny', registryListing: 'readers' },
      };
      registry(all, 'team')['sources'] = ['platform'];
    },
    there: [
      'any caller: can no longer enter registry default',
      'any caller: can now list registries through the admin API',
      '/realm_access/roles is super-admin: loses 1 entry in registry team: server io.acme/lake',
      '/realm_access/roles is super-admin: gains 1 entry in registry team: server io.acme/deploy',
      '/realm_access/roles is admin: loses the role manageSources',
      'groups is g1: loses 1 entry in registry default: server io.acme/deploy',
      'groups is g2: loses 1 entry in registry default: server io.acme/lake',
      'groups is g2: loses 1 entry in registry team: server io.acme/lake',
      '/realm_access/roles is owner: gains the role manageSources',
      'groups is both g2 and g1: loses 2 entries in registry default: server io.acme/deploy, server io.acme/lake',
      'groups is both g2 and g1: gains 1 entry in registry team: server io.acme/deploy',
    ],
    back: [
      'any caller: can no longer list registries through the admin API',
      'any caller: can now enter registry default',
      '/realm_access/roles is super-admin: loses 1 entry in registry team: server io.acme/deploy',
      '/realm_access/roles is super-admin: gains 1 entry in registry team: server io.acme/lake',
      '/realm_access/roles is owner: loses the role manageSources',
      'groups is g1: gains 1 entry in registry default: server io.acme/deploy',
      'groups is g2: gains 1 entry in registry default: server io.acme/lake',
      'groups is g2: gains 1 entry in registry team: server io.acme/lake',
      '/realm_access/roles is admin: gains the role manageSources',
      'groups is both g2 and g1: gains 2 entries in registry default: server io.acme/deploy, server io.acme/lake',
      'groups is both g2 and g1: loses 1 entry in registry team: server io.acme/deploy',
    ],
  },
  'tokens are no longer required': {
    change: ({ auth }) => (auth.mode = 'anonymous'),
    there: [
      'a caller without a token: is now accepted',
      'a caller without a token: gains the role superAdmin',
      'the key copilot of registry keyed: can no longer enter registry keyed',
      'the key copilot of registry keyed: loses 1 entry in registry keyed: server io.acme/deploy',
      'any caller: gains the role superAdmin',
    ],
    back: [
      'a caller without a token: is now refused',
      'the key copilot of registry keyed: can now enter registry keyed',
      'the key copilot of registry keyed: gains 1 entry in registry keyed: server io.acme/deploy',
      'any caller: loses the role superAdmin',
    ],
  },
  'names are reserved, and the server becomes read-only': {
    change: (all) => {
      all.sources.push({
        name: 'own',
        managed: { names: [{ include: ['com.red/*'], claims: { team: 'data' } }] },
      });
      all.readOnly = true;
    },
    there: [
      '/realm_access/roles is super-admin: can no longer change what its roles manage',
      '/realm_access/roles is super-admin: can now manage source own',
      '/realm_access/roles is admin: can no longer change what its roles manage',
      '/realm_access/roles is admin: can now manage source own',
    ],
    back: [
      '/realm_access/roles is super-admin: can no longer manage source own',
      '/realm_access/roles is super-admin: can now change what its roles manage',
      '/realm_access/roles is admin: can no longer manage source own',
      '/realm_access/roles is admin: can now change what its roles manage',
    ],
  },
  'nothing that affects access': {
    change: (all) => {
      const corporate = provider(all);
      all.auth.oauth.providers[0] = {
        ...corporate,
        name: 'renamed',
        displayName: 'preferred_username',
        connectOrigins: ['https://login.example.com'],
        claims: [ROLES, { ...GROUPS, values: { g2: 'data', g1: 'platform' } }],
      };
      Object.assign(key(all), { name: 'renamed' });
    },
    there: [],
    back: [],
  },
};

/** The lines about changes, between what `check` prints about the file and the summary. */
function changesIn(output: string): string[] {
  const lines = output.trimEnd().split('\n');
  const start = lines.findLastIndex((line) =>
    /^(provider \S+: claims: |registry \S+ is readable|\S+ is valid: )/.test(line),
  );
  return lines.slice(start + 1, -1);
}

describe('check --against prints each change in access, and exits according to --fail-on (reference/explain)', () => {
  describe.each(Object.entries(CHANGES))('%s', (_name, { change, there, back }) => {
    const same = () => undefined;
    it.each([
      ['the change', same, change, there],
      ['its reverse', change, same, back],
    ] as const)('%s', async (_which, old, next, expected) => {
      const files = [configure('new.yaml', next), configure('old.yaml', old)] as const;
      const run = (failOn: 'none' | 'gain' | 'any') =>
        printed(() => check(files[0], {}, { against: files[1], failOn }));
      const { code, output } = await run('none');
      expect(changesIn(output)).toEqual(expected.length > 0 ? expected : ['No access changes.']);
      const [, gains = '', losses = ''] = /(\d+) gain\(s\), (\d+) loss\(es\)/.exec(output) ?? [];
      expect({ code, gain: (await run('gain')).code, any: (await run('any')).code }).toEqual({
        code: 0,
        gain: gains === '0' ? 0 : 1,
        any: gains === '0' && losses === '0' ? 0 : 1,
      });
    });
  });

  it('exits with 1 for an invalid file, regardless of --fail-on', async () => {
    const good = configure('good.yaml', () => undefined);
    const bad = configure('bad.yaml', ({ auth }) => (auth.mode = 'nobody'));
    for (const [config, against] of [
      [good, bad],
      [bad, good],
    ] as const)
      expect((await printed(() => check(config, {}, { against }))).code).toBe(1);
  });

  it('is an option of the command', async () => {
    const old = configure('old.yaml', () => undefined);
    const next = configure(
      'new.yaml',
      (all) => (registry(all, 'team')['anonymous'] = { claims: { team: 'data' } }),
    );
    const args = ['check', '--config', next, '--against', old, '--fail-on'];
    const [gain, wrong] = await Promise.all([
      new Cli([...args, 'gain']).finished,
      new Cli([...args, 'all']).finished,
    ]);
    expect(gain.code).toBe(1);
    expect(wrong.output).toContain('Allowed choices are none, gain, any');
  });
});
