import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { refusalOf } from '../../test/support/refused-configuration.js';
import { loadConfig } from './load-config.js';
import { providerReaches } from './provider-claims.js';

const file = join(mkdtempSync(join(tmpdir(), 'registry-claims-')), 'config.yaml');
const provider = { name: 'corporate', issuerUrl: 'https://idp.example.com', audience: 'registry' };
const authz = {
  roles: {
    superAdmin: [{ role: 'super-admin' }],
    manageSources: [{ iss: 'https://other.example', role: 'admin' }],
    manageRegistries: [{ role: ['admin', 'owner'], org: 'acme' }],
    manageEntries: [{ sub: 'robot' }, { team: 'red' }],
  },
};

function loaded(changed: object, rules: object | undefined = authz) {
  const oauth = { resourceUrl: 'https://registry.example.com', providers: [{ ...provider, ...changed }] };
  writeFileSync(file, JSON.stringify({ auth: { oauth, authz: rules } }));
  return loadConfig(file, {}, {}).config.auth;
}

function problemsOf(changed: object): string {
  const found = refusalOf(() => loaded(changed))?.problems ?? [];
  return found.map(({ path, message }) => `${path}: ${message}`).join('\n');
}

const P = 'auth.oauth.providers[0]';
const GOOD = { from: '/groups', to: 'team' };
const many = (count: number) => Array.from({ length: count }, (_, n) => ({ to: `claim-${n}`, value: 'x' }));

describe('the claims of a provider', () => {
  it.each<[string, unknown]>([
    ['none at all', []],
    ['an untranslated value', [GOOD]],
    ['a pattern', [{ ...GOOD, pattern: '/teams/*', values: { red: 'r' } }]],
    ['translated values', [{ ...GOOD, values: { '9bf3afbc-77': 'platform', 12: 'twelve' } }]],
    ['a constant', [{ to: 'org', value: 'acme' }]],
    ['a constant with a condition', [{ to: 'org', value: 'acme', when: { repository_owner_id: '12345' } }]],
    ['several rules for one claim', [GOOD, { ...GOOD, from: '/teams' }, { to: 'team', value: 'all' }]],
    ['a name with dots and slashes', [{ from: '/https:~1~1acme.example~1roles', to: 'acme/role.v1' }]],
    ['the maximum of 100 rules', many(100)],
  ])('may be %s', (_what, claims) => {
    expect(problemsOf({ claims })).toBe('');
  });

  it.each<[unknown, string]>([
    [GOOD, 'claims: must be a list, not a map'],
    [['role'], 'claims[0]: must be a map, not a string'],
    [[{ ...GOOD, to: undefined }], 'claims[0].to: is required'],
    [[{ ...GOOD, to: '' }], 'claims[0].to: must not be empty'],
    [[{ ...GOOD, to: ['team'] }], 'claims[0].to: must be a string, not a list'],
    [[{ ...GOOD, to: 'sub' }], 'claims[0].to: must not be iss or sub'],
    [[{ ...GOOD, to: 'iss' }], 'claims[0].to: must not be iss or sub'],
    [[{ ...GOOD, to: 'exp' }], 'claims[0].to: identifies a token'],
    [[{ ...GOOD, to: 'jti' }], 'claims[0].to: identifies a token'],
    [[{ ...GOOD, to: '__proto__' }], 'claims[0].to: is not a valid claim name'],
    [[{ ...GOOD, from: 'groups' }], 'claims[0].from: must be a JSON Pointer'],
    [[{ ...GOOD, from: '' }], 'claims[0].from: must not be empty'],
    [[{ ...GOOD, from: '/a~b' }], 'claims[0].from: must be a JSON Pointer'],
    [[{ ...GOOD, from: '$.groups' }], 'claims[0].from: must be a JSON Pointer'],
    [[{ to: 'team' }], 'claims[0]: needs either from'],
    [[{ ...GOOD, value: 'x' }], 'claims[0]: needs either from'],
    [[{ ...GOOD, when: { a: 'b' } }], 'claims[0].when: needs value'],
    [[{ ...GOOD, pattern: '/teams' }], 'claims[0].pattern: must have exactly one "*"'],
    [[{ ...GOOD, pattern: '/*/*' }], 'claims[0].pattern: must have exactly one "*"'],
    [[{ ...GOOD, pattern: 5 }], 'claims[0].pattern: must be a string, not a number'],
    [[{ to: 'org', value: 'x', pattern: '*' }], 'claims[0].pattern: needs from'],
    [[{ ...GOOD, values: {} }], 'claims[0].values: must not be empty'],
    [[{ ...GOOD, values: ['a'] }], 'claims[0].values: must be a map, not a list'],
    [[{ ...GOOD, values: { a: 1 } }], 'claims[0].values.a: must be a string, not a number'],
    [[{ ...GOOD, values: { a: ['b'] } }], 'claims[0].values.a: must be a string, not a list'],
    [[{ to: 'org', value: 'x', values: { a: 'b' } }], 'claims[0].values: needs from'],
    [[{ to: 'org', value: 12345 }], 'claims[0].value: must be a string, not a number: put it in quotes'],
    [[{ to: 'org', value: ['a'] }], 'claims[0].value: must be a string, not a list'],
    [[{ to: 'org', value: 'x', when: {} }], 'claims[0].when: must have at least one claim'],
    [[{ to: 'org', value: 'x', when: { a: 1 } }], 'claims[0].when.a: must be a string or a list of strings'],
    [[{ to: 'org', value: 'x', wehn: { a: 'b' } }], 'claims[0].wehn: is not a known key'],
    [many(101), 'claims: must not define more than 100 claims'],
  ])('cannot be $0', (claims, problem) => {
    expect(problemsOf({ claims })).toContain(`${P}.${problem}`);
  });
});

