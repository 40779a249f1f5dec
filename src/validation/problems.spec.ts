import { expect, it } from 'vitest';
import { nearest } from './problems.js';

it.each([
  ['issuerURL', 'issuerUrl'],
  ['issuer_url', 'issuerUrl'],
  ['isuerUrl', 'issuerUrl'],
  ['mod', 'mode'],
  ['something', undefined],
  ['', undefined],
  ['x'.repeat(100_000), undefined],
])('the closest candidate to %.20s is %s', (word, meant) =>
  expect(nearest(word, ['issuerUrl', 'mode', 'audience'])).toBe(meant),
);
