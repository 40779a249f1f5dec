import { expect, it } from 'vitest';
import type { Claims } from '../claims/claims.js';
import { isReserved, type NameRule } from './publish-rules.js';

const RED = { org: 'red' };
const BLUE = { org: 'blue' };
const RULES: readonly NameRule[] = [
  { include: ['com.red/secret-*', 'com.red.lab/?'], claims: { org: 'red', team: ['core', 'lab'] } },
  { include: ['com.red/*', 'com.red.*'], claims: RED },
  { include: ['com.blue/*'], claims: BLUE },
  { include: ['com.r*'], claims: BLUE },
];
const CORE = { org: 'red', team: ['core', 'lab'] };

it.each<[says: string, name: string, held: Record<string, unknown>, given: Claims, reserved: boolean]>([
  ['its owner', 'com.red/a', RED, RED, false],
  ['its owner with additional claims', 'com.red/a', { ...RED, sub: 'x' }, RED, false],
  ['its owner, with more claims on the entry', 'com.red/a', CORE, { org: 'red', team: 'core' }, false],
  ['an owner in several organizations', 'com.red/a', { org: ['red', 'blue'] }, RED, false],
  ['another organization', 'com.red/a', BLUE, BLUE, true],
  ["another organization, with the owner's claims on the entry", 'com.red/a', BLUE, RED, true],
  ["its owner, with another organization's claims on the entry", 'com.red/a', { org: ['red', 'blue'] }, BLUE, true],
  ['its owner, without claims on the entry', 'com.red/a', RED, {}, true],
  ['a caller without claims', 'com.red/a', {}, {}, true],
  ['the owner of another name', 'com.blue/a', BLUE, BLUE, false],
  ['the wrong owner', 'com.blue/payments', RED, RED, true],
  ['anyone, for a name that no rule matches', 'io.free/a', BLUE, {}, false],
  ['anyone, for a name that contains a reserved name', 'xcom.red/a', BLUE, {}, false],
  ['a caller with some claims of the first matching rule', 'com.red/secret-a', RED, RED, true],
  ['a caller with all claims of the first matching rule', 'com.red/secret-a', CORE, CORE, false],
  ['a caller with one value of a required list', 'com.red/secret-a', { org: 'red', team: 'core' }, { org: 'red', team: 'core' }, true],
  ['the owner by the first rule, despite a later one', 'com.red/b', RED, RED, false],
  ['a name that matches the second glob of a rule', 'com.red.lab/x', RED, RED, true],
  ['the owner by the next matching rule', 'com.red.lab/xy', RED, RED, false],
  ['another organization, in capital letters', 'Com.RED/a', BLUE, BLUE, true],
  ['its owner, in capital letters', 'Com.RED/a', RED, RED, false],
  ['inherited properties of an object', 'com.red/a', Object.create(RED) as Record<string, unknown>, RED, true],
])('the name rules decide for %s: %s', (_says, name, held, given, reserved) => {
  expect(isReserved(RULES, name, held, given)).toBe(reserved);
  expect(isReserved([], name, held, given)).toBe(false);
}); // oxfmt-ignore

it('refuses everyone if the rule has an empty claim list', () => {
  const broken = [{ include: ['*'], claims: { org: [] } }];
  expect(isReserved(broken, 'a/b', { org: [] }, { org: [] })).toBe(true);
});
