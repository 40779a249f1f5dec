import { describe, expect, it } from 'vitest';
import { anIssuer } from '../support/issuer.js';
import { findSecrets, keepSecret } from '../support/secrets.js';

describe('the search for secrets after each test of a service', () => {
  const token = anIssuer().sign({ sub: 'somebody' });
  const [header = '', payload = '', signature = ''] = token.split('.');
  const secret = keepSecret('a long client secret');

  it.each([
    ['a whole token', token],
    ['the payload of a token', payload],
    ['16 characters of a signature', signature.slice(20, 36)],
    ['a secret', secret],
  ])('finds %s in a log', (_what, leaked) => {
    expect(findSecrets(`{"level":"info","msg":"Refused ${leaked}"}\n`)).not.toEqual([]);
  });

  it('finds any 16 characters of a signature, at any offset in a longer word', () => {
    for (let from = 0; from + 16 <= signature.length; from += 1)
      for (let before = 0; before < 12; before += 1) {
        const leaked = signature.slice(from, from + 16);
        expect(findSecrets(`${'-'.repeat(before)}${leaked}${'-'.repeat(from % 12)}`)).toContain(leaked);
      }
  });

  it.each([
    ['15 characters of a signature', signature.slice(20, 35)],
    ['a token header, which all tokens share', header],
    ['a request id', '0b9f6a2c-3f8e-4d5c-9f1e-6a7b8c9d0e1f'],
  ])('lets %s pass', (_what, harmless) => {
    expect(findSecrets(`{"level":"info","msg":"Refused ${harmless}"}\n`)).toEqual([]);
  });
});
