import { afterEach, describe, expect, it, vi } from 'vitest';
import { Clock } from '../support/clock.js';
import { anIssuer } from '../support/issuer.js';
import { expectChallenge, expectRefused } from '../support/matchers.js';
import { keepSecret } from '../support/secrets.js';
import { alsoWithMappedClaims } from '../support/mapped-replica.js';
import { aService, type ServiceUnderTest } from '../support/service.js';

type Claims = Record<string, unknown>;

const client = { id: 'registry & co', secret: 'söme:secret+with/odd=characters %' };
const SECOND = 1_000;
const clock = new Clock().runs();
/** Judges opaque tokens, for clients that prove who they are. */
const issuer = anIssuer({ client }).runs();
const service = introspectingWith(`${client.secret}\n`).runs();
const both = alsoWithMappedClaims(service);

const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;
const ask = (token: string) => service.bearing(token).get('/v1/me');
const asked = () => issuer.requestsTo('introspection');

describe('an opaque token', () => {
  it.each<[accepted: string, () => Claims, refused: string, () => Claims]>([
    ['active', () => ({}), 'inactive', () => ({ active: false })],
    ['active', () => ({}), 'active in words', () => ({ active: 'true' })],
    ['active', () => ({}), 'active with 1', () => ({ active: 1 })],
    ['active', () => ({}), 'active in a list', () => ({ active: [true] })],
    ['active', () => ({}), 'neither active nor inactive', () => ({ active: undefined })],
    ['for the registry', () => ({ aud: 'registry' }), 'for somebody else', () => ({ aud: 'billing' })],
    ['for the registry', () => ({ aud: 'registry' }), 'for nobody', () => ({ aud: undefined })],
    ['for the registry', () => ({ aud: 'registry' }), 'for what begins alike', () => ({ aud: 'registry2' })],
    ['for several', () => ({ aud: ['a', 'registry'] }), 'for several others', () => ({ aud: ['a', 'b'] })],
    ['for several', () => ({ aud: ['registry'] }), 'for none', () => ({ aud: [] })],
    ['not to expire', () => ({ exp: undefined }), 'expired', () => ({ exp: inSeconds(-60) })],
    ['to expire', () => ({ exp: inSeconds(60) }), 'expired just now', () => ({ exp: inSeconds(-1) })],
    ['to expire', () => ({ exp: inSeconds(60) }), 'to expire in words', () => ({ exp: 'tomorrow' })],
    ['of the issuer', () => ({ iss: issuer.iss }), 'of another', () => ({ iss: 'https://idp.evil.example' })],
    [
      'of nobody',
      () => ({ iss: undefined }),
      'of the issuer with a slash',
      () => ({ iss: `${issuer.iss}/` }),
    ],
  ])('said to be %s is accepted; %s (%s) is refused', async (...[, accepted, , refused]) => {
    const askBoth = (token: string) => both.bearing(token).get('/v1/me');
    const { status, json } = await askBoth(issuer.opaque(accepted()));
    expect({ status, json }).toMatchObject({ status: 200, json: { subject: 'somebody' } });
    expectChallenge(await askBoth(issuer.opaque(refused())), { error: 'invalid_token' });
  });

  it('that the provider has never seen is refused', async () => {
    expectChallenge(await ask('2YotnFZFEjr1zCsicMWpAA'), { error: 'invalid_token' });
  });

  it.each(['a.b.c', 'a.b.c.d.e', 'v2.local.x-y_z~+/==', 'x'.repeat(4000)])(
    'of any shape is accepted when it is active, such as %.20s',
    async (shape) => {
      issuer.knows(shape, { active: true, ...issuer.claims() });
      expect((await ask(shape)).status).toBe(200);
    },
  );

  it('is sent in a form, with the proof of who asks', async () => {
    const token = issuer.opaque();
    expect((await ask(token)).status).toBe(200);
    const { method, body, authorization } = asked().at(-1) ?? {};
    expect({ method, token: new URLSearchParams(body).get('token') }).toEqual({ method: 'POST', token });
    expect(authorization).toMatch(/^Basic [A-Za-z0-9+/]+=*$/);
  });
});

describe('what a provider said about a token', () => {
  it('is remembered for a minute at most: a revoked token ends then', async () => {
    const token = issuer.opaque();
    const before = asked().length;
    for (let again = 0; again < 5; again++) expect((await ask(token)).status).toBe(200);
    expect(asked().length).toBe(before + 1);
    issuer.knows(token, { active: false });
    clock.passes(60_000);
    expectChallenge(await ask(token), { error: 'invalid_token' });
    expect(asked().length).toBe(before + 2);
  });

  it('is forgotten after that minute even while every timer is late', async () => {
    const token = issuer.opaque();
    expect((await ask(token)).status).toBe(200);
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    try {
      expect((await ask(token)).status).toBe(200);
      issuer.knows(token, { active: false });
      clock.passes(60_000);
      expectChallenge(await ask(token), { error: 'invalid_token' });
    } finally {
      vi.useRealTimers();
    }
  });

  it('is not remembered past the expiry of the token', async () => {
    const token = issuer.opaque({ exp: inSeconds(30) });
    expect((await ask(token)).status).toBe(200);
    clock.passes(30_000);
    expectChallenge(await ask(token), { error: 'invalid_token' });
  });

  it('is not remembered for another token', async () => {
    const token = issuer.opaque();
    expect((await ask(token)).status).toBe(200);
    expectChallenge(await ask(`${token}x`), { error: 'invalid_token' });
    expectChallenge(await ask(token.toUpperCase()), { error: 'invalid_token' });
  });
});

