import { expect, it } from 'vitest';
import { isExpired, isKey, parseExpiry } from './registry-keys.js';

it.each([
  ['A'.repeat(43), true],
  ['-_0z'.repeat(10) + 'abc', true],
  ['A'.repeat(42), false],
  ['A'.repeat(44), false],
  [`${'A'.repeat(42)}=`, false],
  [`${'A'.repeat(42)}+`, false],
  [`${'A'.repeat(43)}\n`, false],
])('a key has 43 characters of base64url: %s is %s', (content, expected) => {
  expect(isKey(content)).toBe(expected);
});

it.each<[string, string | null]>([
  ['2027-06-30', '2027-06-30T00:00:00.000Z'],
  ['2027-06-30T12:00:00+02:00', '2027-06-30T10:00:00.000Z'],
  ['2027-02-30', null],
  ['30.6.2027', null],
  ['2027', null],
  ['', null],
])('%s expires at %s', (expires, moment) => {
  expect(parseExpiry(expires)?.toISOString() ?? null).toBe(moment);
});

it.each<[string | null, string, boolean]>([
  ['2027-06-30', '2027-06-29T23:59:59.999Z', false],
  ['2027-06-30', '2027-06-30T00:00:00.000Z', true],
  [null, '2999-01-01T00:00:00Z', false],
  ['whenever', '2020-01-01T00:00:00Z', true],
])('a key that expires at %s has expired at %s: %s', (expires, now, expected) => {
  expect(isExpired({ expires }, Date.parse(now))).toBe(expected);
});
