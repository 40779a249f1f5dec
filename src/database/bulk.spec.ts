import { expect, it } from 'vitest';
import { copiedText } from './bulk.js';

it.each([
  ['a\\b\tc\nd\re', 'a\\\\b\\tc\\nd\\re'],
  ['\\N', '\\\\N'],
  ['{"text":"ж✓ \\"quoted\\""}', '{"text":"ж✓ \\\\"quoted\\\\""}'],
  ['', ''],
  [null, '\\N'],
  [true, 'true'],
  [new Date('1999-12-31T23:59:59.5Z'), '1999-12-31T23:59:59.500Z'],
  [Buffer.from([1, 255]), '\\\\x01ff'],
])('COPY reads %j from %j', (value, text) => expect(copiedText(value)).toBe(text));
