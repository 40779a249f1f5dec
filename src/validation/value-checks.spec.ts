import { expect, it } from 'vitest';
import { formatDuration, nearest, parseDuration } from './value-checks.js';

it.each([
  ['1s', 1_000],
  ['45s', 45_000],
  ['30m', 1_800_000],
  ['1h30m', 5_400_000],
  ['2d', 172_800_000],
  ['365d', 31_536_000_000],
  ['1d2h3m4s', 93_784_000],
  ['90m', 5_400_000],
])('%s is %i ms', (text, ms) => expect(parseDuration(text)).toBe(ms));

it.each(
  [
    [
      '',
      '30',
      '-30m',
      '+30m',
      '30 m',
      ' 30m',
      '30m ',
      '1.5h',
      '30M',
      '0s',
      '0',
      '366d',
      '8761h',
      '30m1h',
      '1h1h',
      'h',
      '1m30',
    ],
    ['500ms', '1w', '٣m', '9999999999s', '1e3s'],
  ].flat(),
)('%j is not a duration', (text) => expect(parseDuration(text)).toBeUndefined());

it.each([
  [1_000, '1s'],
  [1_800_000, '30m'],
  [5_400_000, '1h30m'],
  [86_400_000, '24h'],
  [3_601_000, '1h1s'],
])('%i ms is formatted as %s', (ms, text) =>
  expect([formatDuration(ms), parseDuration(text)]).toEqual([text, ms]),
);

it.each([
  ['issuerURL', 'issuerUrl'],
  ['issuer_url', 'issuerUrl'],
  ['isuerUrl', 'issuerUrl'],
  ['mod', 'mode'],
  ['something', undefined],
  ['', undefined],
  ['x'.repeat(100_000), undefined],
])('the closest candidate to $0 is $1', (word, meant) =>
  expect(nearest(word, ['issuerUrl', 'mode', 'audience'])).toBe(meant),
);
