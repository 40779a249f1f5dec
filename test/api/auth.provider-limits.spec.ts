import { describe, expect, it } from 'vitest';
import { Clock } from '../support/clock.js';
import { anIssuer } from '../support/issuer.js';
import { expectChallenge } from '../support/matchers.js';
import { keepSecret } from '../support/secrets.js';
import { aService } from '../support/service.js';

/** How long the circuit breaker of a provider stays open. */
const PAUSE_MS = 1_000;
const clock = new Clock().runs();
const FILE_TOKEN = keepSecret('the token that is mounted here');

describe('a provider that hangs', () => {
  const slow = anIssuer().runs();
  const healthy = anIssuer().runs();
  const service = aService({
    mode: 'auth-only',
    providers: () =>
      [slow, healthy].map((issuer, place) => ({
        name: `provider-${place}`,
        issuerUrl: issuer.iss,
        audience: 'registry',
        introspectionUrl: issuer.introspectionUrl,
        allowPrivateIP: true,
      })),
  }).runs();

  it('is not asked again about an opaque token that another provider accepted', async () => {
    const token = healthy.opaque();
    expect((await service.bearing(token).get('/v1/me')).status).toBe(200);
    const introspections = () => slow.requestsTo('introspection').length;
    expect(introspections()).toBe(1);
    slow.injectFault('introspection', 'hang');
    for (let again = 0; again < 5; again += 1) {
      clock.passes(PAUSE_MS);
      expect((await service.bearing(token).get('/v1/me')).status).toBe(200);
    }
    expect(introspections()).toBe(1);
    slow.behave();
  });
});

describe('the token of authTokenFile', () => {
  const issuer = anIssuer().runs();
  const elsewhere = anIssuer().runs();
  const service = aService({
    mode: 'auth-only',
    providers: (service) => [
      {
        name: 'lying',
        issuerUrl: issuer.iss,
        audience: 'registry',
        authTokenFile: service.write('token', FILE_TOKEN.replaceAll(' ', '-')),
        allowPrivateIP: true,
      },
    ],
  }).runs();

  it('is sent to configured origins only, not to a jwks_uri at another origin', async () => {
    issuer.injectFault('discovery', { answer: { issuer: issuer.iss, jwks_uri: elsewhere.jwksUrl } });
    expectChallenge(await service.bearing(issuer.sign()).get('/v1/me'), { error: 'invalid_token' });
    expect(elsewhere.requestsTo('jwks').map(({ authorization }) => authorization)).toEqual([undefined]);
    expect(issuer.requestsTo('discovery')[0]?.authorization).toBe(
      `Bearer ${FILE_TOKEN.replaceAll(' ', '-')}`,
    );
    issuer.behave();
  });
});
