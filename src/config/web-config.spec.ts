import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadConfig } from './load-config.js';

const folder = mkdtempSync(join(tmpdir(), 'registry-web-'));
const file = join(folder, 'config.yaml');
const SVG = '<svg xmlns="http://www.w3.org/2000/svg"/>';
writeFileSync(join(folder, 'logo.svg'), SVG);
writeFileSync(join(folder, 'large.svg'), SVG.padEnd(128 * 1_024 + 1));
writeFileSync(join(folder, 'text.png'), 'no picture');
const provider = { name: 'corporate', issuerUrl: 'https://idp.example', audience: 'api' };

function read(web: unknown) {
  const oauth = { resourceUrl: 'https://registry.example', providers: [provider], scopesSupported: ['read'] };
  writeFileSync(file, JSON.stringify({ auth: { oauth }, ...(web === undefined ? {} : { web }) }));
  return loadConfig(file, {}, {}).config.web;
}
const login = { provider: 'corporate', clientId: 'page' };

it.each<[unknown, string, string]>([
  [true, 'web', 'must be a map'],
  [{ enabled: 'yes' }, 'web.enabled', 'must be true or false'],
  [{ logins: [{ provider: 'corporate' }] }, 'web.logins[0].clientId', 'is required'],
  [{ logins: [{ ...login, provider: 'other' }] }, 'web.logins[0].provider', 'is not the name of a provider'],
  [{ logins: [login, login] }, 'web.logins[1].provider', 'is already in the list'],
  [{ logins: [{ ...login, scopes: [] }] }, 'web.logins[0].scopes', 'empty'],
  [{ logins: [{ ...login, scopes: ['a b'] }] }, 'web.logins[0].scopes[0]', 'must be a scope'],
  [{ logins: [{ ...login, clientSecret: 'x' }] }, 'web.logins[0].clientSecret', 'is not a known key'],
  [
    { logins: [{ ...login, parameters: { audience: 1 } }] },
    'web.logins[0].parameters',
    'must only contain strings',
  ],
  [
    { logins: [{ ...login, parameters: { state: 'x' } }] },
    'web.logins[0].parameters',
    'which the login sets',
  ],
  [{ iconOrigins: ['https://icons.example/path'] }, 'web.iconOrigins[0]', 'must be an origin'],
  [{ iconOrigins: ['*'] }, 'web.iconOrigins[0]', 'must be an origin'],
  [{ title: '' }, 'web.title', 'empty'],
  [{ title: 'x'.repeat(41) }, 'web.title', 'at most 40'],
  [{ title: 'a\u202eb' }, 'web.title', 'visible characters'],
  [{ accent: 'red' }, 'web.accent', 'must be a color such as'],
  [{ accent: '#5fd0c1' }, 'web.accent', 'has a contrast of 1.9 with white'],
  [{ logo: 'none.png' }, 'web.logo', 'does not exist'],
  [{ logo: 'text.png' }, 'web.logo', 'is not a PNG, JPEG, GIF, WebP or SVG image'],
  [{ logo: 'large.svg' }, 'web.logo', 'is larger than 128 KiB'],
  [{ logo: '.' }, 'web.logo', 'is not a regular file'],
])('refuses %j at %s: %s', (web, path, fragment) => {
  expect(() => read(web)).toThrow(`${path}: `);
  expect(() => read(web)).toThrow(fragment);
});

it('enables the web UI without logins by default', () => {
  expect(read(undefined)).toEqual({
    enabled: true,
    logins: [],
    iconOrigins: [],
    title: 'Registry',
    logo: null,
    accent: null,
  });
});

it.each([
  ['openid, and scopesSupported as optional', login, ['openid'], ['read']],
  ['exactly the scopes of the login', { ...login, scopes: ['openid', 'x'] }, ['openid', 'x'], []],
])('requests %s', (_, given, scopes, optionalScopes) => {
  expect(read({ logins: [given] }).logins).toEqual([{ ...login, scopes, optionalScopes, parameters: {} }]);
});

it('reads the title, the logo and the accent', () => {
  expect(read({ title: 'Acme tools', logo: 'logo.svg', accent: '#0B6b62' })).toMatchObject({
    title: 'Acme tools',
    logo: { type: 'image/svg+xml', base64: Buffer.from(SVG).toString('base64') },
    accent: '#0B6b62',
  });
});