describe('the groups of a provider', () => {
  it.each([{ from: 'userinfo' }, { url: 'https://groups.example.com/of' }])('may be at %j', (groups) => {
    expect(problemsOf({ groups })).toBe('');
  });

  it.each<[unknown, string]>([
    ['userinfo', 'groups: must be a map, not a string'],
    [{}, 'groups: needs either from: userinfo or url'],
    [{ from: 'graph' }, 'groups.from: must be one of userinfo'],
    [{ from: 'userinfo', url: 'https://groups.example.com' }, 'groups: needs either'],
    [{ url: 'groups' }, 'groups.url: must be an http:// or https:// URL'],
    [{ url: 'http://groups.example.com' }, 'groups.url: must be https://'],
    [{ url: 'https://me:secret@groups.example.com' }, 'groups.url: must not contain a user or a password'],
  ])('cannot be at %j', (groups, problem) => {
    expect(problemsOf({ groups })).toContain(`${P}.${problem}`);
  });
});

describe('the reach of a provider', () => {
  const IDENTITY = ['iss', 'sub'];

  it.each<[what: string, claims: object[] | undefined, keys: string[] | null, roles: string[]]>([
    [
      'is everything except rules for another issuer',
      undefined,
      null,
      ['superAdmin', 'manageRegistries', 'manageEntries'],
    ],
    ['is only subjects when nothing is mapped', [], IDENTITY, ['manageEntries']],
    [
      'includes any value of an untranslated claim',
      [{ from: '/role', to: 'role' }],
      [...IDENTITY, 'role'],
      ['superAdmin', 'manageEntries'],
    ],
    [
      'includes translated values and constants',
      [
        { from: '/role', to: 'role', values: { a: 'admin', w: 'writer' } },
        { to: 'org', value: 'acme', when: { tenant: '1' } },
      ],
      [...IDENTITY, 'role', 'org'],
      ['manageRegistries', 'manageEntries'],
    ],
    [
      'excludes roles that need another value',
      [
        { from: '/role', to: 'role', values: { a: 'admin' } },
        { to: 'org', value: 'contoso' },
      ],
      [...IDENTITY, 'role', 'org'],
      ['manageEntries'],
    ],
  ])('%s', (_what, claims, keys, roles) => {
    expect(providerReaches(loaded({ claims }))).toEqual([{ provider: 'corporate', claims: keys, roles }]);
  });

  it('is every role without rules, and nothing in anonymous mode', () => {
    const { mode, oauth } = loaded({ claims: [] });
    const authOnly = { mode, ...(oauth ? { oauth } : {}) };
    expect(providerReaches(authOnly)).toMatchObject([{ roles: ['all, because auth.authz is absent'] }]);
    expect(providerReaches({ ...authOnly, mode: 'anonymous' })).toEqual([]);
  });
});

