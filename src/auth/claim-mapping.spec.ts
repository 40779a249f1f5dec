import { describe, expect, it } from 'vitest';
import { claimRuleOf, type ClaimRuleSettings } from '../config/auth-settings.dto.js';
import { claimHints, ClaimsIncomplete, mapClaims, readsClaim } from './claim-mapping.js';

const IDENTITY = { iss: 'https://idp.example.com', sub: 'ada' };
const rules = (settings: object[]) => settings.map((rule) => claimRuleOf(rule as ClaimRuleSettings));
const mapped = (token: object, ...settings: object[]) => {
  const { iss, sub, ...claims } = mapClaims({ ...IDENTITY, ...token }, rules(settings));
  expect({ iss, sub }).toEqual(IDENTITY);
  return claims;
};

describe('mapped claims', () => {
  const TEAM = { from: '/groups', to: 'team' };
  const RENAMED = { ...TEAM, values: { g1: 'red', g2: 'blue', '7': 'seven', true: 'yes', '': 'empty' } };

  it.each<[what: string, token: object, settings: object[], claims: object]>([
    ['are empty without rules', { role: 'admin', groups: ['a'] }, [], {}],
    [
      'only contain claims named by a rule',
      { role: 'admin', groups: ['a', 'b'] },
      [TEAM],
      { team: ['a', 'b'] },
    ],
    ['are absent when the token lacks them', { role: 'admin' }, [TEAM], {}],
    ['are found by a nested pointer', { a: { 'b.c': 'x' } }, [{ from: '/a/b.c', to: 'k' }], { k: 'x' }],
    ['are a string for a single value', { groups: ['a'] }, [TEAM], { team: 'a' }],
    ['contain no duplicate values', { groups: ['a', 'a'] }, [TEAM], { team: 'a' }],
    [
      'convert numbers and booleans to strings',
      { groups: [1, true, 1.5] },
      [TEAM],
      { team: ['1', 'true', '1.5'] },
    ],
    ['drop integers beyond 2^53 - 1', { groups: [2 ** 53, 1] }, [TEAM], { team: '1' }],
    ['are translated by values', { groups: ['g1', 'g2'] }, [RENAMED], { team: ['red', 'blue'] }],
    [
      'drop values that are not listed',
      { groups: ['g1', 'red', 'toString', '__proto__'] },
      [RENAMED],
      { team: 'red' },
    ],
    ['are absent when no value is listed', { groups: ['g9'] }, [RENAMED], {}],
    ['look up numbers and booleans as strings', { groups: [7, true] }, [RENAMED], { team: ['seven', 'yes'] }],
    ['translate an empty string', { groups: '' }, [RENAMED], { team: 'empty' }],
    [
      'add up rules with the same name',
      { groups: ['g1'], role: 'r' },
      [RENAMED, { from: '/role', to: 'team' }, { to: 'team', value: 'all' }],
      { team: ['red', 'r', 'all'] },
    ],
    [
      'are the part of a path that a pattern takes',
      {
        groups: [
          '/teams/red',
          '/teams/red/leads',
          '/teams/',
          '/TEAMS/blue',
          'x/teams/red',
          '/teams/a.b*',
          '/',
        ],
      },
      [{ ...TEAM, pattern: '/teams/*' }],
      { team: ['red', 'a.b*'] },
    ],
    [
      'are the text between both sides of a pattern, which never overlap',
      { groups: ['aXb', 'ab', 'a', 'aba', 'aab'] },
      [{ ...TEAM, pattern: 'a*b' }],
      { team: ['X', 'a'] },
    ],
    [
      'are translated after their pattern',
      { groups: ['/teams/g1', 'g2', '/teams/red'] },
      [{ ...RENAMED, pattern: '/teams/*' }],
      { team: 'red' },
    ],
    ['can be constants', {}, [{ to: 'org', value: 'acme' }], { org: 'acme' }],
    [
      'are read from the token, not from other rules',
      { a: 'x' },
      [
        { from: '/a', to: 'b' },
        { from: '/b', to: 'c' },
      ],
      { b: 'x' },
    ],
    [
      'can be named like an Object.prototype member',
      { c: 'x' },
      [{ from: '/c', to: 'constructor' }],
      { constructor: 'x' },
    ],
  ])('%s', (_what, token, settings, claims) => {
    expect(mapped(token, ...settings)).toEqual(claims);
  });

  it.each<[what: string, value: unknown]>([
    ['null', null],
    ['an object', { 0: 'a', length: 1 }],
    ['a nested list', [['a']]],
    ['a list with an object', ['a', { id: 'b' }]],
    ['a list with null', ['a', null]],
    ['an empty list', []],
  ])('are absent when the value is %s', (_what, groups) => {
    expect(mapped({ groups }, TEAM)).toEqual({});
    expect(mapped({ groups: ['a'] }, TEAM)).toEqual({ team: 'a' });
  });

  it.each<[what: string, from: string]>([
    ['a list index', '/groups/0'],
    ['the length of a list', '/groups/length'],
    ['an Object.prototype member', '/constructor/name'],
    ['a prototype', '/__proto__/role'],
    ['a character of a string', '/sub/0'],
  ])('are absent when the pointer leads to %s', (_what, from) => {
    expect(mapped({ groups: ['a'] }, { from, to: 'team' })).toEqual({});
  });

  it('read __proto__ as an own member only', () => {
    const token = JSON.parse('{"__proto__":{"role":"root"}}') as object;
    const claims = mapClaims({ ...IDENTITY, ...token }, rules([{ from: '/role', to: 'role' }]));
    expect(claims).toEqual(IDENTITY);
    const own = JSON.parse('{"sub":"ada","__proto__":{"role":"root"}}') as Record<string, unknown>;
    expect(mapClaims(own, rules([{ from: '/__proto__/role', to: 'role' }]))).toEqual({
      sub: 'ada',
      role: 'root',
    });
  });

  it('keep iss and sub unchanged, and never invent them', () => {
    expect(mapClaims({ iss: 'x' }, rules([{ to: 'org', value: 'acme' }]))).toEqual({ iss: 'x', org: 'acme' });
    expect(mapClaims({}, [])).toEqual({});
  });
});

