import { expect, it } from 'vitest';
import { BlockedCallers } from './oauth-in-force.js';

const [A, B] = ['https://a.example', 'https://b.example'];
const is = (list: BlockedCallers, issuer: string, subject: string | null) =>
  list.has({ issuer, subject, claims: { iss: 'https://never.read' }, identified: true });

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
    expect([issuer, subject, is(blocked, issuer, subject)]).toEqual([issuer, subject, expected]);
});

it('a replaced list takes effect immediately, in both directions', () => {
  const blocked = new BlockedCallers();
  expect(is(blocked, A, 'ann')).toBe(false);
  blocked.replace([{ subject: 'ann' }]);
  expect(is(blocked, A, 'ann')).toBe(true);
  blocked.replace([{ issuer: B, subject: 'ann' }]);
  expect([is(blocked, A, 'ann'), is(blocked, B, 'ann')]).toEqual([false, true]);
  blocked.replace([]);
  expect(is(blocked, B, 'ann')).toBe(false);
});
