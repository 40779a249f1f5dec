import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Document } from '../support/documents.js';
import { anIssuer, type Issuer } from '../support/issuer.js';
import { expectChallenge } from '../support/matchers.js';
import { aService, type ServiceUnderTest } from '../support/service.js';

const strict = anIssuer().runs();
const dex = anIssuer({ audience: 'registry-page' }).runs();
const foreign = anIssuer().runs();

/** What makes a token look like an ID token. */
const LOOKS: [what: string, claims: Document][] = [
  ['at_hash', { at_hash: 'yWUFd2fJ1mN3' }],
  ['typ ID', { typ: 'ID' }],
];

function serviceOf(...providers: [Issuer, Document][]): ServiceUnderTest {
  return aService({
    mode: 'auth-only',
    providers: () =>
      providers.map(([issuer, more], position) => ({
        name: `provider-${position}`,
        issuerUrl: issuer.iss,
        audience: issuer.audience,
        allowPrivateIP: true,
        introspectionUrl: issuer.introspectionUrl,
        ...more,
      })),
  }).runs();
}

describe('idTokens', () => {
  const service = serviceOf([dex, { idTokens: 'accept' }], [strict, { idTokens: 'refuse' }]);

  it.each(LOOKS)(
    'accept: a token with %s is accepted from this provider, and from no other',
    async (_what, claims) => {
      expect((await service.bearing(dex.sign(claims)).get('/v1/me')).status).toBe(200);
      expectChallenge(await service.bearing(dex.sign({ ...claims, aud: 'another' })).get('/v1/me'), {
        error: 'invalid_token',
      });
      expectChallenge(await service.bearing(strict.sign(claims)).get('/v1/me'), { error: 'invalid_token' });
      expect((await service.bearing(strict.sign()).get('/v1/me')).status).toBe(200);
    },
  );

  it('refuse: the response and the log say that it is an ID token, whatever its audience', async () => {
    const reply = await service.bearing(strict.sign({ at_hash: 'x', aud: 'page' })).get('/v1/me');
    expectChallenge(reply, { error: 'invalid_token' });
    expect(reply.headers['www-authenticate']).toContain('error_description="The token is an ID token"');
    expect(reply.json).toMatchObject({ code: 'token_invalid', error: 'The token is an ID token' });
    const refusals = service.logs().filter(({ msg }) => msg === 'Token refused');
    expect(JSON.stringify(refusals.at(-1))).toMatch(/the token is an ID token.*idTokens: accept/);
    expect(JSON.stringify(refusals.at(-1))).not.toContain('audience');
  });
});

describe('introspection of a token that looks like an ID token', () => {
  const service = serviceOf([strict, {}], [dex, { idTokens: 'accept' }]);
  const ask = (token: string) => service.bearing(token).get('/v1/me');

  it.each(LOOKS)('decides about a JWT with %s by token_use', async (_what, claims) => {
    const answer = { active: true, ...strict.claims() };
    for (const [more, status] of [
      [{ token_use: 'access_token' }, 200],
      [{ token_use: 'access_token', ...claims }, 200],
      [{}, 401],
      [claims, 401],
      [{ token_use: 'id_token' }, 401],
      [{ token_use: ['access_token'] }, 401],
      [{ token_use: 'access_token', active: false }, 401],
      [{ token_use: 'access_token', aud: 'another' }, 401],
    ] as const) {
      const token = strict.sign({ ...claims, jti: randomUUID() });
      strict.knows(token, { ...answer, ...more });
      expect([more, (await ask(token)).status]).toEqual([more, status]);
    }
  });

  it.each(LOOKS)('decides about an opaque token with %s by token_use or idTokens', async (_what, claims) => {
    expectChallenge(await ask(strict.opaque({ iss: undefined, ...claims })), { error: 'invalid_token' });
    expect((await ask(strict.opaque({ ...claims, token_use: 'access_token' }))).status).toBe(200);
    expect((await ask(dex.opaque(claims))).status).toBe(200);
  });

  it('does not lift any other check of the JWT', async () => {
    const token = foreign.sign(strict.claims({ at_hash: 'x' }), { typ: 'logout+jwt' });
    strict.knows(token, { active: true, ...strict.claims(), token_use: 'access_token' });
    expectChallenge(await ask(token), { error: 'invalid_token' });
  });
});
