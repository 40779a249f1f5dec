import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { KINDS, parseSourceKind, SOURCE_KINDS, type SourceKind } from './kinds.js';
import { hostOf, namedFiles, storedSettings } from './named-files.js';

const absolute = (file: string) => `/etc/registry/${file}`;

describe.each(SOURCE_KINDS)('a source of kind %s', (kind) => {
  it('is in docs/configuration.md', () => {
    const page = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8');
    expect(page).toMatch(new RegExp(`^ +${kind}: `, 'm'));
  });

  it('is parsed from the database', () => {
    expect(parseSourceKind(kind)).toBe(kind);
  });

  it('passes the claims of the source to its entries if it is synced (reference/access)', () => {
    expect(KINDS[kind].inheritsClaims).toBe(KINDS[kind].filledBy === 'sync');
  });
});

describe('an unknown kind', () => {
  it.each(['helm', 'constructor', '', 'File'])('is an error: %j', (kind) => {
    expect(() => parseSourceKind(kind)).toThrow(/holds a source of kind ".*", unknown to this version/);
  });
});

describe('the host of a source', () => {
  it.each<[SourceKind, object, string | null]>([
    ['api', { endpoint: 'https://Registry.Example:8443/a' }, 'registry.example'],
    ['api', { endpoint: 'http://[::1]:80' }, '[::1]'],
    ['api', { endpoint: 'https://red.example@evil.example' }, 'evil.example'],
    ['api', { endpoint: 'https://red.example.' }, 'red.example.'],
    ['git', { repository: 'https://git.example/a.git' }, 'git.example'],
    ['git', { repository: 'git@Git.Example:a' }, 'git.example'],
    ['git', { repository: 'ssh://git@git.example:2222/a' }, 'git.example'],
    ['file', { url: 'https://files.example/a.json?b=c' }, 'files.example'],
    ['file', { path: '/srv/a.json' }, null],
    ['git', { repository: 5 }, null],
    ['kubernetes', {}, null],
    ['managed', {}, null],
  ])('%s %j: %s', (kind, settings, host) => expect(hostOf(kind, settings)).toBe(host));
});

describe('named files', () => {
  it('are found at any depth, with their use', () => {
    const settings = { repository: 'git@git.acme.com:a', path: 'a.json', auth: { privateKeyFile: 'key' } };
    expect(namedFiles('git', settings).filter(({ name }) => name !== undefined)).toEqual([
      { path: ['auth', 'privateKeyFile'], name: 'key', use: 'credential' },
    ]);
    expect(namedFiles('file', { path: 'a.json' })).toEqual([
      { path: ['path'], name: 'a.json', use: 'content' },
    ]);
  });

  it('are absent from malformed settings', () => {
    for (const settings of [undefined, null, 'text', [], { auth: 'text' }])
      expect(namedFiles('git', settings).every(({ name }) => name === undefined)).toBe(true);
  });

  it('are stored as absolute paths; other settings unchanged', () => {
    expect(storedSettings('api', { endpoint: 'https://up.acme.com', tokenFile: 'token' }, absolute)).toEqual({
      endpoint: 'https://up.acme.com',
      tokenFile: '/etc/registry/token',
    });
    expect(storedSettings('file', { url: 'https://acme.com/a.json' }, absolute)).toEqual({
      url: 'https://acme.com/a.json',
    });
    expect(storedSettings('managed', {}, absolute)).toEqual({});
  });
});
