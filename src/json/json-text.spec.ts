import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countKeys, isDeeperThan, memberText, repeatedKey, roundedInteger, withMember } from './json-text.js';

it.each([
  ['{"server":{"a":[1,{"server":2}]},"_meta":{}}', '{"a":[1,{"server":2}]}'],
  ['{"_meta":{"server":1},"server":12345678901234567890.10}', '12345678901234567890.10'],
  ['{"x":"server","s\\u0065rver":"}\\",{\\\\"}', '"}\\",{\\\\"'],
  ['{"x":[{"server":1}]}', null],
  ['{}', null],
  ['["server",1]', null],
  ['"server"', null],
])('the member server of %s is %s', (text, expected) => expect(memberText(text, 'server')).toBe(expected));

it.each([
  [
    '{"a":1.0,"status":"ACTIVE","z":[{"status":"ACTIVE"}]}',
    '{"a":1.0,"status":"active","z":[{"status":"ACTIVE"}]}',
  ],
  ['{"st\\u0061tus":"A\\u0043TIVE"}', '{"st\\u0061tus":"active"}'],
  ['{"x":{"status":1},"status":{"y":2}}', '{"x":{"status":1},"status":"active"}'],
  ['{"x":{"status":1}}', '{"x":{"status":1}}'],
  ['{}', '{}'],
])('%s with a replaced status is %s', (text, expected) =>
  expect(withMember(text, 'status', '"active"')).toBe(expected),
);

it('memberText returns the text that JSON.stringify wrote, for every member', () => {
  const object = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }), { maxKeys: 6 });
  fc.assert(
    fc.property(object, (value) => {
      const text = JSON.stringify(value);
      for (const key of Object.keys(value)) expect(memberText(text, key)).toBe(JSON.stringify(value[key]));
    }),
  );
});

it.each([
  ['1', 0, false],
  ['[]', 0, true],
  ['[]', 1, false],
  ['[[],[]]', 2, false],
  ['[{"a":[]}]', 2, true],
  ['[{"a":[]}]', 3, false],
  ['"[[["', 0, false],
  ['["\\"[[",[]]', 2, false],
  ['["\\\\",[]]', 1, true],
  ['[[[', 2, true],
  ['"[', 0, false],
])('%s is nested deeper than %d levels: %s', (text, levels, answer) => {
  expect(isDeeperThan(Buffer.from(text), levels)).toBe(answer);
});

const depthOf = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? 1 + Math.max(0, ...Object.values(value).map((member) => depthOf(member)))
    : 0;

it('isDeeperThan agrees with the depth of the parsed value', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => {
      const bytes = Buffer.from(JSON.stringify(value));
      const depth = depthOf(value);
      return !isDeeperThan(bytes, depth) && (depth === 0 || isDeeperThan(bytes, depth - 1));
    }),
  );
});

describe('a repeated key', () => {
  it.each([
    ['{"a":1,"a":2}', 'a'],
    ['{"a":{"b":1,"b":2}}', 'a.b'],
    ['{"x":["a",{"k":"k"},{"k":[{"p":{},"q":1,"p":[]}]}]}', 'x[2].k[0].p'],
    ['{"name":1,"n\\u0061me":2}', 'name'],
    ['{"\\"":1,"a\\\\":2,"\\"":3}', '"'],
    ['{"__proto__":1,"__proto__":2}', '__proto__'],
    ['{"":1,"":2}', ''],
  ])('is found in %s: %s', (text, path) => {
    expect(repeatedKey(text)).toBe(path);
    expect(countKeys(JSON.parse(text))).toBeLessThan(text.split(':').length - 1);
  });

  it.each([
    ['{"a":{"a":{"a":"a"}},"b":["a","a","b","b"]}', 4],
    ['[{"a":1},{"a":1},"{\\"a\\":1,\\"a\\":2}"]', 2],
    ['{"a":"\\\\","b":",","":[],"__proto__":{"c":null}}', 5],
    ['5', 0],
  ])('is not found when there is none: %s', (text, keys) => {
    expect(repeatedKey(text)).toBeNull();
    expect(countKeys(JSON.parse(text))).toBe(keys);
  });
});

describe('an integer that parsing rounds', () => {
  it.each([
    ['{"a":12345678901234567}', '12345678901234567'],
    ['[1,-12345678901234567]', '-12345678901234567'],
    ['["\\"",{"12345678901234567":98765432109876543}]', '98765432109876543'],
    ['10000000000000001', '10000000000000001'],
  ])('is found in %s', (text, found) => expect(roundedInteger(text)).toBe(found));

  it.each([
    '9007199254740992',
    '[1234567890123456,"12345678901234567"]',
    '{"a":12345678901234567.5,"b":1.12345678901234567}',
    '[12345678901234567e1,1e12345678901234567,1E+12345678901234567]',
  ])('is not found when there is none: %s', (text) => expect(roundedInteger(text)).toBeUndefined());

  // Backtracking would take minutes.
  it.each(['.5', 'e1'])('is not found in a million digits before %s', (end) =>
    expect(roundedInteger(`[${'1'.repeat(1_000_000)}${end}]`)).toBeUndefined(),
  );

  it('is found after a long string', () => {
    const text = `["${'\\n'.repeat(8 * 1024 * 1024)}12345678901234567",12345678901234569]`;
    expect(roundedInteger(text)).toBe('12345678901234569');
  });
});
