import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Claims, covers } from './claims.js';
import { findMissing, withClaims } from './missing-claims.js';

const aValue = fc.constantFrom('a', 'b', 'c', '1');
const aKey = fc.constantFrom('org', 'team', 'tier');
const someClaims: fc.Arbitrary<Claims> = fc.dictionary(
  aKey,
  fc.oneof(aValue, fc.array(aValue, { minLength: 1, maxLength: 3 })),
  { maxKeys: 3, noNullPrototype: true },
);
const someHeld = fc.dictionary(
  aKey,
  fc.oneof<fc.Arbitrary<unknown>[]>(aValue, fc.array(aValue), fc.constant(1), fc.constant({ a: 'a' })),
  { maxKeys: 3, noNullPrototype: true },
);

describe('what is missing', () => {
  it.each([
    [{}, { org: 'acme' }, 'all', [{ key: 'org', needs: 'acme', held: [] }]],
    [{ org: 'contoso' }, { org: 'acme' }, 'all', [{ key: 'org', needs: 'acme', held: ['contoso'] }]],
    [{ team: 'a' }, { team: ['a', 'b'] }, 'all', [{ key: 'team', needs: 'b', held: ['a'] }]],
    [{ team: 'a' }, { team: ['a', 'b'] }, 'any', []],
    [
      { team: 'c' },
      { team: ['a', 'b'] },
      'any',
      [{ key: 'team', needs: 'a', held: ['c'], anyOf: ['a', 'b'] }],
    ],
    [{ id: 1 }, { id: '2' }, 'all', [{ key: 'id', needs: '2', held: ['1'] }]],
    [{ id: 2 ** 60 }, { id: '1' }, 'all', [{ key: 'id', needs: '1', held: [] }]],
    [{}, { constructor: 'a' }, 'all', [{ key: 'constructor', needs: 'a', held: [] }]],
  ] as const)('of %j to %j with %s is %j', (held, required, arrays, missing) => {
    expect(findMissing(held, required as unknown as Claims, arrays)).toEqual(missing);
  });

  it('is nothing exactly when it is covered, opens it when it is added, and does not with one value less', () => {
    fc.assert(
      fc.property(
        someHeld,
        someClaims,
        fc.constantFrom('all' as const, 'any' as const),
        (held, required, arrays) => {
          const missing = findMissing(held, required, arrays);
          expect(missing.length === 0).toBe(covers(held, required, arrays));
          expect(covers(withClaims(held, missing), required, arrays)).toBe(true);
          for (const [index] of missing.entries())
            expect(covers(withClaims(held, missing.toSpliced(index, 1)), required, arrays)).toBe(false);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
