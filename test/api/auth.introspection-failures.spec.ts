import { afterEach, describe, expect, it } from 'vitest';
import { Clock } from '../support/clock.js';
import { anIssuer } from '../support/issuer.js';
import { expectRefused } from '../support/matchers.js';
import { aService } from '../support/service.js';

const SECOND = 1_000;
const clock = new Clock().runs().standsStill();

describe('circuit breaker of introspection', () => {
  const troubled = anIssuer().runs();
  const service = aService({
    mode: 'auth-only',
    providers: () => [
      {
        name: 'troubled',
        issuerUrl: troubled.iss,
        audience: 'registry',
        introspectionUrl: troubled.introspectionUrl,
        allowPrivateIP: true,
      },
    ],
  }).runs();
  const ask = (token: string) => service.bearing(token).get('/v1/me');
  const askFrom = (from: string, token: string) => service.bearing(token).send('GET', '/v1/me', { from });
  /** Sends `count` new tokens in sequence and expects 503 for each. */
  const failing = async (count: number) => {
    for (let again = 0; again < count; again += 1)
      expectRefused(await ask(troubled.opaque()), 503, 'provider_unavailable');
  };
  const asked = () => troubled.requestsTo('introspection').length;
  const recover = () => {
    troubled.behave();
    clock.passes(SECOND);
  };
  afterEach(recover);

  it.each(['error', 'down', 'garbage', { answer: [] }] as const)(
    'opens for a second after three failures: %j',
    async (how) => {
      const known = troubled.opaque();
      expect((await ask(known)).status).toBe(200);
      troubled.injectFault('introspection', how);
      const before = asked();
      await failing(5);
      expect(asked()).toBe(before + 3);
      expect((await ask(known)).status).toBe(200);
      recover();
      expect((await ask(troubled.opaque())).status).toBe(200);
    },
  );

  it('sends one probe at a time after that second, until it succeeds', async () => {
    troubled.injectFault('introspection', 'down');
    await failing(3);
    clock.passes(SECOND);
    troubled.injectFault('introspection', 'hang');
    const before = asked();
    const probe = ask(troubled.opaque());
    await expect.poll(asked).toBe(before + 1);
    clock.passes(SECOND);
    await failing(5);
    expect(asked()).toBe(before + 1);
    expectRefused(await probe, 503, 'provider_unavailable');
    await failing(1);
    expect(asked()).toBe(before + 1);
    recover();
    for (let again = 0; again < 5; again += 1) expect((await ask(troubled.opaque())).status).toBe(200);
  });

  it('counts repeated failures of one token once', async () => {
    const token = troubled.opaque();
    troubled.rejects(token, 500);
    for (let again = 0; again < 5; again += 1) expectRefused(await ask(token), 503, 'provider_unavailable');
    expect((await ask(troubled.opaque())).status).toBe(200);
  });

  it('opens for one address and not for another', async () => {
    for (let again = 0; again < 10; again += 1) {
      const token = troubled.opaque();
      troubled.rejects(token, 500);
      expectRefused(await ask(token), 503, 'provider_unavailable');
    }
    expectRefused(await ask(troubled.opaque()), 503, 'provider_unavailable');
    expect((await askFrom('127.0.0.2', troubled.opaque())).status).toBe(200);
  });

  it('opens for all addresses after failures from three, except for tokens accepted before', async () => {
    const known = troubled.opaque();
    expect((await ask(known)).status).toBe(200);
    clock.passes(60 * SECOND);
    for (const address of ['127.0.0.2', '127.0.0.3', '127.0.0.4']) {
      const token = troubled.opaque();
      troubled.rejects(token, 500);
      expectRefused(await askFrom(address, token), 503, 'provider_unavailable');
    }
    expectRefused(await ask(troubled.opaque()), 503, 'provider_unavailable');
    expect((await ask(known)).status).toBe(200);
    expect((await ask(troubled.opaque())).status).toBe(200);
  });

  it('opens after three 429s', async () => {
    for (let again = 0; again < 3; again += 1) {
      const token = troubled.opaque();
      troubled.rejects(token, 429);
      expectRefused(await ask(token), 503, 'provider_unavailable');
    }
    const before = asked();
    expectRefused(await ask(troubled.opaque()), 503, 'provider_unavailable');
    expect(asked()).toBe(before);
    recover();
    expect((await ask(troubled.opaque())).status).toBe(200);
  });

  it.each([400, 401, 403, 404, 413, 422])(
    'stays closed after status %i, which may concern this token only',
    async (status) => {
      for (let again = 0; again < 5; again += 1) {
        const token = troubled.opaque();
        troubled.rejects(token, status);
        expectRefused(await ask(token), 503, 'provider_unavailable');
      }
      expect((await ask(troubled.opaque())).status).toBe(200);
    },
  );
});
