import { expect, it, vi } from 'vitest';
import { hintFor } from './log-in-hints.js';
import { scopeOf } from './oidc.js';

vi.stubGlobal('location', { origin: 'https://registry.example' });

it.each([
  [{ error: 'invalid_scope' }, 'set web.logins[].scopes'],
  [{ error: 'unauthorized_client' }, 'web.logins[].clientId'],
  [{ error: 'invalid_client' }, 'web.logins[].clientId'],
  [{ error: 'access_denied' }, 'web.logins[].clientId'],
  [{ error: 'invalid_target' }, 'web.logins[].parameters'],
  [{ code: 'token_invalid' }, 'auth.oauth.providers[].audience'],
  [new TypeError('Failed to fetch'), 'from https://registry.example'],
  [new TypeError('Failed to fetch'), 'auth.oauth.providers[].connectOrigins'],
])('for %j says what to check: %s', (thrown, fragment) => {
  expect(hintFor(thrown)).toEqual([expect.stringContaining(fragment)]);
});

it('mentions idTokens if the server says that the token is an ID token', () => {
  const failure = { code: 'token_invalid', sentence: 'The token is an ID token' };
  expect(hintFor(failure)).toEqual([expect.stringContaining('idTokens')]);
  expect(hintFor({ ...failure, sentence: 'The token is not valid here' })).toEqual([
    expect.stringContaining('audience'),
  ]);
});

it.each([{ error: 'server_error' }, { code: 'no_subject' }, new Error('No matching state')])(
  'there is no hint for %j',
  (thrown) => expect(hintFor(thrown)).toEqual([]),
);

// The scopes in the discovery document of Keycloak 26.
const LISTED = ['openid', 'profile', 'email', 'offline_access', 'mcp-registry:read'];
const DEFAULTS = { scopes: ['openid'], optionalScopes: ['mcp-registry:read', 'mcp-registry:write'] };

it.each([
  ['openid and the optional scopes that the provider lists', DEFAULTS, LISTED, 'openid mcp-registry:read'],
  ['openid alone if the provider lists no scopes', DEFAULTS, undefined, 'openid'],
  ['configured scopes, listed or not', { scopes: ['openid', 'x'], optionalScopes: [] }, LISTED, 'openid x'],
])('a login requests %s', (_, scopes, listed, expected) => {
  const login = { provider: 'corporate', issuer: 'https://idp.example', clientId: 'page', parameters: {} };
  expect(scopeOf({ ...login, ...scopes }, listed)).toBe(expected);
});
