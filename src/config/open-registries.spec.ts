import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig } from './load-config.js';
import { openRegistries } from './open-registries.js';

const directory = mkdtempSync(join(tmpdir(), 'registry-open-'));
const secretFile = join(directory, 'key');
writeFileSync(secretFile, 'k'.repeat(43));

const provider = { name: 'corporate', issuerUrl: 'https://idp.example.com', audience: 'api://registry' };
const oauth = { resourceUrl: 'https://registry.example.com', providers: [provider] };
const full = { oauth, authz: { roles: { superAdmin: [{ role: 'x' }] } } };
const file = (name: string, claims?: object) => ({
  name,
  file: { path: '/a.json' },
  syncPolicy: { interval: '1h' },
  ...(claims ? { claims } : {}),
});
const sources = [
  file('open', { audience: 'ide' }),
  file('internal', { org: 'acme' }),
  { name: 'managed', managed: {} },
];
const anonymous = { claims: { audience: 'ide' } };
const keys = [{ name: 'copilot', secretFile, claims: { org: 'acme' }, expires: '2999-06-30' }];

function load(registry: object, auth: object = full, more: object = {}) {
  const path = join(directory, 'config.yaml');
  writeFileSync(path, JSON.stringify({ auth, sources, registries: [{ name: 'ide', ...registry }], ...more }));
  const { config, warnings } = loadConfig(path, {}, {});
  return { lines: openRegistries(config), warnings };
}

describe('registries readable without a token', () => {
  it('are listed with their claims', () => {
    expect(load({ sources: ['open', 'internal'], anonymous, keys }).lines).toEqual([
      'registry ide is readable without a token, with the claims {"audience":"ide"}',
      'registry ide is readable with the key copilot, with the claims {"org":"acme"}, until 2999-06-30',
    ]);
  });

  it.each([
    ['in anonymous mode', { anonymous }, { mode: 'anonymous' }],
    ['for a registry that requires tokens', {}, full],
  ])('are not listed %s', (_when, registry, auth) => {
    expect(load({ sources: ['open'], ...registry }, auth).lines).toEqual([]);
  });
});

describe('a warning', () => {
  const ALL = 'opens the whole registry';
  it.each<[string, object, object, string[]]>([
    ['none', { sources: ['open', 'internal'], anonymous }, full, []],
    ['none', { sources: ['open', 'managed'], anonymous }, full, []],
    [
      'everything is visible',
      { sources: ['open'], anonymous },
      full,
      [`registries[0].anonymous (ide): ${ALL}`],
    ],
    [
      'everything is visible',
      { sources: ['internal'], keys },
      full,
      [`registries[0].keys[0] (ide, copilot): ${ALL}`],
    ],
    [
      'there is no auth.authz',
      { sources: ['internal'], anonymous },
      { oauth },
      [`registries[0].anonymous (ide): ${ALL}, because claims restrict nothing`],
    ],
    [
      'the gate refuses',
      { sources: ['open'], claims: { org: 'acme' }, anonymous },
      full,
      ['registries[0].anonymous (ide): its claims do not satisfy the claims of the registry'],
    ],
    [
      'it has no effect',
      { sources: ['open'], anonymous, keys },
      { mode: 'anonymous' },
      ['registries[0] (ide): anonymous and keys have no effect in anonymous mode'],
    ],
    [
      'a key has expired',
      { sources: ['open'], keys: [{ ...keys[0], expires: '2020-01-01' }] },
      full,
      ['registries[0].keys[0] (ide, copilot): has expired'],
    ],
    [
      'nothing can be published',
      { sources: ['open'], publishClaims: { org: 'acme' } },
      full,
      ['registries[0].publishClaims (ide): has no effect'],
    ],
    ['none', { sources: ['managed'], publishClaims: { org: 'acme' } }, full, []],
  ])('reports that %s: %j', (_what, registry, auth, expected) => {
    expect(load(registry, auth).warnings).toEqual(
      expected.map((warning) => expect.stringContaining(warning) as string),
    );
  });

  it('reports two marketplaces with the same name', () => {
    const registry = (name: string, marketplace: string) => ({
      name,
      sources: ['open'],
      marketplace: { name: marketplace, owner: 'Acme' },
    });
    const warningsOf = (...names: string[]) =>
      load({}, full, { registries: names.map((name, position) => registry(`r${position}`, name)) }).warnings;
    expect(warningsOf('acme', 'other')).toEqual([]);
    expect(warningsOf('acme', 'other', 'acme')).toEqual([
      expect.stringContaining(
        'registries[2].marketplace.name (r2): registry r0 has a marketplace of this name',
      ),
    ]);
  });

  it('reports an unknown root registry', () => {
    expect(load({ sources: ['open'] }, full, { rootRegistry: 'ide' }).warnings).toEqual([]);
    expect(load({ sources: ['open'] }, full, { rootRegistry: 'other' }).warnings).toEqual([
      expect.stringContaining('rootRegistry: no registry in this file is called other'),
    ]);
  });
});
