import { expect, it } from 'vitest';
import type { ProviderConfig } from '../config/config.js';
import { claimsUnder } from './token-callers.js';

const TEAM = { from: ['groups'], to: 'team', pattern: null, values: null };
const ROLE = { ...TEAM, to: 'role' };

function provider(changed: Partial<ProviderConfig> = {}): ProviderConfig {
  return {
    name: 'corporate',
    issuerUrl: 'https://idp.example.com',
    audience: 'registry',
    allowPrivateIP: false,
    introspection: 'fallback',
    idTokens: 'refuse',
    clockToleranceMs: 0,
    connectOrigins: [],
    claims: [TEAM],
    ...changed,
  };
}

it('maps the token again by the provider with the same name, issuer and audience; others yield no claims', () => {
  const accepting = provider();
  const token = { claims: { groups: ['red'] }, provider: accepting };
  const caller = { claims: { team: 'red' }, token };
  for (const [providers, expected] of [
    [[accepting], { team: 'red' }],
    [[provider()], { team: 'red' }],
    [[provider({ claims: [ROLE] })], { role: 'red' }],
    [[provider({ claims: [] })], {}],
    [[{ ...provider({ claims: [] }), claims: undefined }], { groups: ['red'] }],
    [[provider({ name: 'other' })], {}],
    [[provider({ issuerUrl: 'https://other.example.com' })], {}],
    [[provider({ audience: 'other' })], {}],
    [[], {}],
  ] as [ProviderConfig[], object][])
    expect([providers, claimsUnder(providers, caller)]).toEqual([providers, expected]);
  // The claims of a caller without a token need no mapping.
  expect(claimsUnder([], { claims: { team: 'red' } })).toEqual({ team: 'red' });
});

it('yields no claims if the other mapping yields too many', () => {
  const groups = Array.from({ length: 20_000 }, (_, index) => String(index));
  const token = { claims: { groups }, provider: provider({ claims: [] }) };
  expect(claimsUnder([provider()], { claims: {}, token })).toEqual({});
});
