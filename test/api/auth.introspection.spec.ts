import { afterEach, describe, expect, it, vi } from 'vitest';
import { Clock } from '../support/clock.js';
import { anIssuer } from '../support/issuer.js';
import { expectChallenge, expectRefused } from '../support/matchers.js';
import { keepSecret } from '../support/secrets.js';
import { aService, type ServiceUnderTest } from '../support/service.js';

type Claims = Record<string, unknown>;

const client = { id: 'registry & co', secret: 'söme:secret+with/odd=characters %' };
const SECOND = 1_000;
const clock = new Clock().runs();
/** Judges opaque tokens, for clients that prove who they are. */
const issuer = anIssuer({ client }).runs();
const service = introspectingWith(`${client.secret}\n`).runs();

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
    const { status, json } = await ask(issuer.opaque(accepted()));
    expect({ status, json }).toMatchObject({ status: 200, json: { subject: 'somebody' } });
    expectChallenge(await ask(issuer.opaque(refused())), { error: 'invalid_token' });
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

describe('a provider that fails when it is asked about a token', () => {
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
  const asked = () => troubled.requestsTo('introspection').length;
  const recover = () => {
    troubled.behave();
    clock.passes(SECOND);
  };
  afterEach(recover);

  it.each(['error', 'down', 'garbage', { answer: [] }] as const)(
    'is left alone for a second, whatever the tokens: %j',
    async (how) => {
      const known = troubled.opaque();
      expect((await ask(known)).status).toBe(200);
      troubled.injectFault('introspection', how);
      const before = asked();
      for (let again = 0; again < 5; again += 1)
        expectRefused(await ask(troubled.opaque()), 503, 'provider_unavailable');
      expect(asked()).toBe(before + 1);
      expect((await ask(known)).status).toBe(200);
      recover();
      expect((await ask(troubled.opaque())).status).toBe(200);
    },
  );

  it('is left alone when it asks for fewer requests', async () => {
    const token = troubled.opaque();
    troubled.rejects(token, 429);
    expectRefused(await ask(token), 503, 'provider_unavailable');
    const before = asked();
    expectRefused(await ask(troubled.opaque()), 503, 'provider_unavailable');
    expect(asked()).toBe(before);
    recover();
    expect((await ask(troubled.opaque())).status).toBe(200);
  });

  it.each([400, 401, 403, 404, 413, 422])(
    'with status %i is asked about other tokens at once: it may not like this one',
    async (status) => {
      const token = troubled.opaque();
      troubled.rejects(token, status);
      expectRefused(await ask(token), 503, 'provider_unavailable');
      expect((await ask(troubled.opaque())).status).toBe(200);
    },
  );
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
