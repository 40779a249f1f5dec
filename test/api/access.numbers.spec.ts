import { describe, expect, it } from 'vitest';
import { outcomeOf } from '../support/answers.js';
import { aServer } from '../support/documents.js';
import { aService } from '../support/service.js';

describe('numeric claims beyond double precision', () => {
  const service = aService({ mode: 'full' })
    .source('tools', { claims: { org: 'acme' }, servers: [aServer('io.acme/a')] })
    .registry('exact', { sources: ['tools'], claims: { tenant: '9007199254740991' } })
    .registry('rounded', { sources: ['tools'], claims: { tenant: '9007199254740992' } })
    .registry('longer', { sources: ['tools'], claims: { tenant: '12345678901234567000' } })
    .registry('huge', { sources: ['tools'], claims: { tenant: 'Infinity' } })
    .runs();

  /** A caller whose token holds these literal digits, which JSON.stringify would round. */
  function numbered(digits: string) {
    const { issuer } = service;
    const { alg, privateKey } = issuer.key(issuer.currentKid);
    const payload = JSON.stringify(issuer.claims({ tenant: 'DIGITS' })).replace('"DIGITS"', digits);
    return service.bearing(
      issuer.raw({ header: { alg, typ: 'JWT', kid: issuer.currentKid }, payload, key: privateKey }),
    );
  }

  it('match exactly up to the largest safe integer', async () => {
    expect(outcomeOf(await numbered('9007199254740991').get('/registry/exact/v0.1/servers'))).toBe('200');
    expect(outcomeOf(await numbered('9007199254740990').get('/registry/exact/v0.1/servers'))).toBe(
      '403 registry_forbidden',
    );
  });

  it.each([
    ['rounded', '9007199254740993'],
    ['longer', '12345678901234567890'],
    ['huge', '1e999'],
  ])('do not match the value they round to: %s', async (registry, digits) => {
    expect(outcomeOf(await numbered(digits).get(`/registry/${registry}/v0.1/servers`))).toBe(
      '403 registry_forbidden',
    );
  });
});
