import { expect, it } from 'vitest';
import type { Claims } from '../claims/claims.js';
import { isReserved, type NameRule } from './name-rules.js';

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
  ['its owner, who holds more', 'com.red/a', { ...RED, sub: 'x' }, RED, false],
  ['its owner, with more claims on the entry', 'com.red/a', CORE, { org: 'red', team: 'core' }, false],
  ['its owner, one of whose organisations it is', 'com.red/a', { org: ['red', 'blue'] }, RED, false],
  ['another', 'com.red/a', BLUE, BLUE, true],
  ['another, with the claims of the owner on the entry', 'com.red/a', BLUE, RED, true],
  ['its owner, with the claims of another on the entry', 'com.red/a', { org: ['red', 'blue'] }, BLUE, true],
  ['its owner, without claims on the entry', 'com.red/a', RED, {}, true],
  ['nobody', 'com.red/a', {}, {}, true],
  ['another, of another name', 'com.blue/a', BLUE, BLUE, false],
  ['its owner, of another name', 'com.blue/payments', RED, RED, true],
  ['anybody, of a name that no rule has', 'io.free/a', BLUE, {}, false],
  ['anybody, of a name that only begins like one', 'xcom.red/a', BLUE, {}, false],
  ['some, by the first rule that has the name', 'com.red/secret-a', RED, RED, true],
  ['all of a list, by the first rule that has the name', 'com.red/secret-a', CORE, CORE, false],
  ['one of a list only', 'com.red/secret-a', { org: 'red', team: 'core' }, { org: 'red', team: 'core' }, true],
  ['the owner, though a later rule says another', 'com.red/b', RED, RED, false],
  ['a second glob of a rule', 'com.red.lab/x', RED, RED, true],
  ['the next rule, for what that glob does not have', 'com.red.lab/xy', RED, RED, false],
  ['another, in capital letters', 'Com.RED/a', BLUE, BLUE, true],
  ['its owner, in capital letters', 'Com.RED/a', RED, RED, false],
  ['what every object inherits', 'com.red/a', Object.create(RED) as Record<string, unknown>, RED, true],
])('reserves a name or not, for %s: %s', (_says, name, held, given, reserved) => {
  expect(isReserved(RULES, name, held, given)).toBe(reserved);
  expect(isReserved([], name, held, given)).toBe(false);
}); // prettier-ignore

it('reserves a name for nobody if the rule has empty claims', () => {
  const broken = [{ include: ['*'], claims: { org: [] } }];
  expect(isReserved(broken, 'a/b', { org: [] }, { org: [] })).toBe(true);
});
