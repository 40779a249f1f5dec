import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Clock } from '../support/clock.js';
import { anIssuer, type Issuer } from '../support/issuer.js';
import { expectChallenge, expectRefused } from '../support/matchers.js';
import { keepSecret } from '../support/secrets.js';
import { alsoWithMappedClaims } from '../support/mapped-replica.js';
import { aService, type ServiceUnderTest } from '../support/service.js';

type Claims = Record<string, unknown>;

const client = { id: 'registry & co', secret: 'söme:secret+with/odd=characters %' };
const SECOND = 1_000;
const clock = new Clock().runs();
/** Introspects opaque tokens for authenticated clients. */
const issuer = anIssuer({ client }).runs();
const service = introspectingWith(`${client.secret}\n`).runs();
const both = alsoWithMappedClaims(service);

const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;
const ask = (token: string) => service.bearing(token).get('/v1/me');
const asked = () => issuer.requestsTo('introspection');

describe('an opaque token', () => {
  it.each<[accepted: string, refused: string, () => Claims, () => Claims]>([
    ['it is active', 'it is inactive', () => ({}), () => ({ active: false })],
    ['it is active', 'active is text', () => ({}), () => ({ active: 'true' })],
    ['it is active', 'active is 1', () => ({}), () => ({ active: 1 })],
    ['it is active', 'active is a list', () => ({}), () => ({ active: [true] })],
    ['it is active', 'active is missing', () => ({}), () => ({ active: undefined })],
    [
      'aud is the registry',
      'aud is another service',
      () => ({ aud: 'registry' }),
      () => ({ aud: 'billing' }),
    ],
    ['aud is the registry', 'aud is missing', () => ({ aud: 'registry' }), () => ({ aud: undefined })],
    [
      'aud is the registry',
      'aud only has the same prefix',
      () => ({ aud: 'registry' }),
      () => ({ aud: 'registry2' }),
    ],
    [
      'aud contains the registry',
      'aud contains only others',
      () => ({ aud: ['a', 'registry'] }),
      () => ({ aud: ['a', 'b'] }),
    ],
    ['aud contains the registry', 'aud is empty', () => ({ aud: ['registry'] }), () => ({ aud: [] })],
    ['exp is missing', 'exp is in the past', () => ({ exp: undefined }), () => ({ exp: inSeconds(-60) })],
    [
      'exp is in the future',
      'exp was a second ago',
      () => ({ exp: inSeconds(60) }),
      () => ({ exp: inSeconds(-1) }),
    ],
    ['exp is in the future', 'exp is text', () => ({ exp: inSeconds(60) }), () => ({ exp: 'tomorrow' })],
    [
      'iss matches',
      'iss is another',
      () => ({ iss: issuer.iss }),
      () => ({ iss: 'https://idp.evil.example' }),
    ],
    [
      'iss is missing',
      'iss has a trailing slash',
      () => ({ iss: undefined }),
      () => ({ iss: `${issuer.iss}/` }),
    ],
  ])('is accepted when %s; when %s it is refused', async (...[, , accepted, refused]) => {
    const askBoth = (token: string) => both.bearing(token).get('/v1/me');
    const { status, json } = await askBoth(issuer.opaque(accepted()));
    expect({ status, json }).toMatchObject({ status: 200, json: { subject: 'somebody' } });
    expectChallenge(await askBoth(issuer.opaque(refused())), { error: 'invalid_token' });
  });

  it('is refused when the provider does not know it', async () => {
    expectChallenge(await ask('2YotnFZFEjr1zCsicMWpAA'), { error: 'invalid_token' });
  });

  it.each(['a.b.c', 'a.b.c.d.e', 'v2.local.x-y_z~+/==', 'x'.repeat(4000)])(
    'of any shape is accepted when active, such as %.20s',
    async (shape) => {
      issuer.knows(shape, { active: true, ...issuer.claims() });
      expect((await ask(shape)).status).toBe(200);
    },
  );

  it('is sent form-encoded with client authentication', async () => {
    const token = issuer.opaque();
    expect((await ask(token)).status).toBe(200);
    const { method, body, authorization } = asked().at(-1) ?? {};
    expect({ method, token: new URLSearchParams(body).get('token') }).toEqual({ method: 'POST', token });
    expect(authorization).toMatch(/^Basic [A-Za-z0-9+/]+=*$/);
  });
});

