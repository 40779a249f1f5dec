import { expect, it } from 'vitest';
import { claimPairs, withClaim, withoutClaim } from './claims.js';

it.each([
  [{}, ['org', 'acme'], { org: 'acme' }],
  [{ org: 'acme' }, ['org', 'acme'], { org: 'acme' }],
  [{ org: 'acme' }, ['org', 'contoso'], { org: ['acme', 'contoso'] }],
  [{ org: 'acme' }, ['team', 'data'], { org: 'acme', team: 'data' }],
  [{}, ['__proto__', 'x'], JSON.parse('{"__proto__":"x"}') as object],
  [{}, ['toString', 'x'], { toString: 'x' }],
] as const)('withClaim: %j with %j', (claims, [key, value], after) => {
  expect(withClaim(claims, key, value)).toEqual(after);
});

it.each([
  [{ org: 'acme' }, ['org', 'acme'], {}],
  [{ org: ['acme', 'contoso'] }, ['org', 'acme'], { org: ['contoso'] }],
  [{ org: 'acme' }, ['team', 'acme'], { org: 'acme' }],
] as const)('withoutClaim: %j without %j', (claims, [key, value], after) => {
  expect(withoutClaim(claims, key, value)).toEqual(after);
});

it('claimPairs: returns a pair for each value', () => {
  expect(claimPairs({ org: 'acme', team: ['a', 'b'] })).toEqual([
    ['org', 'acme'],
    ['team', 'a'],
    ['team', 'b'],
  ]);
});
