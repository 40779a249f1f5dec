import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { Clock } from '../support/clock.js';
import type { Reply } from '../support/http.js';
import { call } from '../support/http.js';
import { anIssuer, type Issuer } from '../support/issuer.js';
import { expectChallenge, expectRefused } from '../support/matchers.js';
import type { InjectedFault } from '../support/fault-injection.js';
import { aService } from '../support/service.js';
import { within } from '../support/within.js';

const SECOND = 1_000;
const KEY_LIFETIME = 600 * SECOND;
const MINUTE = 60 * SECOND;
const MEBIBYTE = 1024 * 1024;

const clock = new Clock().runs();
const [troubled, healthy, elsewhere] = [anIssuer().runs(), anIssuer().runs(), anIssuer().runs()];
const provider = (name: string, { iss, audience }: Issuer) => ({
  name,
  issuerUrl: iss,
  audience,
  allowPrivateIP: true,
});
const service = aService({
  mode: 'auth-only',
  providers: () => [
    { ...provider('troubled', troubled), introspectionUrl: troubled.introspectionUrl },
    provider('healthy', healthy),
  ],
}).runs();

const ask = (token: string) => service.bearing(token).get('/v1/me');

function expectUnavailable(reply: Reply): void {
  expectRefused(reply, 503, 'provider_unavailable');
  expect(reply.headers['retry-after']).toMatch(/^[1-9]\d*$/);
  expect(reply.headers).not.toHaveProperty('www-authenticate');
}

/** The timeouts set for requests to providers. The requests themselves take longer on a busy machine. */
const timeouts: number[] = [];
beforeAll(() => {
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
    timeouts.push(ms);
    return timeout(ms);
  });
});
beforeEach(() => void (timeouts.length = 0));

const TROUBLE: [what: string, how: () => InjectedFault][] = [
  ['never answers', () => 'hang'],
  ['responds one byte at a time', () => 'drip'],
  ['closes the connection', () => 'down'],
  ['responds with status 500', () => 'error'],
  ['responds with HTML', () => 'html'],
  ['responds with truncated JSON', () => 'garbage'],
  [
    'responds with deep JSON',
    () => ({ answer: { keys: JSON.parse('['.repeat(500) + ']'.repeat(500)) as unknown } }),
  ],
  ['responds with 50 MB', () => 'huge'],
  ['responds with one byte more than 1 MiB', () => ({ padding: MEBIBYTE + 1 })],
  ['redirects to another origin', () => ({ redirect: elsewhere.jwksUrl })],
  ['redirects to itself', () => ({ redirect: troubled.jwksUrl })],
  ['redirects to an invalid URL', () => ({ redirect: 'http://[' })],
];

/** Expects the failing provider to recover, without any earlier request to another origin. */
async function expectRecovery(): Promise<void> {
  expect(elsewhere.requests).toEqual([]);
  troubled.behave();
  clock.passes(MINUTE);
  expect((await ask(troubled.sign())).status).toBe(200);
}

describe('a provider whose JSON Web Key Set', () => {
  it.each(TROUBLE)(
    '%s returns 503 after 5 s at most and does not affect other providers',
    async (_what, how) => {
      clock.passes(KEY_LIFETIME);
      troubled.injectFault('jwks', how());
      const [token, otherToken] = [troubled.sign(), healthy.sign()];
      const reply = ask(token);
      const [other, missing] = await Promise.all([ask(otherToken), service.get('/v1/me')]);
      expect(other.status).toBe(200);
      expectChallenge(missing);
      await within(20 * SECOND, async () =>
        expect((await call(`${service.internalOrigin}/readiness`)).status).toBe(200),
      );
      expectUnavailable(await reply);
      expect(new Set(timeouts)).toEqual(new Set([5 * SECOND]));
      await expectRecovery();
    },
  );

  it.each<[what: string, how: () => InjectedFault]>([
    ['has exactly 1 MiB', () => ({ padding: MEBIBYTE })],
    ['redirects within the origin', () => ({ redirect: `${troubled.url}/moved/jwks` })],
  ])('%s is accepted', async (_what, how) => {
    clock.passes(KEY_LIFETIME);
    troubled.injectFault('jwks', how());
    expect((await ask(troubled.sign())).status).toBe(200);
    troubled.behave();
  });
});

describe('a provider whose discovery document', () => {
  it.each<[what: string, how: () => InjectedFault]>([
    ['never comes', () => 'hang'],
    ['is missing', () => 'error'],
    ['is HTML', () => 'html'],
    ['is 50 MB long', () => 'huge'],
    [
      'redirects to another origin',
      () => ({ redirect: `${elsewhere.url}/.well-known/openid-configuration` }),
    ],
    ['names another issuer', () => 'wrong-issuer'],
    ['names the issuer with a trailing slash', () => document({ issuer: `${troubled.iss}/` })],
    ['names no issuer', () => document({ issuer: undefined })],
    ['has no jwks_uri', () => document({ jwks_uri: undefined })],
    ['has a jwks_uri that is a number', () => document({ jwks_uri: 7 })],
    ['has a file URL as jwks_uri', () => document({ jwks_uri: 'file:///etc/passwd' })],
    ['has a relative jwks_uri', () => document({ jwks_uri: '/jwks' })],
    ['has an unencrypted jwks_uri', () => document({ jwks_uri: 'http://idp.example/jwks' })],
    ['is null', () => ({ answer: null })],
    ['is a list', () => ({ answer: [] })],
  ])('%s returns 503 provider_unavailable', async (_what, how) => {
    clock.passes(KEY_LIFETIME);
    troubled.injectFault('discovery', how());
    const [reply, other] = await Promise.all([ask(troubled.sign()), ask(healthy.sign())]);
    expectUnavailable(reply);
    expect(other.status).toBe(200);
    await expectRecovery();
  });

  const document = (changes: object) => ({
    answer: { issuer: troubled.iss, jwks_uri: troubled.jwksUrl, ...changes },
  });
});

describe('a provider whose introspection endpoint', () => {
  it.each(TROUBLE)('%s returns 503 after 5 s at most', async (_what, how) => {
    troubled.injectFault('introspection', how());
    const [token, otherToken, expiredToken] = [troubled.opaque(), healthy.sign(), healthy.sign({ exp: 1 })];
    const reply = ask(token);
    const [other, expired] = await Promise.all([ask(otherToken), ask(expiredToken)]);
    expectUnavailable(await reply);
    expect(new Set(timeouts)).toEqual(new Set([5 * SECOND]));
    expect(other.status).toBe(200);
    // The failing provider does not affect another provider's token.
    expectChallenge(expired, { error: 'invalid_token' });
    expect(elsewhere.requests).toEqual([]);

    troubled.behave();
    clock.passes(MINUTE);
    expect((await ask(troubled.opaque())).status).toBe(200);
  });

  it.each<[what: string, answer: unknown]>([
    ['a list', [{ active: true }]],
    ['text', 'active'],
    ['true', true],
    ['null', null],
  ])('responds with %s returns 503', async (_what, answer) => {
    troubled.injectFault('introspection', { answer });
    expectUnavailable(await ask(troubled.opaque()));
    troubled.behave();
    clock.passes(MINUTE);
  });

  it('redirects within its origin returns 503: the form with the token is not resent', async () => {
    troubled.injectFault('introspection', { redirect: `${troubled.url}/moved/introspect` });
    expectUnavailable(await ask(troubled.opaque()));
    troubled.behave();
    clock.passes(MINUTE);
  });
});
