import { describe, expect, it } from 'vitest';
import { Clock } from '../support/clock.js';
import { anIssuer, type Issuer } from '../support/issuer.js';
import { expectChallenge, expectRefused } from '../support/matchers.js';
import { aService } from '../support/service.js';

type Claims = Record<string, unknown>;

const clock = new Clock().runs().standsStill();
const issuer = anIssuer().runs();
const other = anIssuer().runs();
const provider = ({ iss, introspectionUrl }: Issuer, name: string, more: Claims = {}) => ({
  name,
  issuerUrl: iss,
  audience: 'registry',
  introspectionUrl,
  allowPrivateIP: true,
  ...more,
});
const service = aService({
  mode: 'full',
  providers: () => [
    provider(issuer, 'always', { introspection: 'always' }),
    provider(other, 'fallback', { clockTolerance: '30s' }),
  ],
}).runs();
const me = (token: string) => service.bearing(token).get('/v1/me?claims=true');
const asked = (from = issuer) => from.requestsTo('introspection').length;
const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;

/** A JWT with these claims, and the introspection response about it. */
function introspected(claims: Claims, answer: Claims, from = issuer): string {
  const token = from.sign({ jti: crypto.randomUUID(), ...claims });
  from.knows(token, { active: true, ...from.claims(), ...answer });
  return token;
}

describe('introspection: always', () => {
  it('counts only the claims of the response', async () => {
    const token = introspected({ role: 'super-admin' }, { role: 'writer', team: 'red' });
    const { status, json } = await me(token);
    expect({ status, json }).toMatchObject({
      status: 200,
      json: { subject: 'somebody', roles: ['manageEntries'], claims: { role: 'writer', team: 'red' } },
    });
  });

  it('accepts a lightweight JWT, whose audience and subject are only in the response', async () => {
    const claims = { aud: undefined, sub: undefined, azp: 'cli' };
    const { status, json } = await me(introspected(claims, { sub: 'ann', azp: 'cli' }));
    expect({ status, json }).toMatchObject({ status: 200, json: { subject: 'ann' } });
    expectChallenge(await me(introspected(claims, { aud: 'account' })), { error: 'invalid_token' });
    expectChallenge(await me(introspected({}, { aud: undefined })), { error: 'invalid_token' });
  });

  it('refuses a JWT whose response has another subject', async () => {
    expect((await me(introspected({ sub: 'ann' }, { sub: 'ann' }))).status).toBe(200);
    expectRefused(await me(introspected({ sub: 'ann' }, { sub: 'ben' })), 401, 'token_invalid');
    expectRefused(
      await me(introspected({ sub: 'ann' }, { sub: undefined, client_id: 'cli' })),
      401,
      'token_invalid',
    );
  });

  it('identifies the caller by the subject in the response', async () => {
    const none = { sub: undefined, client_id: '' };
    expectRefused(await me(introspected({ sub: 'ann' }, none)), 401, 'no_subject');
    expect((await me(introspected({ sub: undefined }, { ...none, azp: 'cli' }))).status).toBe(200);
  });

  it('does not ask about an expired JWT or another issuer', async () => {
    const before = [asked(), asked(other)];
    expectChallenge(await me(introspected({ exp: inSeconds(-1) }, {})), { error: 'invalid_token' });
    const foreign = other.sign({ aud: 'billing' });
    issuer.knows(foreign, { active: true, ...issuer.claims() });
    expectChallenge(await me(foreign), { error: 'invalid_token' });
    expect([asked() - (before[0] ?? 0), asked(other) - (before[1] ?? 0)]).toEqual([0, 1]);
  });

  it('asks once a minute, so a withdrawn token is refused a minute later', async () => {
    const token = introspected({}, {});
    const before = asked();
    for (let again = 0; again < 3; again++) expect((await me(token)).status).toBe(200);
    expect(asked()).toBe(before + 1);
    issuer.knows(token, { active: false });
    clock.passes(59_000);
    expect((await me(token)).status).toBe(200);
    clock.passes(1_000);
    expectRefused(await me(token), 401, 'token_invalid');
  });

  it('returns 503 when the provider cannot be asked', async () => {
    const [known, fresh] = [introspected({}, {}), introspected({}, {})];
    expect((await me(known)).status).toBe(200);
    issuer.injectFault('introspection', 'down');
    expect((await me(known)).status).toBe(200);
    const reply = await me(fresh);
    expectRefused(reply, 503, 'provider_unavailable');
    expect(reply.headers['retry-after']).toMatch(/^\d+$/);
    issuer.behave();
    clock.passes(1_000);
    expect((await me(fresh)).status).toBe(200);
  });

  it('is not used for a JWT that the keys of a provider with introspection: fallback verify', async () => {
    const before = asked(other);
    expect((await me(other.sign())).status).toBe(200);
    expect(asked(other)).toBe(before);
  });
});