describe('a JWT that no key vouches for', () => {
  const stranger = anIssuer();

  it('is accepted when its provider says that it is active, and refused when it does not', async () => {
    const token = stranger.sign(issuer.claims());
    issuer.knows(token, { active: true, ...issuer.claims() });
    expect((await ask(token)).status).toBe(200);
    expectChallenge(await ask(stranger.sign(issuer.claims({ sub: 'nobody' }))), { error: 'invalid_token' });
  });

  it('is refused by its type, whatever its provider says about it', async () => {
    for (const [typ, status] of [
      ['at+jwt', 200],
      ['logout+jwt', 401],
    ] as const) {
      const token = stranger.sign(issuer.claims({ jti: typ }), { typ });
      issuer.knows(token, { active: true, ...issuer.claims() });
      expect((await ask(token)).status).toBe(status);
    }
  });

  it('is not asked about when one of the keys does vouch for it', async () => {
    const before = asked().length;
    expect((await ask(issuer.sign())).status).toBe(200);
    expect(asked().length).toBe(before);
  });
});

describe('a service that can not prove who it is', () => {
  const wrong = introspectingWith('the secret of somebody else').runs();

  it('says so with 503, since the token may be good', async () => {
    const token = issuer.opaque();
    expect((await ask(token)).status).toBe(200);
    const reply = await wrong.bearing(token).get('/v1/me');
    expectRefused(reply, 503, 'provider_unavailable');
    expect(reply.headers['retry-after']).toMatch(/^\d+$/);
  });
});

describe('a provider that knows the service by a token of its own', () => {
  const own = keepSecret('the-token-of-the-service-itself');
  const bearing = anIssuer({ bearer: () => own }).runs();
  const service = aService({
    mode: 'auth-only',
    providers: (service) => [
      {
        name: 'opaque',
        issuerUrl: bearing.iss,
        audience: 'registry',
        introspectionUrl: bearing.introspectionUrl,
        authTokenFile: service.write('token', own),
        allowPrivateIP: true,
      },
    ],
  }).runs();

  it('is asked with the token of the file', async () => {
    expect((await service.bearing(bearing.opaque()).get('/v1/me')).status).toBe(200);
    expect(bearing.requests.map(({ authorization }) => authorization)).toEqual([`Bearer ${own}`]);
  });
});

describe('several providers that can be asked', () => {
  const [first, second] = [anIssuer().runs(), anIssuer().runs()];
  const service = aService({
    mode: 'auth-only',
    providers: () =>
      [first, second].map((issuer, position) => ({
        name: `provider-${position}`,
        issuerUrl: issuer.iss,
        audience: 'registry',
        introspectionUrl: issuer.introspectionUrl,
        allowPrivateIP: true,
      })),
  }).runs();
  const ask = (token: string) => service.bearing(token).get('/v1/me');

  it('vouch for a token if one of them does, also while another is down', async () => {
    for (const issuer of [first, second]) expect((await ask(issuer.opaque())).status).toBe(200);
    first.injectFault('introspection', 'down');
    expect((await ask(second.opaque())).status).toBe(200);
    first.behave();
    clock.passes(SECOND);
  });

  it('refuse a token together only when all of them could be asked', async () => {
    expectChallenge(await ask('known-to-nobody'), { error: 'invalid_token' });
    second.injectFault('introspection', 'down');
    expectRefused(await ask('known-to-nobody-either'), 503, 'provider_unavailable');
    second.behave();
    clock.passes(SECOND);
    expectChallenge(await ask('known-to-nobody-either'), { error: 'invalid_token' });
  });
});

describe('an opaque token, where several providers could have issued it,', () => {
  const [first, second, mute] = [anIssuer().runs(), anIssuer().runs(), anIssuer().runs()];
  const service = aService({
    mode: 'auth-only',
    providers: () =>
      [first, second, mute].map((issuer, position) => ({
        name: `provider-${position}`,
        issuerUrl: issuer.iss,
        audience: 'registry',
        ...(issuer === mute ? {} : { introspectionUrl: issuer.introspectionUrl }),
        allowPrivateIP: true,
      })),
  }).runs();
  const ask = (token: string) => service.bearing(token).get('/v1/me');
  const questions = (about: string) =>
    [first, second, mute].map(
      (issuer) =>
        issuer.requests.filter(({ body }) => new URLSearchParams(body).get('token') === about).length,
    );
  afterEach(() => first.behave());

  it('is shown to all that can be asked, and later to the one alone that has vouched for it', async () => {
    const token = second.opaque();
    expect((await ask(token)).status).toBe(200);
    expect(questions(token)).toEqual([1, 1, 0]);
    clock.passes(60 * SECOND);
    expect((await ask(token)).status).toBe(200);
    expect(questions(token)).toEqual([1, 2, 0]);
    second.knows(token, { active: false });
    clock.passes(60 * SECOND);
    expectChallenge(await ask(token), { error: 'invalid_token' });
    expect(questions(token)).toEqual([1, 3, 0]);
  });

  it('is accepted as soon as one accepts it, while another does not answer', async () => {
    first.injectFault('introspection', 'hang');
    const startedAt = performance.now();
    expect((await ask(second.opaque())).status).toBe(200);
    // A question is given up after 5 s.
    expect(performance.now() - startedAt).toBeLessThan(4 * SECOND);
    expectRefused(await ask('known-to-nobody'), 503, 'provider_unavailable');
  });
});
function introspectingWith(secret: string): ServiceUnderTest {
  return aService({
    mode: 'auth-only',
    providers: (service) => [
      {
        name: 'opaque',
        issuerUrl: issuer.iss,
        audience: 'registry',
        introspectionUrl: issuer.introspectionUrl,
        clientId: client.id,
        clientSecretFile: service.write('client-secret', secret),
        allowPrivateIP: true,
      },
    ],
  });
}
