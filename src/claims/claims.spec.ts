import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  canonicalClaims,
  type Claims,
  claimsProblems,
  covers,
  equalClaims,
  findMissing,
  implies,
  withClaims,
} from './claims.js';

// JSON.parse makes __proto__ a member like any other; an object literal would not.
const withProto = JSON.parse('{"__proto__": "x"}') as Record<string, unknown>;

describe('held claims cover required claims (reference/access)', () => {
  it.each([
    [{ org: 'acme', team: 'data' }, { org: 'acme' }, true],
    [{ org: 'acme' }, { org: 'acme', team: 'data' }, false],
    [{ org: 'acme' }, { org: 'contoso' }, false],
    [{ org: 'acme' }, { org: 'Acme' }, false],
    [{ org: 'acme' }, {}, true],
    [{}, {}, true],
    [{}, { org: 'acme' }, false],
    [{ team: ['data', 'web'] }, { team: 'web' }, true],
    [{ team: ['data', 'web'] }, { team: 'ops' }, false],
    [{ team: [] }, { team: 'web' }, false],
    [{ team: 'web,data' }, { team: 'web' }, false],
    [{ scope: 'read write' }, { scope: 'read' }, false],
    [{ team: ['data', 'web'] }, { team: ['web', 'data'] }, true],
    [{ team: ['data'] }, { team: ['web', 'data'] }, false],
    [{ team: 'data' }, { team: ['data'] }, true],
    [{ level: 3 }, { level: '3' }, true],
    [{ level: 3 }, { level: '3.0' }, false],
    [{ level: [1, 2] }, { level: '2' }, true],
    [{ admin: true }, { admin: 'true' }, true],
    [{ admin: false }, { admin: 'true' }, false],
    [{ admin: null }, { admin: 'null' }, false],
    [{ level: NaN }, { level: 'null' }, false],
    [{ org: { name: 'acme' } }, { org: 'acme' }, false],
    [{ org: [['acme']] }, { org: 'acme' }, false],
    [{ realm: { roles: ['x'] } }, { 'realm.roles': 'x' }, false],
    [{ 'realm.roles': ['x'] }, { 'realm.roles': 'x' }, true],
    [{}, { constructor: 'Object' }, false],
    [{ constructor: 'x' }, { constructor: 'x' }, true],
    [{}, withProto, false],
    [withProto, withProto, true],
  ])('%j covers %j: %s', (held, required, answer) => expect(covers(held, required, 'all')).toBe(answer));

  it.each([
    [{ team: ['data'] }, { team: ['web', 'data'] }, true],
    [{ team: 'web' }, { team: ['web', 'data'] }, true],
    [{ team: ['ops'] }, { team: ['web', 'data'] }, false],
    [{ team: 'web' }, { team: ['web', 'data'], org: 'acme' }, false],
    [{ team: 'web' }, {}, true],
  ])('%j covers any of %j: %s', (held, required, answer) =>
    expect(covers(held, required, 'any')).toBe(answer),
  );

  it.each([
    [null],
    [undefined],
    ['org'],
    [5],
    [[]],
    [['org']],
    [new Date(0)],
    [new Map([['org', 'acme']])],
    [{ org: 5 }],
    [{ org: null }],
    [{ org: true }],
    [{ org: [] }],
    [{ org: [5] }],
    [{ org: ['acme', null] }],
    [{ org: [['acme']] }],
    [{ org: { name: 'acme' } }],
    [{ '': 'acme' }],
  ])('no caller covers the invalid claims %j', (required) => {
    const held = { org: ['acme', 5, true, null], '': 'acme' };
    expect([covers(held, required, 'all'), covers(held, required, 'any')]).toEqual([false, false]);
  });
});

