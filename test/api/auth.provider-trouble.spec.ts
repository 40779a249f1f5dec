import { describe, expect, it } from 'vitest';
import { Clock } from '../support/clock.js';
import type { Reply } from '../support/http.js';
import { call } from '../support/http.js';
import { anIssuer, type Issuer } from '../support/issuer.js';
import { expectChallenge, expectRefused } from '../support/matchers.js';
import type { InjectedFault } from '../support/fault-injection.js';
import { aService } from '../support/service.js';

const SECOND = 1_000;
const KEY_LIFETIME = 600 * SECOND;
/** The 5 s of contract §8, and time for a busy machine. */
const PATIENCE = 8 * SECOND;
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

const TROUBLE: [what: string, how: () => InjectedFault][] = [
  ['takes the question and never answers', () => 'hang'],
  ['answers a byte at a time', () => 'drip'],
  ['closes the connection', () => 'down'],
  ['answers with status 500', () => 'error'],
  ['answers with a page', () => 'html'],
  ['answers with half a document', () => 'garbage'],
  ['answers with 50 MB', () => 'huge'],
  ['answers with a byte more than 1 MiB', () => ({ padding: MEBIBYTE + 1 })],
  ['redirects to another origin', () => ({ redirect: elsewhere.jwksUrl })],
  ['redirects to itself', () => ({ redirect: troubled.jwksUrl })],
  ['redirects to no URL', () => ({ redirect: 'http://[' })],
];

/** Of the provider in trouble; nobody else was asked meanwhile. */
async function expectRecovery(): Promise<void> {
  expect(elsewhere.requests).toEqual([]);
  troubled.behave();
  clock.passes(MINUTE);
  expect((await ask(troubled.sign())).status).toBe(200);
}

describe('a provider whose key document', () => {
  it.each(TROUBLE)('%s is waited for no longer than 5 s, and the others serve on', async (_what, how) => {
    clock.passes(KEY_LIFETIME);
    troubled.injectFault('jwks', how());
    const [token, otherToken] = [troubled.sign(), healthy.sign()];
    const startedAt = Date.now();
    const [reply, other, missing, ready] = await Promise.all([
      ask(token),
      ask(otherToken),
      service.get('/v1/me'),
      call(`${service.internalOrigin}/readiness`),
    ]);
    expectUnavailable(reply);
    expect(Date.now() - startedAt).toBeLessThan(PATIENCE);
    expect({ other: other.status, ready: ready.status }).toEqual({ other: 200, ready: 200 });
    expectChallenge(missing);
    await expectRecovery();
  });

  it.each<[what: string, how: () => InjectedFault]>([
    ['has exactly 1 MiB', () => ({ padding: MEBIBYTE })],
    ['has moved within the origin', () => ({ redirect: `${troubled.url}/moved/jwks` })],
  ])('%s is read', async (_what, how) => {
    clock.passes(KEY_LIFETIME);
    troubled.injectFault('jwks', how());
    expect((await ask(troubled.sign())).status).toBe(200);
    troubled.behave();
  });
});

describe('a provider whose discovery document', () => {
  it.each<[what: string, how: () => InjectedFault]>([
    ['never comes', () => 'hang'],
    ['is not there', () => 'error'],
    ['is a page', () => 'html'],
    ['is 50 MB long', () => 'huge'],
    ['is elsewhere', () => ({ redirect: `${elsewhere.url}/.well-known/openid-configuration` })],
    ['speaks for another issuer', () => 'wrong-issuer'],
    ['speaks for the issuer with a slash', () => document({ issuer: `${troubled.iss}/` })],
    ['names no issuer', () => document({ issuer: undefined })],
    ['names no key document', () => document({ jwks_uri: undefined })],
    ['names something else than a URL', () => document({ jwks_uri: 7 })],
    ['names a file', () => document({ jwks_uri: 'file:///etc/passwd' })],
    ['names a relative URL', () => document({ jwks_uri: '/jwks' })],
    ['names an unencrypted URL', () => document({ jwks_uri: 'http://idp.example/jwks' })],
    ['is null', () => ({ answer: null })],
    ['is a list', () => ({ answer: [] })],
  ])('%s has no keys for now', async (_what, how) => {
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

describe('a provider that is asked about an opaque token and', () => {
  it.each(TROUBLE)('%s is waited for no longer than 5 s', async (_what, how) => {
    troubled.injectFault('introspection', how());
    const [token, otherToken, expiredToken] = [troubled.opaque(), healthy.sign(), healthy.sign({ exp: 1 })];
    const startedAt = Date.now();
    const [reply, other, expired] = await Promise.all([ask(token), ask(otherToken), ask(expiredToken)]);
    expectUnavailable(reply);
    expect(Date.now() - startedAt).toBeLessThan(PATIENCE);
    expect(other.status).toBe(200);
    // Only the provider in trouble could say something about its own tokens, and nothing about this one.
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
  ])('answers with %s has not answered', async (_what, answer) => {
    troubled.injectFault('introspection', { answer });
    expectUnavailable(await ask(troubled.opaque()));
    troubled.behave();
    clock.passes(MINUTE);
  });

  it('redirects within its origin is not followed: the form holds the token', async () => {
    troubled.injectFault('introspection', { redirect: `${troubled.url}/moved/introspect` });
    expectUnavailable(await ask(troubled.opaque()));
    troubled.behave();
    clock.passes(MINUTE);
  });

  it('answers with exactly 1 MiB is understood', async () => {
    troubled.injectFault('introspection', { padding: MEBIBYTE });
    expect((await ask(troubled.opaque())).status).toBe(200);
    troubled.behave();
  });
});
