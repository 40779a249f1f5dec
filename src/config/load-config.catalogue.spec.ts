import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig } from './load-config.js';
import { refusalOf } from '../../test/support/refused-configuration.js';

const directory = mkdtempSync(join(tmpdir(), 'registry-config-'));
const secret = join(directory, 'secret');
writeFileSync(secret, 'hunter2\n');
const key = join(directory, 'key');
writeFileSync(key, `${'k'.repeat(43)}\n`);
const copilot = { name: 'copilot', secretFile: key, claims: { org: 'a' } };
/** Defaults: nobody can read the registry without a token. */
const CLOSED = { anonymousClaims: null, keys: [], publishClaims: null, marketplace: null };

const git = { repository: 'https://git.example.com/a.git', branch: 'main', path: 'registry.json' };
const synced = { syncPolicy: { interval: '30m' } };

const marketplace = (more: object) => ({
  sources: ['s'],
  marketplace: { name: 'acme', owner: 'Acme', ...more },
});

/** Loads a file with one source and one registry, both named `s`. */
function read(source: unknown, registry: unknown = { sources: ['s'] }) {
  const file = join(directory, 'config.yaml');
  const named = (value: unknown) => (isMap(value) ? { name: 's', ...value } : value);
  // JSON is YAML.
  writeFileSync(
    file,
    JSON.stringify({ auth: { mode: 'anonymous' }, sources: [named(source)], registries: [named(registry)] }),
  );
  return loadConfig(file, {}, {}).config;
}

function problems(source: unknown, registry?: unknown): string[] {
  const found = refusalOf(() => read(source, registry))?.problems ?? [];
  return found.map(({ path, message }) => `${path}: ${message}`);
}

