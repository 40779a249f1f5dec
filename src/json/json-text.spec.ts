import fc from 'fast-check';
import { expect, it } from 'vitest';
import { memberText, withMember } from './json-text.js';

it.each([
  ['{"server":{"a":[1,{"server":2}]},"_meta":{}}', '{"a":[1,{"server":2}]}'],
  ['{"_meta":{"server":1},"server":12345678901234567890.10}', '12345678901234567890.10'],
  ['{"x":"server","s\\u0065rver":"}\\",{\\\\"}', '"}\\",{\\\\"'],
  ['{"x":[{"server":1}]}', null],
  ['{}', null],
  ['["server",1]', null],
  ['"server"', null],
])('of %s, the server is %s', (text, expected) => expect(memberText(text, 'server')).toBe(expected));

it.each([
  [
    '{"a":1.0,"status":"ACTIVE","z":[{"status":"ACTIVE"}]}',
    '{"a":1.0,"status":"active","z":[{"status":"ACTIVE"}]}',
  ],
  ['{"st\\u0061tus":"A\\u0043TIVE"}', '{"st\\u0061tus":"active"}'],
  ['{"x":{"status":1},"status":{"y":2}}', '{"x":{"status":1},"status":"active"}'],
  ['{"x":{"status":1}}', '{"x":{"status":1}}'],
  ['{}', '{}'],
])('of %s with another status, the text is %s', (text, expected) =>
  expect(withMember(text, 'status', '"active"')).toBe(expected),
);

it('is what JSON.stringify wrote, for every member of every object', () => {
  const object = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }), { maxKeys: 6 });
  fc.assert(
    fc.property(object, (value) => {
      const text = JSON.stringify(value);
      for (const key of Object.keys(value)) expect(memberText(text, key)).toBe(JSON.stringify(value[key]));
    }),
  );
});