describe('a cached introspection response', () => {
  it('expires after a minute: a revoked token is refused then', async () => {
    const token = issuer.opaque();
    const before = asked().length;
    for (let again = 0; again < 5; again++) expect((await ask(token)).status).toBe(200);
    expect(asked().length).toBe(before + 1);
    issuer.knows(token, { active: false });
    clock.passes(60_000);
    expectChallenge(await ask(token), { error: 'invalid_token' });
    expect(asked().length).toBe(before + 2);
  });

  it('expires after a minute even when timers are late', async () => {
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

  it('expires with the exp of the token', async () => {
    const token = issuer.opaque({ exp: inSeconds(30) });
    expect((await ask(token)).status).toBe(200);
    clock.passes(30_000);
    expectChallenge(await ask(token), { error: 'invalid_token' });
  });

  it('is not used for a similar token', async () => {
    const token = issuer.opaque();
    expect((await ask(token)).status).toBe(200);
    expectChallenge(await ask(`${token}x`), { error: 'invalid_token' });
    expectChallenge(await ask(token.toUpperCase()), { error: 'invalid_token' });
  });
});

describe('introspection of a JWT', () => {
  const stranger = anIssuer();

  it('decides if no key verifies the JWT', async () => {
    const token = stranger.sign(issuer.claims());
    issuer.knows(token, { active: true, ...issuer.claims() });
    expect((await ask(token)).status).toBe(200);
    expectChallenge(await ask(stranger.sign(issuer.claims({ sub: 'nobody' }))), { error: 'invalid_token' });
  });

  it('does not lift the refusal of a wrong `typ`', async () => {
    for (const [typ, status] of [
      ['at+jwt', 200],
      ['logout+jwt', 401],
    ] as const) {
      const token = stranger.sign(issuer.claims({ jti: typ }), { typ });
      issuer.knows(token, { active: true, ...issuer.claims() });
      expect((await ask(token)).status).toBe(status);
    }
  });

  it('is skipped if a key verifies the JWT', async () => {
    const before = asked().length;
    expect((await ask(issuer.sign())).status).toBe(200);
    expect(asked().length).toBe(before);
  });
});

describe('introspection with a wrong client secret', () => {
  const wrong = introspectingWith('the secret of somebody else').runs();

  it('returns 503 provider_unavailable', async () => {
    const token = issuer.opaque();
    expect((await ask(token)).status).toBe(200);
    const reply = await wrong.bearing(token).get('/v1/me');
    expectRefused(reply, 503, 'provider_unavailable');
    expect(reply.headers['retry-after']).toMatch(/^\d+$/);
  });
});

describe('introspection with authTokenFile', () => {
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

  it('sends the token in the file as bearer token', async () => {
    expect((await service.bearing(bearing.opaque()).get('/v1/me')).status).toBe(200);
    expect(bearing.requests.map(({ authorization }) => authorization)).toEqual([`Bearer ${own}`]);
  });
});

describe('several providers with introspection', () => {
  const [first, second, mute, named] = [
    anIssuer().runs(),
    anIssuer().runs(),
    anIssuer().runs(),
    anIssuer().runs(),
  ];
  const all = [first, second, mute, named];
  const service = aService({
    mode: 'auth-only',
    providers: () =>
      all.map((issuer, position) => ({
        name: `provider-${position}`,
        issuerUrl: issuer.iss,
        audience: 'registry',
        ...(issuer === mute ? {} : { introspectionUrl: issuer.introspectionUrl }),
        ...(issuer === named ? { tokenPrefix: 'named_' } : {}),
        allowPrivateIP: true,
      })),
  }).runs();
  const ask = (token: string) => service.bearing(token).get('/v1/me');
  const subjectOf = async (token: string) => {
    const { status, json } = await ask(token);
    return status === 200 ? (json as { subject: string }).subject : status;
  };
  const introspections = (about: string) =>
    all.map(
      (issuer) =>
        issuer.requests.filter(({ body }) => new URLSearchParams(body).get('token') === about).length,
    );
  /** A token that the provider accepts, without `iss` as if it could be anybody's. */
  const opaque = (issuer: Issuer, sub: string, token = `opaque-${randomUUID()}`) => {
    issuer.knows(token, { active: true, ...issuer.claims({ sub, iss: undefined }) });
    return token;
  };
  const repair = (issuer: Issuer) => {
    issuer.behave();
    clock.passes(SECOND);
  };

  it('accept a token that one of them accepts, and refuse it once all of them have responded', async () => {
    for (const issuer of [first, second]) expect(await subjectOf(opaque(issuer, 'ann'))).toBe('ann');
    expectChallenge(await ask('known-to-nobody'), { error: 'invalid_token' });
    second.injectFault('introspection', 'down');
    expect(await subjectOf(opaque(first, 'ann'))).toBe('ann');
    expectRefused(await ask('known-to-nobody-either'), 503, 'provider_unavailable');
    repair(second);
    expectChallenge(await ask('known-to-nobody-either'), { error: 'invalid_token' });
  });

  it('are trusted in the order of the file, however fast they respond', async () => {
    let release: () => void = () => undefined;
    first.injectFault('introspection', { after: new Promise((resolve) => (release = resolve)) });
    const token = opaque(first, 'alice');
    opaque(second, 'mallory', token);
    const subject = subjectOf(token);
    await expect.poll(() => introspections(token)).toEqual([1, 1, 0, 0]);
    release();
    expect(await subject).toBe('alice');
    first.behave();
  });

  it('are trusted only if every earlier one responds', async () => {
    first.injectFault('introspection', 'down');
    const token = opaque(first, 'alice');
    opaque(second, 'mallory', token);
    expect(await subjectOf(token)).toBe(503);
    repair(first);
    expect(await subjectOf(token)).toBe('alice');
  });

  it('are not asked about a token that another one has accepted, until that one refuses it', async () => {
    const token = opaque(second, 'ann');
    expect(await subjectOf(token)).toBe('ann');
    expect(introspections(token)).toEqual([1, 1, 0, 0]);
    clock.passes(60 * SECOND);
    first.injectFault('introspection', 'down');
    expect(await subjectOf(token)).toBe('ann');
    first.behave();
    expect(introspections(token)).toEqual([1, 2, 0, 0]);
    second.knows(token, { active: false });
    clock.passes(60 * SECOND);
    expect(await subjectOf(token)).toBe(401);
    expect(introspections(token)).toEqual([2, 3, 0, 0]);
  });

  it('get their tokens back when a provider that accepted everything is repaired', async () => {
    const token = `opaque-${randomUUID()}`;
    first.knows(token, { active: false });
    opaque(second, 'mallory', token);
    expect(await subjectOf(token)).toBe('mallory');
    opaque(first, 'alice', token);
    second.knows(token, { active: false });
    clock.passes(60 * SECOND);
    expect(await subjectOf(token)).toBe('alice');
  });

  it('receive only tokens with their own tokenPrefix, or with no provider’s prefix', async () => {
    const token = opaque(named, 'nora', `named_${randomUUID()}`);
    opaque(first, 'mallory', token);
    for (const issuer of [first, second]) issuer.injectFault('introspection', 'down');
    expect(await subjectOf(token)).toBe('nora');
    for (const issuer of [first, second]) repair(issuer);
    expect(introspections(token)).toEqual([0, 0, 0, 1]);
    const unknown = `named_${randomUUID()}`;
    expect(await subjectOf(unknown)).toBe(401);
    expect(introspections(unknown)).toEqual([0, 0, 0, 1]);
    const other = opaque(named, 'nora', `other_named_${randomUUID()}`);
    expect(await subjectOf(other)).toBe(401);
    expect(introspections(other)).toEqual([1, 1, 0, 0]);
    const jwt = anIssuer().sign(named.claims());
    named.knows(jwt, { active: true, ...named.claims({ sub: 'nora' }) });
    expect(await subjectOf(jwt)).toBe('nora');
  });
});

describe('an introspection response', () => {
  const active = (more: string) => ({
    text: `${JSON.stringify({ active: true, ...issuer.claims() }).slice(0, -1)}${more}}`,
  });
  afterEach(() => {
    issuer.behave();
    clock.passes(SECOND);
  });

  it.each([
    ['active, false first', () => ({ text: active('').text.replace('{', '{"active":false,') })],
    ['active, false last', () => active(',"active":false')],
    ['active, once escaped', () => active(',"\\u0061ctive":true')],
    ['aud', () => active(',"aud":"registry"')],
    ['sub', () => active(',"sub":"mallory"')],
    ['a claim that nothing reads', () => active(',"odd":1,"odd":2')],
  ])('with a repeated member is refused: %s', async (_what, fault) => {
    issuer.injectFault('introspection', fault());
    expectRefused(await ask(`opaque-${randomUUID()}`), 503, 'provider_unavailable');
  });

  it('may repeat a name at different levels', async () => {
    issuer.injectFault('introspection', active(',"nested":{"active":false,"sub":"x","sub":"y"}'));
    expect((await ask(`opaque-${randomUUID()}`)).status).toBe(200);
  });

  it('has at most 64 KiB', async () => {
    issuer.injectFault('introspection', { padding: 64 * 1024 });
    const token = issuer.opaque();
    expect((await ask(token)).status).toBe(200);
    issuer.injectFault('introspection', { padding: 64 * 1024 + 1 });
    expectRefused(await ask(issuer.opaque()), 503, 'provider_unavailable');
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
