import { expect, it } from 'vitest';
import { pairsIn, withClaim, withoutClaim } from './claim-pairs.js';

it.each([
  [{}, ['org', 'acme'], { org: 'acme' }],
  [{ org: 'acme' }, ['org', 'acme'], { org: 'acme' }],
  [{ org: 'acme' }, ['org', 'contoso'], { org: ['acme', 'contoso'] }],
  [{ org: 'acme' }, ['team', 'data'], { org: 'acme', team: 'data' }],
  [{}, ['__proto__', 'x'], JSON.parse('{"__proto__":"x"}') as object],
  [{}, ['toString', 'x'], { toString: 'x' }],
] as const)('%j with %j', (claims, [key, value], after) => {
  expect(withClaim(claims, key, value)).toEqual(after);
});

it.each([
  [{ org: 'acme' }, ['org', 'acme'], {}],
  [{ org: ['acme', 'contoso'] }, ['org', 'acme'], { org: ['contoso'] }],
  [{ org: 'acme' }, ['team', 'acme'], { org: 'acme' }],
] as const)('%j without %j', (claims, [key, value], after) => {
  expect(withoutClaim(claims, key, value)).toEqual(after);
});

it('names each value with its key', () => {
  expect(pairsIn({ org: 'acme', team: ['a', 'b'] })).toEqual([
    ['org', 'acme'],
    ['team', 'a'],
    ['team', 'b'],
  ]);
});
