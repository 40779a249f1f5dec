import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Claims, covers } from '../claims/claims.js';
import { bothOf, sentenceOf } from './requirements.js';

describe('required claims in a sentence', () => {
  it.each([
    [{ org: 'acme' }, 'all', 'org is acme'],
    [{ org: 'acme', team: ['platform', 'data'] }, 'all', 'org is acme and team is both platform and data'],
    [{ team: ['a', 'b', 'c'] }, 'all', 'team is all of a, b and c'],
    [{ team: ['a', 'b', 'c'] }, 'any', 'team is a, b or c'],
    [{ team: ['a', 'a'] }, 'any', 'team is a'],
    [{ team: Array.from({ length: 30 }, (_, n) => `t${n}`) }, 'any', 'team is one of 30 values'],
  ] as const)('%j, %s: %s', (required, arrays, sentence) => {
    expect(sentenceOf([{ required: required as Claims, arrays }])).toBe(sentence);
  });

  it('mentions a claim required by both conditions only once', () => {
    const one = { required: { org: 'acme' }, arrays: 'all' } as const;
    expect(sentenceOf([one, { required: { org: 'acme', team: 'a' }, arrays: 'all' }])).toBe(
      'org is acme and team is a',
    );
  });
});

describe('the combination of two claim sets', () => {
  const someClaims: fc.Arbitrary<Claims> = fc.dictionary(
    fc.constantFrom('org', 'team'),
    fc.subarray(['a', 'b', 'c'], { minLength: 1 }),
    { noNullPrototype: true },
  );

  it('is covered only by callers who cover both', () => {
    fc.assert(
      fc.property(
        someClaims,
        someClaims,
        someClaims,
        fc.constantFrom('all' as const, 'any' as const),
        (...drawn) => {
          const [held, one, other, arrays] = drawn;
          const both = bothOf(one, other, arrays);
          const coversBoth = covers(held, one, arrays) && covers(held, other, arrays);
          if (both && covers(held, both, arrays)) expect(coversBoth).toBe(true);
          if (both && arrays === 'all') expect(covers(held, both, arrays)).toBe(coversBoth);
        },
      ),
    );
  });
});
