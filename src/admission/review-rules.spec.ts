import { expect, it } from 'vitest';
import type { Caller } from '../auth/caller.js';
import { personKey } from '../auth/caller.js';

const caller = (subject: string, iss: string): Caller => ({
  subject,
  issuer: iss,
  claims: { iss: 'https://never.read', sub: subject },
  identified: true,
});

it.each<[string, Caller, Caller, boolean]>([
  ['with other tokens of one issuer', caller('ada', 'https://a'), caller('ada', 'https://a'), true],
  ['at two issuers', caller('ada', 'https://a'), caller('ada', 'https://b'), false],
  ['with another subject', caller('ada', 'https://a'), caller('bob', 'https://a'), false],
])('the same subject %s', (_, one, other, isSame) => {
  expect(personKey(one)?.equals(personKey(other) ?? Buffer.alloc(0))).toBe(isSame);
});

it('anonymous callers have no identity', () => {
  expect(personKey({ subject: null, issuer: null, identified: false })).toBeNull();
});
