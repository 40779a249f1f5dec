import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { Clock } from '../support/clock.js';
import type { Reply } from '../support/http.js';
import { anIssuer } from '../support/issuer.js';
import { expectRefused } from '../support/matchers.js';
import { aService } from '../support/service.js';

/** How long an introspection response is cached. */
const CACHED_MS = 60_000;
/** Concurrent introspections per client address. */
const QUOTA_PER_CLIENT = 64;
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

/** Makes the provider hold its responses until `release` is called. */
function hold(): { release: () => void } {
  let release = () => {};
  const after = new Promise<void>((resolve) => (release = resolve));
  issuer.injectFault('introspection', { after });
  return { release };
}

/** Sends made-up tokens concurrently; resolves when the quota is in flight and the others have responses. */
async function flood(from: string, count: number): Promise<Promise<Reply>[]> {
  const before = asked();
  let answered = 0;
  const replies = Array.from({ length: count }, async () => {
    const reply = await ask(madeUp(), from);
    answered += 1;
    return reply;
  });
  const most = Math.min(count, QUOTA_PER_CLIENT);
  await expect.poll(() => [asked() - before >= most, answered >= count - most]).toEqual([true, true]);
  return replies;
}

// A flood on a slow machine takes longer than the five seconds for which the service waits for a held response.
beforeAll(() => {
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => timeout(10 * ms));
});
afterAll(() => void vi.restoreAllMocks());
afterEach(() => issuer.behave());

describe('a flood of made-up tokens from one address at a slow provider', () => {
  it('does not delay a valid token from another address', async () => {
    const token = issuer.opaque();
    const { release } = hold();
    const flooding = await flood(ATTACKER, 300);
    const before = asked();
    const reply = ask(token, CALLER);
    await expect.poll(asked).toBe(before + 1);
    release();
    expect((await reply).status).toBe(200);
    const replies = await Promise.all(flooding);
    const refused = replies.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThanOrEqual(300 - QUOTA_PER_CLIENT);
    for (const reply of refused) {
      expectRefused(reply, 429, 'too_many_requests');
      expect(reply.headers['retry-after']).toMatch(/^[1-9]\d*$/);
    }
  });

  it('releases the quota of the address when the provider responds', async () => {
    const { release } = hold();
    const flooding = await flood(ATTACKER, 100);
    release();
    for (const { status } of await Promise.all(flooding)) expect([401, 429]).toContain(status);
    expect((await ask(issuer.opaque(), ATTACKER)).status).toBe(200);
  });

  it('delays neither a cached token from the same address nor one accepted before', async () => {
    const [cached, lapsed] = [issuer.opaque(), issuer.opaque()];
    expect((await ask(lapsed, ATTACKER)).status).toBe(200);
    clock.passes(CACHED_MS);
    expect((await ask(cached, ATTACKER)).status).toBe(200);
    const { release } = hold();
    const flooding = await flood(ATTACKER, 300);
    const before = asked();
    expect((await ask(cached, ATTACKER)).status).toBe(200);
    expect(asked()).toBe(before);
    const reply = ask(lapsed, ATTACKER);
    await expect.poll(asked).toBe(before + 1);
    release();
    expect((await reply).status).toBe(200);
    await Promise.all(flooding);
  });
});

describe('floods of made-up tokens from several addresses', () => {
  it('leave capacity for tokens accepted before', async () => {
    const [known, unknown] = [issuer.opaque(), issuer.opaque()];
    expect((await ask(known, CALLER)).status).toBe(200);
    clock.passes(CACHED_MS);
    const { release } = hold();
    const addresses = ['127.0.0.3', '127.0.0.4', '127.0.0.5'];
    const floods: Promise<Reply>[] = [];
    for (const address of addresses) floods.push(...(await flood(address, QUOTA_PER_CLIENT)));
    expectRefused(await ask(unknown, CALLER), 503, 'provider_unavailable');
    const before = asked();
    const reply = ask(known, CALLER);
    await expect.poll(asked).toBe(before + 1);
    release();
    expect((await reply).status).toBe(200);
    await Promise.all(floods);
    expect((await ask(unknown, CALLER)).status).toBe(200);
  });
});
