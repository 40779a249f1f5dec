import { describe, expect, it } from 'vitest';
import { Clock } from '../support/clock.js';
import { expectChallenge } from '../support/matchers.js';
import { alsoWithMappedClaims } from '../support/mapped-replica.js';
import { aService } from '../support/service.js';
import { alter } from '../support/tokens.js';

const SECOND = 1_000;
const clock = new Clock().runs();
const inSeconds = (seconds: number) => Math.floor(Date.now() / SECOND) + seconds;

describe('the lifetime of a token', () => {
  const service = alsoWithMappedClaims(
    aService({
      mode: 'auth-only',
      providers: ({ issuer }) => [
        {
          name: 'corporate',
          issuerUrl: issuer.iss,
          audience: issuer.audience,
          introspectionUrl: issuer.introspectionUrl,
          allowPrivateIP: true,
        },
      ],
    })
      .registry('main', { sources: ['main'] })
      .source('main', {})
      .runs(),
  );
  const { issuer } = service;

  it.each<[what: string, make: (exp: number) => string]>([
    ['a JWT', (exp) => issuer.sign({ exp })],
    ['an opaque token', (exp) => issuer.opaque({ exp })],
  ])('ends at exp, even if the token is cached: %s', async (_what, make) => {
    const bearer = service.bearing(make(inSeconds(40)));
    for (const path of ['/v1/me', '/registry/main/v0.1/servers'])
      for (let again = 0; again < 3; again++) expect((await bearer.get(path)).status).toBe(200);
    const tag = (await bearer.get('/registry/main/v0.1/servers')).headers['etag'];
    clock.passes(30 * SECOND);
    expect((await bearer.get('/v1/me')).status).toBe(200);
    clock.passes(10 * SECOND);
    for (const path of ['/v1/me', '/registry/main/v0.1/servers'])
      expectChallenge(await bearer.get(path), { error: 'invalid_token' });
    const known = await bearer.get('/registry/main/v0.1/servers', { 'If-None-Match': String(tag) });
    expectChallenge(known, { error: 'invalid_token' });
  });

  it('is mentioned in error_description once it has ended', async () => {
    const { headers } = await service.bearing(issuer.sign({ exp: inSeconds(-1) })).get('/v1/me');
    expect(headers['www-authenticate']).toContain('error_description="The token has expired"');
  });

  it('does not extend to similar tokens', async () => {
    const token = issuer.sign();
    expect((await service.bearing(token).get('/v1/me')).status).toBe(200);
    for (const near of [
      token.slice(0, -1),
      `${token}A`,
      alter(token, { signature: (bytes) => bytes.reverse() }),
    ])
      expectChallenge(await service.bearing(near).get('/v1/me'), { error: 'invalid_token' });
  });

  it('begins at nbf, despite cached refusals', async () => {
    const bearer = service.bearing(issuer.sign({ nbf: inSeconds(30) }));
    expectChallenge(await bearer.get('/v1/me'), { error: 'invalid_token' });
    clock.passes(31 * SECOND);
    expect((await bearer.get('/v1/me')).status).toBe(200);
  });
});