function isMap(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

describe('a source', () => {
  it.each<[unknown, string, string]>([
    [5, 'sources[0]', 'must be a map, not a number'],
    [null, 'sources[0]', 'must be a map, not nothing'],
    ['file', 'sources[0]', 'must be a map, not a string'],
    [[], 'sources[0]', 'must be a map, not a list'],
    [{ name: null, file: { path: 'a' }, ...synced }, 'sources[0].name', 'must be a string, not nothing'],
    [{ name: 5, file: { path: 'a' }, ...synced }, 'sources[0].name', 'put it in quotes'],
    [{ name: 'Catalog', file: { path: 'a' }, ...synced }, 'sources[0].name', 'DNS label'],
    [{ name: 'a_b', file: { path: 'a' }, ...synced }, 'sources[0].name', 'DNS label'],
    [{ name: '-a', file: { path: 'a' }, ...synced }, 'sources[0].name', 'DNS label'],
    [{ name: 'a.b', file: { path: 'a' }, ...synced }, 'sources[0].name', 'DNS label'],
    [{ name: 'a'.repeat(64), file: { path: 'a' }, ...synced }, 'sources[0].name', 'DNS label'],
    [{}, 'sources[0]', 'has no kind'],
    [{ ...synced }, 'sources[0]', 'has no kind'],
    [{ file: { path: 'a' }, git, ...synced }, 'sources[0]', 'has file and git'],
    [{ managed: {}, fille: { path: 'a' } }, 'sources[0].fille', 'did you mean file?'],
    [{ file: { path: 'a' } }, 'sources[0].syncPolicy', 'is required for a source of kind file'],
    [{ git }, 'sources[0].syncPolicy', 'is required for a source of kind git'],
    [
      { api: { endpoint: 'https://r.example.com' } },
      'sources[0].syncPolicy',
      'is required for a source of kind api',
    ],
    [{ managed: {}, ...synced }, 'sources[0].syncPolicy', 'is not allowed for a source of kind managed'],
    [
      { kubernetes: {}, ...synced },
      'sources[0].syncPolicy',
      'is not allowed for a source of kind kubernetes',
    ],
    [{ file: { path: 'a' }, syncPolicy: null }, 'sources[0].syncPolicy', 'must be a map, not nothing'],
    [{ file: { path: 'a' }, syncPolicy: '30m' }, 'sources[0].syncPolicy', 'must be a map, not a string'],
    [{ file: { path: 'a' }, syncPolicy: {} }, 'sources[0].syncPolicy.interval', 'is required'],
    [
      { file: { path: 'a' }, syncPolicy: { interval: 30 } },
      'sources[0].syncPolicy.interval',
      'must be a duration',
    ],
    [
      { file: { path: 'a' }, syncPolicy: { interval: '30' } },
      'sources[0].syncPolicy.interval',
      'must be a duration',
    ],
    [
      { file: { path: 'a' }, syncPolicy: { interval: '' } },
      'sources[0].syncPolicy.interval',
      'must be a duration',
    ],
    [
      { file: { path: 'a' }, syncPolicy: { interval: '-5m' } },
      'sources[0].syncPolicy.interval',
      'must be a duration',
    ],
    [
      { file: { path: 'a' }, syncPolicy: { interval: '366d' } },
      'sources[0].syncPolicy.interval',
      'must be a duration',
    ],
    [{ file: null, ...synced }, 'sources[0].file', 'must be a map, not nothing'],
    [{ file: 'a.json', ...synced }, 'sources[0].file', 'must be a map, not a string'],
    [{ file: [{ path: 'a' }], ...synced }, 'sources[0].file', 'must be a map, not a list'],
    [{ file: {}, ...synced }, 'sources[0].file', 'needs a path or a url'],
    [{ file: { path: 'a', url: 'https://x' }, ...synced }, 'sources[0].file', 'has a path and a url'],
    [{ file: { path: 'a', format: 'yaml' }, ...synced }, 'sources[0].file.format', 'must be one of registry'],
    [{ file: { path: 'a', format: 'skills' }, ...synced }, 'sources[0].file.format', 'use a git source'],
    [{ file: { path: 'a', format: 'marketplace' }, ...synced }, 'sources[0].file.namespace', 'is required'],
    [{ file: { path: 'a', namespace: 'a/b' }, ...synced }, 'sources[0].file.namespace', 'must have 3 to 128'],
    [
      { file: { path: 'a', format: 'servers', namespace: 'com.acme' }, ...synced },
      'sources[0].file.namespace',
      'is not used',
    ],
    [{ file: { path: '' }, ...synced }, 'sources[0].file.path', 'must not be empty'],
    [{ file: { path: 'a\0b' }, ...synced }, 'sources[0].file.path', 'control characters'],
    [{ file: { path: ['a'] }, ...synced }, 'sources[0].file.path', 'must be a string, not a list'],
    [{ file: { url: 'file:///etc/passwd' }, ...synced }, 'sources[0].file.url', 'http:// or https://'],
    [{ file: { url: 'example.com' }, ...synced }, 'sources[0].file.url', 'http:// or https://'],
    [{ file: { url: 'https:example.com' }, ...synced }, 'sources[0].file.url', 'http:// or https://'],
    [{ file: { url: 'https://a b' }, ...synced }, 'sources[0].file.url', 'http:// or https://'],
    [{ file: { url: 'https://u:p@x/' }, ...synced }, 'sources[0].file.url', 'a user or a password'],
    [{ git: { ...git, repository: undefined }, ...synced }, 'sources[0].git.repository', 'is required'],
    [
      { git: { ...git, repository: 'git://x/a.git' }, ...synced },
      'sources[0].git.repository',
      'http:// or https://',
    ],
    [
      { git: { ...git, repository: 'ext::sh -c x' }, ...synced },
      'sources[0].git.repository',
      'http:// or https://',
    ],
    [
      { git: { ...git, repository: '/srv/a.git' }, ...synced },
      'sources[0].git.repository',
      'http:// or https://',
    ],
    [{ git: { ...git, tag: 'v1' }, ...synced }, 'sources[0].git', 'has branch and tag'],
    [{ git: { ...git, commit: 'a'.repeat(40) }, ...synced }, 'sources[0].git', 'has branch and commit'],
    [
      { git: { ...git, branch: '--upload-pack=x' }, ...synced },
      'sources[0].git.branch',
      'is not a valid branch or tag name',
    ],
    [
      { git: { ...git, branch: 'a..b' }, ...synced },
      'sources[0].git.branch',
      'is not a valid branch or tag name',
    ],
    [
      { git: { ...git, branch: undefined, commit: 'abc' }, ...synced },
      'sources[0].git.commit',
      'full commit id',
    ],
    [{ git: { ...git, path: '../x' }, ...synced }, 'sources[0].git.path', 'inside the repository'],
    [{ git: { ...git, path: '/x' }, ...synced }, 'sources[0].git.path', 'inside the repository'],
    [
      { git: { ...git, auth: { passwordFile: secret } }, ...synced },
      'sources[0].git.auth.username',
      'is required',
    ],
    [
      { git: { ...git, auth: { username: 'u', passwordFile: '/nowhere' } }, ...synced },
      'sources[0].git.auth.passwordFile',
      'the file /nowhere does not exist',
    ],
    [
      { git: { ...git, auth: { username: 'u', password: 'hunter2', passwordFile: secret } }, ...synced },
      'sources[0].git.auth.password',
      'is not a known key',
    ],
    [{ api: {}, ...synced }, 'sources[0].api.endpoint', 'is required'],
    [{ api: { endpoint: 'https://x/?a' }, ...synced }, 'sources[0].api.endpoint', 'a query or a fragment'],
    [
      { api: { endpoint: 'https://x', timeout: 5 }, ...synced },
      'sources[0].api.timeout',
      'must be a duration',
    ],
    [
      { api: { endpoint: 'https://x', timeout: '25h' }, ...synced },
      'sources[0].api.timeout',
      'must be a duration from 1s to 24h',
    ],
    [{ managed: null }, 'sources[0].managed', 'must be a map, not nothing'],
    [{ managed: true }, 'sources[0].managed', 'must be a map, not a boolean'],
    [{ managed: { a: 1 } }, 'sources[0].managed.a', 'is not a known key'],
    [{ managed: { names: {} } }, 'sources[0].managed.names', 'must be a list, not a map'],
    [{ managed: { names: [{ claims: { a: 'b' } }] } }, 'sources[0].managed.names[0].include', 'is required'],
    [
      { managed: { names: [{ include: ['*'], claims: {} }] } },
      'sources[0].managed.names[0].claims',
      'must have at least one claim',
    ],
    [{ kubernetes: { namespaces: 'a' } }, 'sources[0].kubernetes.namespaces', 'must be a list, not a string'],
    [
      { kubernetes: { relistInterval: 60 } },
      'sources[0].kubernetes.relistInterval',
      'must be a duration from 1m to 365d',
    ],
    [
      { kubernetes: { relistInterval: '59s' } },
      'sources[0].kubernetes.relistInterval',
      'must be a duration from 1m to 365d',
    ],
    [{ kubernetes: { namespaces: ['A'] } }, 'sources[0].kubernetes.namespaces[0]', 'DNS label'],
    [
      { kubernetes: { namespaces: ['a', 'a'] } },
      'sources[0].kubernetes.namespaces[1]',
      'is already in the list',
    ],
    [{ managed: {}, filter: [] }, 'sources[0].filter', 'must be a map, not a list'],
    [{ managed: {}, filter: { name: {} } }, 'sources[0].filter.name', 'did you mean names?'],
    [{ managed: {}, filter: { names: ['a'] } }, 'sources[0].filter.names', 'must be a map, not a list'],
    [
      { managed: {}, filter: { names: { include: ['a', 'com.[ab]/*'] } } },
      'sources[0].filter.names.include[1]',
      'must not contain "["',
    ],
    [
      { file: { path: 'a' }, ...synced, filter: { names: { exclude: ['[!a]*'] } } },
      'sources[0].filter.names.exclude[0]',
      'sets of characters are not supported',
    ],
    [
      { file: { path: 'a' }, ...synced, filter: { tags: { include: ['[beta]'] } } },
      'sources[0].filter.tags.include[0]',
      'must not contain "["',
    ],
    [
      { managed: { names: [{ include: ['com.[ab]/*'], claims: { a: 'b' } }] } },
      'sources[0].managed.names[0].include[0]',
      'must not contain "["',
    ],
    [
      { managed: {}, filter: { names: { include: 'a' } } },
      'sources[0].filter.names.include',
      'must be a list',
    ],
    [
      { managed: {}, filter: { tags: { exclude: ['a', 5] } } },
      'sources[0].filter.tags.exclude[1]',
      'must be a string',
    ],
    [{ managed: {}, claims: [] }, 'sources[0].claims', 'must be a map of claims'],
    [{ managed: {}, claims: null }, 'sources[0].claims', 'must be a map of claims'],
    [{ managed: {}, claims: { org: 5 } }, 'sources[0].claims.org', 'must be a string or a list of strings'],
    [{ managed: {}, claims: { org: 'a', jti: 'b' } }, 'sources[0].claims.jti', 'identifies a token'],
    [{ managed: {}, claims: { team: [] } }, 'sources[0].claims.team', 'must not be an empty list'],
    [
      { managed: {}, claims: { 'a b': { c: 'd' } } },
      'sources[0].claims["a b"]',
      'must be a string or a list',
    ],
    [{ managed: {}, constructor: 'x' }, 'sources[0].constructor', 'is not a known key'],
    [{ managed: {}, toString: 'x' }, 'sources[0].toString', 'is not a known key'],
  ])('refuses %j at %s: %s', (source, path, fragment) => {
    const found = problems(source).filter((problem) => problem.startsWith('sources'));
    expect(found).toEqual([expect.stringContaining(`${path}: `)]);
    expect(found[0]).toContain(fragment);
    expect(found[0]).not.toContain('hunter2');
  });

  it.each<[unknown, object]>([
    [
      { file: { path: 'a.json' }, ...synced },
      {
        name: 's',
        kind: 'file',
        settings: { path: join(directory, 'a.json') },
        intervalMs: 1_800_000,
        allowShrink: false,
        filter: null,
        claims: {},
      },
    ],
    [
      { file: { path: '/srv/a.json' }, syncPolicy: { interval: '1h30m' } },
      { settings: { path: '/srv/a.json' }, intervalMs: 5_400_000 },
    ],
    [
      { file: { url: 'http://x.example/a.json?b#c' }, ...synced },
      { settings: { url: 'http://x.example/a.json?b#c' } },
    ],
    [
      { git, ...synced },
      { kind: 'git', settings: git },
    ],
    [
      {
        git: {
          repository: 'http://x/a',
          commit: 'a'.repeat(40),
          auth: { username: 'u', passwordFile: 'secret' },
        },
        ...synced,
      },
      {
        settings: {
          repository: 'http://x/a',
          commit: 'a'.repeat(40),
          auth: { username: 'u', passwordFile: secret },
        },
      },
    ],
    [
      { api: { endpoint: 'https://x', timeout: '24h', tokenFile: 'secret' }, ...synced },
      { kind: 'api', settings: { endpoint: 'https://x', timeout: '24h', tokenFile: secret } },
    ],
    [{ managed: {} }, { kind: 'managed', settings: {}, intervalMs: null }],
    [
      { kubernetes: { relistInterval: '1m' } },
      { kind: 'kubernetes', settings: { relistInterval: '1m' }, intervalMs: null },
    ],
    [
      { kubernetes: { namespaces: [] } },
      { kind: 'kubernetes', settings: { namespaces: [] }, intervalMs: null },
    ],
    [
      { managed: {}, filter: { names: { include: ['a/*'], exclude: [] } } },
      { filter: { names: { include: ['a/*'], exclude: [] } } },
    ],
    [
      {
        file: { path: 'a' },
        ...synced,
        filter: { names: { exclude: ['?*]'] }, tags: { include: ['(b|{c})'] } },
      },
      { filter: { names: { exclude: ['?*]'] }, tags: { include: ['(b|{c})'] } } },
    ],
    [
      { managed: { names: [{ include: ['com.?/*'], claims: { a: 'b' } }] } },
      { settings: { names: [{ include: ['com.?/*'], claims: { a: 'b' } }] } },
    ],
    [
      { managed: {}, claims: { org: 'acme', constructor: ['a', 'b'] } },
      { claims: { org: 'acme', constructor: ['a', 'b'] } },
    ],
    [{ name: 'a'.repeat(63), managed: {} }, { name: 'a'.repeat(63) }],
  ])('accepts %j', (source, expected) => {
    const name = isMap(source) && 'name' in source ? source.name : 's';
    expect(read(source, { sources: [name] }).sources[0]).toMatchObject(expected);
  });
});

describe('a registry', () => {
  it.each<[unknown, string, string]>([
    [5, 'registries[0]', 'must be a map, not a number'],
    [{}, 'registries[0].sources', 'is required'],
    [{ sources: [] }, 'registries[0].sources', 'must not be an empty list'],
    [{ sources: 's' }, 'registries[0].sources', 'must be a list, not a string'],
    [{ sources: { s: 1 } }, 'registries[0].sources', 'must be a list, not a map'],
    [{ sources: ['s', 's'] }, 'registries[0].sources[1]', 'is already in the list'],
    [{ sources: ['s', 'other'] }, 'registries[0].sources[1]', 'is not the name of a source in this file'],
    [{ sources: [null] }, 'registries[0].sources[0]', 'must be a string, not nothing'],
    [{ name: 'R', sources: ['s'] }, 'registries[0].name', 'DNS label'],
    [{ sources: ['s'], claims: { iat: '1' } }, 'registries[0].claims.iat', 'identifies a token'],
    [{ sources: ['s'], claims: 'x' }, 'registries[0].claims', 'must be a map of claims'],
    [
      { sources: ['s'], claims: { org: [['a']] } },
      'registries[0].claims.org',
      'must be a string or a list of strings',
    ],
    [{ sources: ['s'], source: ['s'] }, 'registries[0].source', 'did you mean sources?'],
    [{ sources: ['s'], anonymous: true }, 'registries[0].anonymous', 'must be a map, not a boolean'],
    [{ sources: ['s'], anonymous: {} }, 'registries[0].anonymous.claims', 'is required'],
    [
      { sources: ['s'], anonymous: { claims: { exp: '1' } } },
      'registries[0].anonymous.claims.exp',
      'identifies a token',
    ],
    [{ sources: ['s'], publishClaims: 'x' }, 'registries[0].publishClaims', 'must be a map of claims'],
    [{ sources: ['s'], marketplace: 'x' }, 'registries[0].marketplace', 'must be a map, not a string'],
    [{ sources: ['s'], marketplace: { name: 'x' } }, 'registries[0].marketplace.owner', 'is required'],
    [marketplace({ name: 'Acme' }), 'registries[0].marketplace.name', 'DNS label'],
    [marketplace({ owner: ' ' }), 'registries[0].marketplace.owner', 'must not be empty'],
    [marketplace({ owner: 'x'.repeat(101) }), 'registries[0].marketplace.owner', 'at most 100 characters'],
    [marketplace({ url: 'x' }), 'registries[0].marketplace.url', 'is not a known key'],
    [{ sources: ['s'], keys: { a: copilot } }, 'registries[0].keys', 'must be a list, not a map'],
    [{ sources: ['s'], keys: [{ ...copilot, name: 'Copilot' }] }, 'registries[0].keys[0].name', 'DNS label'],
    [{ sources: ['s'], keys: [{ ...copilot, key: 'x' }] }, 'registries[0].keys[0].key', 'is not a known key'],
    [
      { sources: ['s'], keys: [{ ...copilot, secretFile: 'none' }] },
      'registries[0].keys[0].secretFile',
      'does not exist',
    ],
    [
      { sources: ['s'], keys: [{ ...copilot, secretFile: secret }] },
      'registries[0].keys[0].secretFile',
      'contains no key',
    ],
    [
      { sources: ['s'], keys: [copilot, { ...copilot, name: 'b' }] },
      'registries[0].keys[1].secretFile',
      'the same key as',
    ],
    [
      { sources: ['s'], keys: [{ ...copilot, expires: 'soon' }] },
      'registries[0].keys[0].expires',
      'must be a date such as',
    ],
    [
      { sources: ['s'], keys: [{ ...copilot, expires: 2027 }] },
      'registries[0].keys[0].expires',
      'must be a date such as',
    ],
  ])('refuses %j at %s: %s', (registry, path, fragment) => {
    const found = problems({ managed: {} }, registry);
    expect(found).toEqual([expect.stringContaining(`${path}: `)]);
    expect(found[0]).toContain(fragment);
  });

  it('accepts existing sources and claims', () => {
    const { registries } = read({ managed: {} }, { sources: ['s'], claims: { org: ['a', 'b'] } });
    expect(registries).toMatchObject([{ ...CLOSED, name: 's', sources: ['s'], claims: { org: ['a', 'b'] } }]);
  });

  it('accepts anonymous access and keys, and stores only digests', () => {
    const { registries } = read(
      { managed: {} },
      {
        sources: ['s'],
        anonymous: { claims: { a: 'b' } },
        keys: [{ ...copilot, expires: '2027-06-30' }],
        publishClaims: {},
        marketplace: { name: 'acme', owner: 'Acme' },
      },
    );
    const digest = expect.stringMatching(/^[0-9a-f]{64}$/) as string;
    const keys = [{ ...copilot, digest, expires: '2027-06-30' }];
    expect(registries).toMatchObject([
      {
        name: 's',
        sources: ['s'],
        claims: {},
        anonymousClaims: { a: 'b' },
        keys,
        publishClaims: {},
        marketplace: { name: 'acme', owner: 'Acme' },
      },
    ]);
    expect(JSON.stringify(registries)).not.toContain('kkkk');
  });
});
