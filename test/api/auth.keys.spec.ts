import { describe, expect, it } from 'vitest';
import { Clock } from '../support/clock.js';
import { anIssuer } from '../support/issuer.js';
import { alsoWithMappedClaims } from '../support/mapped-replica.js';
import { expectChallenge, expectRefused } from '../support/matchers.js';
import { aService, type ServiceUnderTest } from '../support/service.js';

const SECOND = 1_000;
/** Documented lifetime of a cached key. */
const KEY_LIFETIME = 600 * SECOND;
/** reference/authentication: at most one refetch for an unknown `kid` in this time. */
const COOLDOWN = 30 * SECOND;

const clock = new Clock().runs();

const aProtectedService = () => aService({ mode: 'auth-only' }).runs();
const ask = (service: ServiceUnderTest, token: string) => service.bearing(token).get('/v1/me');
const statusOf = async (service: ServiceUnderTest, token: string) => (await ask(service, token)).status;
const fetchesOf = ({ issuer }: ServiceUnderTest) => ({
  discovery: issuer.requestsTo('discovery').length,
  jwks: issuer.requestsTo('jwks').length,
});

describe('the keys of a provider', () => {
  const service = aProtectedService();

  it('are fetched on first use, once for concurrent requests', async () => {
    expect(fetchesOf(service)).toEqual({ discovery: 0, jwks: 0 });
    expectChallenge(await service.get('/v1/me'));
    expect(fetchesOf(service)).toEqual({ discovery: 0, jwks: 0 });
    const tokens = Array.from({ length: 20 }, (_, n) => service.issuer.sign({ sub: `caller-${n}` }));
    const replies = await Promise.all(tokens.map((token) => statusOf(service, token)));
    expect(new Set(replies)).toEqual(new Set([200]));
    expect(fetchesOf(service)).toEqual({ discovery: 1, jwks: 1 });
  });
});

describe('when a provider rotates its key,', () => {
  const service = aProtectedService();
  const { issuer } = service;

  it('tokens of both keys are accepted after one refetch', async () => {
    const old = issuer.sign();
    expect(await statusOf(service, old)).toBe(200);
    issuer.rotate();
    const tokens = Array.from({ length: 50 }, (_, n) => issuer.sign({ sub: `caller-${n}` }));
    const replies = await Promise.all(tokens.map((token) => statusOf(service, token)));
    expect(new Set(replies)).toEqual(new Set([200]));
    expect(fetchesOf(service).jwks).toBe(2);
    expect(await statusOf(service, old)).toBe(200);
  });

  it('tokens of a second new key are refused until 30 s have passed', async () => {
    clock.passes(COOLDOWN);
    expect(await statusOf(service, issuer.sign({}, { kid: issuer.rotate() }))).toBe(200);
    const token = issuer.sign({}, { kid: issuer.rotate() });
    expectChallenge(await ask(service, token), { error: 'invalid_token' });
    clock.passes(COOLDOWN);
    expect(await statusOf(service, token)).toBe(200);
  });
});

describe('when a provider removes a key,', () => {
  const service = alsoWithMappedClaims(aProtectedService());
  const { issuer } = service;

  it('its tokens are refused after the next fetch, even accepted ones', async () => {
    const leaked = issuer.currentKid;
    const token = issuer.sign();
    expect(await statusOf(service, token)).toBe(200);
    issuer.rotate();
    issuer.remove(leaked);
    expect(await statusOf(service, issuer.sign())).toBe(200);
    expectChallenge(await ask(service, token), { error: 'invalid_token' });
  });

  it('its tokens are refused after the key lifetime at the latest', async () => {
    const removed = issuer.currentKid;
    const token = issuer.sign();
    expect(await statusOf(service, token)).toBe(200);
    issuer.rotate();
    issuer.remove(removed);
    clock.passes(KEY_LIFETIME);
    expectChallenge(await ask(service, token), { error: 'invalid_token' });
    expect(await statusOf(service, issuer.sign())).toBe(200);
  });

  it.each([
    ['its kid', (kid: string): string | undefined => kid],
    ['none', () => undefined],
  ])('tokens of an immediate replacement are accepted, with %s as kid', async (_what, kidOf) => {
    const kid = issuer.currentKid;
    const sign = () => issuer.sign({}, { kid: kidOf(kid) });
    for (const other of issuer.kids) if (other !== kid) issuer.remove(other);
    clock.passes(KEY_LIFETIME);
    const before = sign();
    expect(await statusOf(service, before)).toBe(200);
    issuer.remove(kid);
    issuer.key(kid);
    clock.passes(COOLDOWN);
    expect(await statusOf(service, sign())).toBe(200);
    expectChallenge(await ask(service, before), { error: 'invalid_token' });
  });

  it('its kid can be reused for another key', async () => {
    const kid = issuer.currentKid;
    const before = issuer.sign();
    expect(await statusOf(service, before)).toBe(200);
    issuer.remove(kid);
    issuer.key(kid);
    clock.passes(KEY_LIFETIME);
    expect(await statusOf(service, issuer.sign({}, { kid }))).toBe(200);
    expectChallenge(await ask(service, before), { error: 'invalid_token' });
  });
});