describe('introspection: fallback', () => {
  it('also accepts a lightweight JWT, by its response', async () => {
    const claims = { aud: undefined, sub: undefined };
    const { status, json } = await me(introspected(claims, { sub: 'ann' }, other));
    expect({ status, json }).toMatchObject({ status: 200, json: { subject: 'ann' } });
    expectChallenge(await me(introspected(claims, { aud: 'account' }, other)), { error: 'invalid_token' });
  });
});

describe.each([
  ['a JWT', (claims: Claims) => other.sign(claims)],
  ['an introspected JWT', (claims: Claims) => introspected({ typ: claims['typ'] }, claims)],
  ['an opaque token', (claims: Claims) => other.opaque(claims)],
])('%s', (_what, token) => {
  it('that is an ID token is refused even when its audience fits', async () => {
    for (const claims of [{ typ: 'ID' }, { at_hash: 'MTIzNDU2Nzg5MDEyMzQ1Ng' }]) {
      expectRefused(await me(token(claims)), 401, 'token_invalid');
    }
    for (const claims of [{ typ: 'Bearer' }, { nonce: 'n' }])
      expect((await me(token(claims))).status).toBe(200);
  });
});

it('an ID token is refused, unless introspection says token_use: access_token', async () => {
  const token = introspected({ aud: 'cli', typ: 'ID' }, {}, other);
  expectRefused(await me(token), 401, 'token_invalid');
  expect((await me(introspected({ aud: 'cli', typ: 'Bearer' }, {}, other))).status).toBe(200);
});

describe.each([
  ['a JWT', (claims: Claims) => other.sign(claims)],
  ['an opaque token', (claims: Claims) => other.opaque(claims)],
])('%s', (_what, token) => {
  it.each<[Claims, string]>([
    [{ client_id: 'cli' }, 'cli'],
    [{ azp: 'cli' }, 'cli'],
    [{ appid: 'cli' }, 'cli'],
    [{ cid: 'cli' }, 'cli'],
    [{ sub: '', azp: 'cli' }, 'cli'],
  ])('without sub but with %j is accepted', async (claims, subject) => {
    const { status, json } = await me(token({ sub: undefined, ...claims }));
    expect({ status, json }).toMatchObject({ status: 200, json: { subject } });
  });

  it.each<Claims>([
    {},
    { sub: '' },
    { client_id: '', azp: '', appid: '', cid: '' },
    { preferred_username: 'ann' },
  ])('with %j identifies no caller: 401 no_subject', async (claims) => {
    const reply = await me(token({ sub: undefined, ...claims }));
    expectRefused(reply, 401, 'no_subject');
    expect(reply.headers['www-authenticate']).toContain('error="invalid_token"');
  });
});

describe('clockTolerance', () => {
  it('accepts JWTs and introspection responses for that long after exp, cached or not', async () => {
    for (const make of [(claims: Claims) => other.sign(claims), (claims: Claims) => other.opaque(claims)]) {
      const token = make({ exp: inSeconds(5), jti: crypto.randomUUID() });
      expect((await me(token)).status).toBe(200);
      clock.passes(20_000);
      expect((await me(token)).status).toBe(200);
      expect((await me(make({ exp: inSeconds(-20) }))).status).toBe(200);
      clock.passes(20_000);
      expectChallenge(await me(token), { error: 'invalid_token' });
      expectChallenge(await me(make({ exp: inSeconds(-40) })), { error: 'invalid_token' });
    }
  });

  it('accepts tokens that long before nbf', async () => {
    expect((await me(other.sign({ nbf: inSeconds(20) }))).status).toBe(200);
    expectChallenge(await me(other.sign({ nbf: inSeconds(40) })), { error: 'invalid_token' });
    expect((await me(other.opaque({ nbf: inSeconds(20) }))).status).toBe(200);
    expectChallenge(await me(other.opaque({ nbf: inSeconds(40) })), { error: 'invalid_token' });
  });

  it('is zero for the other provider', async () => {
    expect((await me(introspected({}, { exp: inSeconds(20) }))).status).toBe(200);
    expectChallenge(await me(introspected({}, { exp: inSeconds(-20) })), { error: 'invalid_token' });
  });
});
