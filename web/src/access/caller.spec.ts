import { expect, it } from 'vitest';
import { claimsInToken, parseCaller, providerOf } from './caller.js';

const tokenOf = (claims: unknown) =>
  ['{"alg":"RS256"}', JSON.stringify(claims), 'signature']
    .map((part) => Buffer.from(part).toString('base64url'))
    .join('.');

const CLAIMS = { iss: 'https://idp.example', sub: 'zoë ÿ?>', realm_access: { roles: ['admin'] } };

it.each([
  [tokenOf(CLAIMS), CLAIMS],
  [`  ${tokenOf(CLAIMS)}\n`, CLAIMS],
  [JSON.stringify(CLAIMS), CLAIMS],
  [tokenOf(['a']), null],
  ['a.b.c', null],
  ['an-opaque-token', null],
  ['[1]', null],
  ['', null],
])('claimsInToken: %j', (text, claims) => {
  expect(claimsInToken(text)).toEqual(claims);
});

it.each([
  [{ claims: { org: 'acme' } }],
  [{ token: { provider: 'corporate', claims: CLAIMS } }],
  [{ anonymous: true }],
  [{ key: 'copilot' }],
])('parseCaller: %j', (caller) => {
  expect(parseCaller(JSON.stringify(caller))).toEqual(caller);
});

it.each([[null], ['{}'], ['[]'], ['x'], ['{"org":"acme"}']])('parseCaller: %j is not a caller', (text) => {
  expect(parseCaller(text)).toBeNull();
});

it('providerOf: compares the whole issuer', () => {
  const login = { provider: 'corporate', issuer: 'https://idp.example' };
  expect(providerOf(CLAIMS, [login])).toBe('corporate');
  expect(providerOf({ iss: 'https://idp.example/' }, [login])).toBe('');
});