describe('when the keys of a provider can no longer be fetched,', () => {
  const service = aProtectedService();
  const { issuer } = service;

  it('its tokens are accepted for the key lifetime; then 503 is returned', async () => {
    expect(await statusOf(service, issuer.sign())).toBe(200);
    issuer.injectFault('jwks', 'down');
    clock.passes(KEY_LIFETIME - 10 * SECOND);
    expect(await statusOf(service, issuer.sign())).toBe(200);
    clock.passes(10 * SECOND);
    expectRefused(await ask(service, issuer.sign()), 503, 'provider_unavailable');
    issuer.behave();
    clock.passes(COOLDOWN);
    expect(await statusOf(service, issuer.sign())).toBe(200);
  });
});

describe('a flood of tokens', () => {
  const service = aProtectedService();
  const { issuer } = service;
  const attacker = anIssuer();

  const flood = async (tokens: number, make: (n: number) => string) => {
    const statuses = new Set<number>();
    for (let sent = 0; sent < tokens; sent += 50) {
      const batch = Array.from({ length: 50 }, (_, n) => statusOf(service, make(sent + n)));
      for (const status of await Promise.all(batch)) statuses.add(status);
    }
    return statuses;
  };

  it('with 100 unknown kids causes at most two fetches', async () => {
    const { privateKey: key } = attacker.key('own');
    const statuses = await flood(100, (n) =>
      attacker.raw({ header: { alg: 'ES256', kid: `unknown-${n}` }, payload: issuer.claims(), key }),
    );
    expect(statuses).toEqual(new Set([401]));
    expect(fetchesOf(service).jwks).toBeLessThanOrEqual(2);
    expect(await statusOf(service, issuer.sign())).toBe(200);
  });

  it('with a known kid and wrong signatures causes at most one fetch, as the key may be replaced', async () => {
    expect(await statusOf(service, issuer.sign())).toBe(200);
    const before = fetchesOf(service);
    const { privateKey: key } = attacker.key('own');
    const statuses = await flood(50, (n) =>
      attacker.raw({
        header: { alg: 'ES256', kid: issuer.currentKid },
        payload: issuer.claims({ sub: `${n}` }),
        key,
      }),
    );
    expect(statuses).toEqual(new Set([401]));
    expect(fetchesOf(service).jwks).toBeLessThanOrEqual(before.jwks + 1);
  });

  it('from other issuers causes no fetch', async () => {
    const before = fetchesOf(service);
    expect(await flood(50, (n) => attacker.sign({ sub: `${n}` }))).toEqual(new Set([401]));
    expect(fetchesOf(service)).toEqual(before);
  });
});

describe('a provider with a jwksUrl', () => {
  const issuer = anIssuer().runs();
  const service = aService({
    mode: 'auth-only',
    providers: () => [
      {
        name: 'corporate',
        issuerUrl: 'https://idp.example.com',
        jwksUrl: issuer.jwksUrl,
        audience: 'registry',
        allowPrivateIP: true,
      },
    ],
  }).runs();

  it('needs no discovery', async () => {
    expect(await statusOf(service, issuer.sign({ iss: 'https://idp.example.com' }))).toBe(200);
    expectChallenge(await ask(service, issuer.sign({ iss: issuer.iss })), { error: 'invalid_token' });
    expect(issuer.requests.map(({ endpoint, method }) => `${method} ${endpoint}`)).toEqual(['GET jwks']);
  });
});
