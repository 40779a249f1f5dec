import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadConfig } from './load-config.js';

const file = join(mkdtempSync(join(tmpdir(), 'registry-web-')), 'config.yaml');
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
    'which the log-in sets',
  ],
  [{ iconOrigins: ['https://icons.example/path'] }, 'web.iconOrigins[0]', 'must be an origin'],
  [{ iconOrigins: ['*'] }, 'web.iconOrigins[0]', 'must be an origin'],
])('refuses %j at %s: %s', (web, path, fragment) => {
  expect(() => read(web)).toThrow(`${path}: `);
  expect(() => read(web)).toThrow(fragment);
});

it('enables the web UI without log-ins by default', () => {
  expect(read(undefined)).toEqual({ enabled: true, logins: [], iconOrigins: [] });
});

it.each([
  ['openid, and scopesSupported as optional', login, ['openid'], ['read']],
  ['exactly the scopes of the log-in', { ...login, scopes: ['openid', 'x'] }, ['openid', 'x'], []],
])('requests %s', (_, given, scopes, optionalScopes) => {
  expect(read({ logins: [given] }).logins).toEqual([{ ...login, scopes, optionalScopes, parameters: {} }]);
});