describe('a constant', () => {
  it.each<[token: object, when: object, given: boolean]>([
    [{ owner: '12345' }, { owner: '12345' }, true],
    [{ owner: 12345 }, { owner: '12345' }, true],
    [{ owner: ['1', '12345'] }, { owner: '12345' }, true],
    [{ owner: '12345', ref: 'main' }, { owner: '12345', ref: 'main' }, true],
    [{ owner: ['a', 'b'] }, { owner: ['a', 'b'] }, true],
    [{ owner: '123456' }, { owner: '12345' }, false],
    [{ owner: '12345' }, { owner: '12345', ref: 'main' }, false],
    [{ owner: 'a' }, { owner: ['a', 'b'] }, false],
    [{ owner: null }, { owner: 'null' }, false],
    [{ owner: { id: '12345' } }, { owner: '12345' }, false],
    [{}, { constructor: 'x' }, false],
  ])('for token %j with condition %j: %s', (token, when, given) => {
    expect(mapped(token, { to: 'org', value: 'acme', when })).toEqual(given ? { org: 'acme' } : {});
  });
});

describe('more values than the limit', () => {
  const texts = (count: number) => Array.from({ length: count }, (_, n) => `g${n}`);
  const TEAM = { from: '/groups', to: 'team' };

  it.each<[what: string, most: object, beyond: object, rule: object]>([
    ['1,000 unmapped values', { groups: texts(1_000) }, { groups: texts(1_001) }, TEAM],
    [
      '10,000 translated values',
      { groups: texts(10_000) },
      { groups: texts(10_001) },
      { ...TEAM, values: { g1: 'red' } },
    ],
  ])('(%s) throw ClaimsIncomplete', (_what, most, beyond, rule) => {
    expect(mapped(most, rule)).toHaveProperty('team');
    expect(() => mapped(beyond, rule)).toThrow(ClaimsIncomplete);
  });
});

it.each<[settings: object[] | undefined, reads: boolean]>([
  [undefined, true],
  [[], false],
  [[{ from: '/role', to: 'groups' }], false],
  [[{ from: '/groups', to: 'team' }], true],
  [[{ from: '/groups/inner', to: 'team' }], true],
  [[{ to: 'org', value: 'acme', when: { groups: 'g1' } }], true],
])('rules %j read the groups claim: %s', (settings, reads) => {
  expect(readsClaim(settings && rules(settings), 'groups')).toBe(reads);
});

it.each<[claims: Record<string, unknown>, about: RegExp[]]>([
  [{ realm_access: { roles: ['admin'] } }, [/realm_access/]],
  [{ resource_access: { registry: { roles: ['admin'] } } }, [/resource_access/]],
  [
    { _claim_names: { groups: 'src1' }, _claim_sources: { src1: { endpoint: 'https://x' } } },
    [/_claim_names/],
  ],
  [{ hasgroups: true }, [/hasgroups/]],
  [{ hasgroups: 'true' }, [/hasgroups/]],
  [{ realm_access: {}, hasgroups: true }, [/realm_access/, /hasgroups/]],
  [{ realm_access: 'admin', role: 'admin' }, []],
  [{ hasgroups: false, groups: ['a'] }, []],
  [{ _claim_names: { photo: 'src1' } }, []],
  [{}, []],
])('the claims %j produce the hints %j', (claims, about) =>
  expect(claimHints(claims)).toEqual(about.map((pattern) => expect.stringMatching(pattern))),
);
