import { expect, it } from 'vitest';
import { BlockedCallers } from './blocked-callers.js';

const [A, B] = ['https://a.example', 'https://b.example'];

it('a caller is blocked by the issuer and the whole subject, or by the subject at every issuer', () => {
  const blocked = new BlockedCallers([{ issuer: A, subject: 'ann' }, { subject: 'ben' }]);
  for (const [issuer, subject, expected] of [
    [A, 'ann', true],
    [B, 'ann', false],
    [A, 'Ann', false],
    [A, 'an', false],
    [A, 'ben', true],
    [B, 'ben', true],
    [B, null, false],
    ['*', 'ann', false],
  ] as const)
    expect([issuer, subject, blocked.has(issuer, subject)]).toEqual([issuer, subject, expected]);
});

it('a replaced list takes effect at once, in both directions', () => {
  const blocked = new BlockedCallers();
  expect(blocked.has(A, 'ann')).toBe(false);
  blocked.replace([{ subject: 'ann' }]);
  expect(blocked.has(A, 'ann')).toBe(true);
  blocked.replace([{ issuer: B, subject: 'ann' }]);
  expect([blocked.has(A, 'ann'), blocked.has(B, 'ann')]).toEqual([false, true]);
  blocked.replace([]);
  expect(blocked.has(B, 'ann')).toBe(false);
});