describe('claims that no mapping can yield are warned about (reference/explain)', () => {
  const CLAIMS = [
    { from: '/groups', to: 'team', values: { g1: 'red', 'a/b': 'blue' } },
    { from: '/roles', to: 'role', pattern: 'r-*', values: { a: 'admin', 'b/c': 'owner' } },
    { from: '/org', to: 'org', pattern: 'o-*' },
  ];
  const SYNCED = { syncPolicy: { interval: '1h' } };

  function warnings(more: Record<string, unknown>, roles: object = {}, claims: object | null = CLAIMS) {
    const providers = [{ ...provider, ...(claims ? { claims } : {}) }];
    const oauth = { resourceUrl: 'https://registry.example.com', providers };
    writeFileSync(file, JSON.stringify({ auth: { oauth, authz: { roles } }, ...more }));
    return loadConfig(file, {}, {}).warnings.filter((warning) =>
      warning.includes("no provider's claims yield"),
    );
  }
  const gate = (claims: object, more: object = {}) => ({
    sources: [{ name: 's', file: { path: 's.json' }, ...SYNCED }],
    registries: [{ name: 'r', sources: ['s'], claims, ...more }],
  });
  const GATE = "registries[0].claims (r): no provider's claims yield";

  it.each<[what: string, found: () => string[], expected: string[]]>([
    ['a value that is mapped', () => warnings(gate({ team: 'red' })), []],
    [
      'a value that is not',
      () => warnings(gate({ team: 'green' })),
      [`${GATE} team=green, so only super-admins enter it`],
    ],
    [
      'a key that is not',
      () => warnings(gate({ dept: '7' })),
      [`${GATE} dept=7, so only super-admins enter it`],
    ],
    ['a key of no mapping, without a mapping', () => warnings(gate({ dept: '7' }), {}, null), []],
    ['subjects', () => warnings(gate({ sub: 'ada' })), []],
    ['the issuer', () => warnings(gate({ iss: provider.issuerUrl })), []],
    [
      'another issuer',
      () => warnings(gate({ iss: 'https://other.example' })),
      [`${GATE} iss=https://other.example, so only super-admins enter it`],
    ],
    ['what a pattern can leave', () => warnings(gate({ org: 'acme' })), []],
    [
      'what a pattern cannot leave',
      () => warnings(gate({ org: 'a/b', role: 'owner' })),
      [`${GATE} org=a/b, role=owner, so only super-admins enter it`],
    ],
    [
      'what callers without a token hold',
      () => warnings(gate({ audience: 'ide' }, { anonymous: { claims: { audience: 'ide' } } })),
      [],
    ],
    [
      'an alternative of a rule',
      () => warnings({}, { superAdmin: [{ role: ['admin', 'root'] }] }),
      ["auth.authz.roles.superAdmin[0]: no provider's claims yield role=root"],
    ],
    [
      'a whole rule',
      () => warnings({}, { superAdmin: [{ role: 'root' }] }),
      [
        "auth.authz.roles.superAdmin[0]: no provider's claims yield role=root, so the rule grants the role to nobody",
      ],
    ],
    [
      'a source and its names',
      () =>
        warnings({
          sources: [
            {
              name: 'own',
              managed: { names: [{ include: ['com.red/*'], claims: { team: 'pink' } }] },
              claims: { team: ['red', 'green'] },
            },
          ],
        }),
      [
        "sources[0].claims (own): no provider's claims yield team=green, so only super-admins reach it",
        "sources[0].managed.names[0].claims (own): no provider's claims yield team=pink, so only super-admins publish these names",
      ],
    ],
  ])('%s', (_what, found, expected) => {
    expect(found()).toEqual(expected);
  });

  it('even if several providers together could yield them', () => {
    const providers = ['org', 'team'].map((to) => ({
      name: to,
      issuerUrl: `https://${to}.example.com`,
      audience: 'registry',
      claims: [{ from: `/${to}`, to }],
    }));
    const oauth = { resourceUrl: 'https://registry.example.com', providers };
    const auth = { oauth, authz: { roles: {} } };
    writeFileSync(file, JSON.stringify({ auth, ...gate({ org: 'acme', team: 'red' }) }));
    expect(loadConfig(file, {}, {}).warnings).toContain(
      `${GATE} all of org, team, so only super-admins enter it`,
    );
  });

  it('in at most 20 places', () => {
    const superAdmin = Array.from({ length: 22 }, (_, index) => ({ role: `none-${index}` }));
    expect(warnings({}, { superAdmin })).toHaveLength(21);
    expect(warnings({}, { superAdmin }).at(-1)).toMatch(/^2 more places/);
  });
});
