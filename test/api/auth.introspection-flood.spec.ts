import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { Clock } from '../support/clock.js';
import type { Reply } from '../support/http.js';
import { anIssuer } from '../support/issuer.js';
import { expectChallenge, expectRefused } from '../support/matchers.js';
import { aService } from '../support/service.js';

/** How long an answer of introspection is remembered. */
const MEMORY_MS = 60_000;
/** What the provider takes for an answer while it is slow. */
const ANSWER_MS = 3_000;
/** Questions that one client may have under way. */
const QUESTIONS_OF_CLIENT = 64;
const [ATTACKER, CALLER] = ['127.0.0.1', '127.0.0.2'];

const clock = new Clock().runs();
const issuer = anIssuer().runs();
const service = aService({
  mode: 'auth-only',
  providers: () => [
    {
      name: 'slow',
      issuerUrl: issuer.iss,
      audience: 'registry',
      introspectionUrl: issuer.introspectionUrl,
      allowPrivateIP: true,
    },
  ],
}).runs();

const ask = (token: string, from: string) => service.bearing(token).send('GET', '/v1/me', { from });
const asked = () => issuer.requestsTo('introspection').length;
const madeUp = () => `made-up-${randomUUID()}`;

/** So many made-up tokens at once; resolves when the provider has been asked about as many as it will be. */
async function flood(from: string, count: number): Promise<Promise<Reply>[]> {
  const before = asked();
  const replies = Array.from({ length: count }, () => ask(madeUp(), from));
  const most = Math.min(count, QUESTIONS_OF_CLIENT);
  await expect.poll(() => asked() - before, { timeout: 10_000 }).toBeGreaterThanOrEqual(most);
  return replies;
}

afterEach(() => issuer.behave());

describe('a flood of made-up tokens from one address at a slow provider', () => {
  it('neither shuts out nor delays a valid token from another address', async () => {
    const token = issuer.opaque();
    issuer.injectFault('introspection', { delayMs: ANSWER_MS });
    const flooding = await flood(ATTACKER, 300);
    const startedAt = performance.now();
    expect((await ask(token, CALLER)).status).toBe(200);
    expect(performance.now() - startedAt).toBeLessThan(2 * ANSWER_MS);
    const replies = await Promise.all(flooding);
    const refused = replies.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(100);
    for (const reply of refused) {
      expectRefused(reply, 429, 'too_many_requests');
      expect(reply.headers['retry-after']).toMatch(/^[1-9]\d*$/);
    }
    for (const reply of replies.filter(({ status }) => status !== 429))
      expectChallenge(reply, { error: 'invalid_token' });
  });

  it('is over when its questions have been answered: the address may ask again', async () => {
    issuer.injectFault('introspection', { delayMs: ANSWER_MS });
    await Promise.all(await flood(ATTACKER, 100));
    issuer.behave();
    expect((await ask(issuer.opaque(), ATTACKER)).status).toBe(200);
  });

  it('does not keep a remembered token of the same address waiting, nor one that is to be asked about again', async () => {
    const [remembered, lapsed] = [issuer.opaque(), issuer.opaque()];
    expect((await ask(lapsed, ATTACKER)).status).toBe(200);
    clock.passes(MEMORY_MS);
    expect((await ask(remembered, ATTACKER)).status).toBe(200);
    issuer.injectFault('introspection', 'hang');
    const flooding = await flood(ATTACKER, 300);
    expect((await ask(remembered, ATTACKER)).status).toBe(200);
    issuer.behave();
    expect((await ask(lapsed, ATTACKER)).status).toBe(200);
    for (const { status } of await Promise.all(flooding)) expect([429, 503]).toContain(status);
  });
});

describe('floods of made-up tokens from several addresses', () => {
  it('leave room for the tokens that the provider has vouched for before', async () => {
    const [known, unknown] = [issuer.opaque(), issuer.opaque()];
    expect((await ask(known, CALLER)).status).toBe(200);
    clock.passes(MEMORY_MS);
    issuer.injectFault('introspection', { delayMs: ANSWER_MS });
    const addresses = ['127.0.0.3', '127.0.0.4', '127.0.0.5'];
    const floods = await Promise.all(addresses.map((address) => flood(address, QUESTIONS_OF_CLIENT)));
    expectRefused(await ask(unknown, CALLER), 503, 'provider_unavailable');
    expect((await ask(known, CALLER)).status).toBe(200);
    await Promise.all(floods.flat());
    expect((await ask(unknown, CALLER)).status).toBe(200);
  });
});