describe('claims that imply others', () => {
  // reference/access: callers who cover the first also cover the second.
  it.each<[Claims, object, boolean, boolean]>([
    [{ org: 'red' }, { org: 'red' }, true, true],
    [{ org: 'red', team: 'a' }, { org: 'red' }, true, true],
    [{ org: 'blue' }, { org: 'red' }, false, false],
    [{}, { org: 'red' }, false, false],
    [{ org: 'red' }, {}, true, true],
    [{}, {}, true, true],
    [{ team: 'a' }, { org: 'red' }, false, false],
    [{ org: ['red', 'blue'] }, { org: 'red' }, true, false],
    [{ org: ['red', 'green'] }, { org: ['red', 'green'] }, true, true],
    [{ org: ['red', 'green'] }, { org: ['green', 'red', 'blue'] }, false, true],
    [{ org: 'red' }, { org: ['red', 'blue'] }, false, true],
    [{ org: 'red' }, { org: [] }, false, false],
    [{ org: 'red' }, { org: 5 }, false, false],
    [{ constructor: 'x' }, { toString: 'x' }, false, false],
  ])('%j imply %j: %s with arrayValues all, %s with any', (claims, required, all, any) =>
    expect([implies(claims, required, 'all'), implies(claims, required, 'any')]).toEqual([all, any]),
  );
});

describe('invalid claims', () => {
  it.each([
    [null, 'must be a map of claims'],
    ['org', 'must be a map of claims'],
    [[], 'must be a map of claims'],
    [new Date(0), 'must be a map of claims'],
    [{ org: 5 }, '"org" must be a string or a list of strings'],
    [{ org: null }, '"org" must be a string or a list of strings'],
    [{ org: {} }, '"org" must be a string or a list of strings'],
    [{ org: [['a']] }, '"org" must be a string or a list of strings'],
    [{ org: ['a', 1] }, '"org" must be a string or a list of strings'],
    [{ org: [] }, '"org" must not be an empty list'],
    [{ '': 'a' }, '"" a claim must have a name'],
    [withProto, '"__proto__" is not a valid claim name'],
    [{ jti: 'a' }, '"jti" identifies a token and cannot be used as a claim'],
    [{ iat: '1' }, '"iat" identifies a token and cannot be used as a claim'],
    [{ exp: ['1'] }, '"exp" identifies a token and cannot be used as a claim'],
    [{ org: 'a', nbf: '1' }, '"nbf" identifies a token and cannot be used as a claim'],
    [{ org: 'a\0' }, '"org" has characters that cannot be stored'],
    [{ org: ['\ud800'] }, '"org" has characters that cannot be stored'],
    [{ 'a\0': 'x' }, '"a\\u0000" has a name with characters that cannot be stored'],
  ])('%j: %s', (value, sentence) => expect(claimsProblems(value)).toEqual([sentence]));

  it.each([
    [{}],
    [{ org: 'acme' }],
    [{ org: 'acme', team: ['a', 'b'] }],
    [{ constructor: 'x' }],
    [{ iss: 'https://idp.example', sub: 'a', aud: 'b', azp: 'c', EXP: '1' }],
    [{ a: '😀' }],
  ])('%j is valid', (value) => expect(claimsProblems(value)).toEqual([]));
});

describe('the canonical text', () => {
  it.each([
    [{}, '{}'],
    [{ b: '1', a: '2' }, '{"a":"2","b":"1"}'],
    [{ 10: 'x', 9: 'y' }, '{"10":"x","9":"y"}'],
    [{ team: ['b', 'a', 'b'] }, '{"team":["a","b"]}'],
    [{ team: ['a'] }, '{"team":"a"}'],
    [{ team: ['a', 'a'] }, '{"team":"a"}'],
    [{ 'a"b': 'c\n' }, '{"a\\"b":"c\\n"}'],
  ])('of %j is %s', (claims, canonical) => expect(canonicalClaims(claims)).toBe(canonical));

  it.each([
    [{ a: '1', b: ['x', 'y'] }, { b: ['y', 'x', 'x'], a: ['1'] }, true],
    [{ a: '1' }, { a: '2' }, false],
    [{ a: '1' }, { a: '1', b: '2' }, false],
    [{ a: ['x', 'y'] }, { a: ['x'] }, false],
  ])('%j equals %j: %s', (one, other, answer) => expect(equalClaims(one, other)).toBe(answer));
});

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

describe('missing claims', () => {
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
  ] as const)('for %j to cover %j with %s: %j', (held, required, arrays, missing) => {
    expect(findMissing(held, required as unknown as Claims, arrays)).toEqual(missing);
  });

  it('are minimal: empty if covered, sufficient together, insufficient without any one', () => {
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
