import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig } from './load-config.js';

const file = join(mkdtempSync(join(tmpdir(), 'registry-warnings-')), 'config.yaml');

function warnings(config: object): string[] {
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(config));
  return loadConfig(file, {}, {}).warnings;
}

const provider = { name: 'corporate', issuerUrl: 'https://idp.example.com', audience: 'api://registry' };
const partner = { name: 'partner', issuerUrl: 'https://login.partner.example', audience: 'registry' };
const oauth = { resourceUrl: 'https://registry.example.com', providers: [provider] };
const both = { ...oauth, providers: [provider, partner] };
const authz = { roles: { superAdmin: [{ role: 'x' }] } };

describe('the warning about claims that several providers can satisfy', () => {
  const iss = provider.issuerUrl;

  it('lists the providers, each path and the remedy', () => {
    const config = {
      auth: {
        oauth: both,
        authz: { roles: { superAdmin: [{ role: 'x', iss }, { role: 'x' }], manageEntries: [{ role: 'w' }] } },
      },
      sources: [
        { name: 'mine', managed: {}, claims: { org: 'acme' } },
        { name: 'open', kubernetes: {} },
      ],
      registries: [
        { name: 'theirs', sources: ['mine'], claims: { org: 'acme', iss } },
        { name: 'all', sources: ['mine'], claims: { org: 'acme', aud: 'registry' } },
      ],
    };
    expect(warnings(config)).toEqual([
      'auth.oauth.providers: each of corporate, partner may put any claim into its tokens, and these claims do not ' +
        'identify a provider: auth.authz.roles.superAdmin[1], auth.authz.roles.manageEntries[0], sources[0].claims (mine), ' +
        "registries[1].claims (all). Add iss with the provider's issuerUrl, or map the provider's claims, unless you " +
        'trust all of these providers',
    ]);
  });

  it('covers all claims of providers without a mapping, but only sub of mapped ones', () => {
    const rules = {
      superAdmin: [{ role: 'root' }],
      manageEntries: [{ team: 'red' }],
      manageSources: [{ sub: 's' }],
    };
    const claims = [
      { from: '/groups', to: 'team' },
      { from: '/r', to: 'role', values: { r: 'reader' } },
    ];
    const mapped = { ...partner, claims };
    const warned = (providers: object[]) =>
      warnings({ auth: { oauth: { ...oauth, providers }, authz: { roles: rules } } });
    expect(warned([provider, mapped])).toEqual([
      expect.stringMatching(
        /each of corporate may put any claim .*: auth\.authz\.roles\.manageSources\[0\], auth\.authz\.roles\.manageEntries\[0\]\. Add/,
      ),
    ]);
    expect(warned([{ ...provider, claims }, mapped])).toEqual([
      expect.stringMatching(
        /each of corporate, partner may put any sub .*: auth\.authz\.roles\.manageSources\[0\]\. Add/,
      ),
      expect.stringMatching(/superAdmin\[0\]: no provider's claims yield role=root/),
    ]);
  });

  it('lists at most 20 paths', () => {
    const superAdmin = Array.from({ length: 25 }, (_, n) => ({ sub: `s${n}` }));
    const [warning] = warnings({ auth: { oauth: both, authz: { roles: { superAdmin } } } });
    expect(warning).toMatch(/superAdmin\[19\] and 5 more\./);
  });

  it.each<[what: string, auth: object]>([
    ['there is one provider', { oauth, authz }],
    [
      'all providers have the same issuer',
      { oauth: { ...both, providers: [provider, { ...partner, issuerUrl: iss }] }, authz },
    ],
    ['every rule names an issuer', { oauth: both, authz: { roles: { superAdmin: [{ role: 'x', iss }] } } }],
    ['claims are not checked', { oauth: both }],
    ['the mode is anonymous', { mode: 'anonymous', oauth: both }],
  ])('is absent when %s', (_what, auth) => expect(warnings({ auth })).toEqual([]));
});

const RULES = /^auth\.authz: has no effect in anonymous mode/;
const FILTER = /^sources\[\d\]\.filter \((\w+)\): has no effect/;

describe('the warning about auth.authz without effect', () => {
  it.each<[what: string, auth: object, count: number]>([
    ['in anonymous mode, with rules', { mode: 'anonymous', authz }, 1],
    ['in anonymous mode, with rules and providers', { mode: 'anonymous', oauth: both, authz }, 1],
    ['in anonymous mode, without rules', { mode: 'anonymous', oauth }, 0],
    ['in oauth mode, with rules', { mode: 'oauth', oauth, authz }, 0],
    ['in oauth mode, without rules', { mode: 'oauth', oauth }, 0],
  ])('%s: %j', (_what, auth, count) =>
    expect(warnings({ auth })).toEqual(Array.from({ length: count }, () => expect.stringMatching(RULES))),
  );

  it('applies --auth-mode before the mode of the file', () => {
    writeFileSync(file, JSON.stringify({ auth: { mode: 'oauth', oauth, authz } }));
    const { warnings: found } = loadConfig(file, {}, { authMode: 'anonymous' });
    expect(found).toEqual([expect.stringMatching(RULES)]);
  });
});

it('does not warn about content.fetch.hosts', () =>
  expect(
    warnings({ auth: { mode: 'anonymous' }, content: { fetch: { hosts: ['git.example.com'] } } }),
  ).toEqual([]));

describe('the warning about a filter without effect', () => {
  const filter = { names: { include: ['com.acme/*'] } };
  const syncPolicy = { interval: '1h' };

  it.each<[what: string, source: object, named: string[]]>([
    ['a managed source', { managed: {}, filter }, ['made']],
    ['a managed source, an empty filter', { managed: {}, filter: {} }, ['made']],
    [
      'a managed source without a filter',
      { managed: { names: [{ include: ['a'], claims: { a: 'b' } }] } },
      [],
    ],
    ['a file source', { file: { path: 'a.json' }, syncPolicy, filter }, []],
    ['a Kubernetes source', { kubernetes: {}, filter }, []],
  ])('mentions %s: %j', (_what, source, named) => {
    const sources = [
      { name: 'other', kubernetes: {} },
      { name: 'made', ...source },
    ];
    const found = warnings({ auth: { mode: 'anonymous' }, sources });
    expect(found.map((warning) => FILTER.exec(warning)?.[1])).toEqual(named);
  });
});

describe('the warning about sources without claims', () => {
  const syncPolicy = { interval: '1h' };
  const sources = [
    { name: 'labelled', file: { path: 'a.json' }, syncPolicy, claims: { org: 'acme' } },
    { name: 'made', managed: {} },
    { name: 'bare', file: { path: 'b.json' }, syncPolicy },
    { name: 'empty', git: { repository: 'https://git.example.com/a.git' }, syncPolicy, claims: {} },
  ];

  it.each<[what: string, auth: object, expected: string[]]>([
    [
      'where claims are checked',
      { oauth, authz },
      [
        'sources[2].claims (bare), sources[3].claims (empty): without claims, only super-admins see the entries',
      ],
    ],
    ['without rules', { oauth }, []],
    ['in anonymous mode', { mode: 'anonymous', oauth }, []],
  ])('lists them %s', (_what, auth, expected) => expect(warnings({ auth, sources })).toEqual(expected));
});
