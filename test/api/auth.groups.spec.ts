import { afterEach, describe, expect, it } from 'vitest';
import { Clock } from '../support/clock.js';
import type { Document } from '../support/documents.js';
import { anIssuer, type Issuer } from '../support/issuer.js';
import { expectChallenge, expectRefused } from '../support/matchers.js';
import { aService } from '../support/service.js';

const SECOND = 1_000;
const clock = new Clock().runs().standsStill();

/** Claims of an Entra ID token with a group overage. */
const ELSEWHERE = {
  _claim_names: { groups: 'src1' },
  _claim_sources: { src1: { endpoint: 'http://127.0.0.1:1/from-the-token' } },
};
const TEAMS = [{ from: '/groups', to: 'team', values: { g1: 'red', g2: 'blue' } }];

const userinfo = anIssuer().runs();
const url = anIssuer().runs();
const unconfigured = anIssuer().runs();
const uninterested = anIssuer().runs();
const provider = ({ iss, introspectionUrl }: Issuer, name: string, more: Document) => ({
  name,
  issuerUrl: iss,
  introspectionUrl,
  audience: 'registry',
  allowPrivateIP: true,
  ...more,
});
const service = aService({
  mode: 'full',
  roles: { manageEntries: [{ team: 'red' }, { groups: 'g1' }] },
  providers: () => [
    provider(userinfo, 'userinfo', { groups: { from: 'userinfo' }, claims: TEAMS }),
    provider(url, 'url', { groups: { url: url.groupsUrl } }),
    provider(unconfigured, 'unconfigured', {}),
    provider(uninterested, 'uninterested', { claims: [{ from: '/role', to: 'role' }] }),
  ],
}).runs();
const me = (token: string) => service.bearing(token).get('/v1/me?claims=true');
const claimsOf = async (token: string) => {
  const { status, json } = await me(token);
  expect({ status, json }).toMatchObject({ status: 200 });
  return (json as { claims: Document }).claims;
};
const refused = async (token: string) =>
  expectChallenge(await me(token), { error: 'invalid_token', code: 'claims_incomplete' });
const lastReason = () => JSON.stringify(service.logs().findLast(({ msg }) => msg === 'Token refused'));
let serial = 0;
/** A token with a group overage and a new subject. */
const aToken = (issuer: Issuer, more: Document = {}) =>
  issuer.sign({ ...ELSEWHERE, sub: `caller-${(serial += 1)}`, ...more });
const subjectOf = (token: string) =>
  (JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { sub: string }).sub;
const withGroups = (issuer: Issuer, token: string, groups: unknown) =>
  issuer.setUserinfo(token, { sub: subjectOf(token), groups });

afterEach(() => {
  for (const issuer of [userinfo, url]) {
    issuer.behave();
    issuer.requests.length = 0;
  }
});

describe('groups outside the token', () => {
  it('are fetched from the userinfo endpoint with the token, and mapped', async () => {
    const token = withGroups(userinfo, aToken(userinfo), ['g1', 'g2', 'g3']);
    expect(await claimsOf(token)).toMatchObject({ team: ['red', 'blue'] });
    expect(userinfo.requestsTo('userinfo')).toMatchObject([
      { method: 'GET', authorization: `Bearer ${token}` },
    ]);
  });

  it('are fetched from a URL and become the claim `groups`', async () => {
    const token = withGroups(url, aToken(url), ['g1', 'g3']);
    expect((await me(token)).json).toMatchObject({
      roles: ['manageEntries'],
      claims: { groups: ['g1', 'g3'] },
    });
    const anonymous = url.setUserinfo(aToken(url), { groups: 'g2' });
    expect(await claimsOf(anonymous)).toMatchObject({ groups: ['g2'] });
  });

  it('are also fetched for opaque tokens', async () => {
    const token = userinfo.opaque({ ...ELSEWHERE, sub: 'opal' });
    userinfo.setUserinfo(token, { sub: 'opal', groups: ['g1'] });
    expect(await claimsOf(token)).toMatchObject({ team: 'red' });
  });

  it.each([true, 'true'])('are fetched for a token with hasgroups (%j)', async (hasgroups) => {
    const token = withGroups(userinfo, aToken(userinfo, { _claim_names: undefined, hasgroups }), ['g1']);
    expect(await claimsOf(token)).toMatchObject({ team: 'red' });
    userinfo.injectFault('userinfo', 'error');
    await refused(aToken(userinfo, { _claim_names: undefined, hasgroups }));
    expect(
      await claimsOf(aToken(userinfo, { _claim_names: undefined, hasgroups: false })),
    ).not.toHaveProperty('team');
    expect(await claimsOf(userinfo.sign({ hasgroups, groups: ['g2'] }))).toMatchObject({ team: 'blue' });
  });

  it('replace the groups of the token', async () => {
    const token = withGroups(url, aToken(url, { groups: ['g1'] }), ['g2']);
    expect(await claimsOf(token)).toMatchObject({ groups: ['g2'] });
  });

  it('may be empty', async () => {
    expect(await claimsOf(withGroups(userinfo, aToken(userinfo), []))).not.toHaveProperty('team');
  });

  it('are not fetched when the token has them or no mapping reads them', async () => {
    expect(await claimsOf(userinfo.sign({ groups: ['g1'] }))).toMatchObject({ team: 'red' });
    expect(await claimsOf(userinfo.sign({ groups: ['g1'], _claim_names: { photo: 'src1' } }))).toMatchObject({
      team: 'red',
    });
    expect(await claimsOf(aToken(uninterested, { role: 'r' }))).toMatchObject({ role: 'r' });
    expect(userinfo.requestsTo('userinfo')).toEqual([]);
  });
});

describe('a token with groups elsewhere is refused (claims_incomplete, unless stated otherwise)', () => {
  it('when the provider has no `groups`; the address in the token is never contacted', async () => {
    const { endpoint } = { endpoint: `${unconfigured.url}/from-the-token` };
    await refused(aToken(unconfigured, { _claim_sources: { src1: { endpoint, access_token: 'theirs' } } }));
    expect(unconfigured.requestsTo('other')).toEqual([]);
    expect(lastReason()).toContain('has no groups configured');
    expect(await claimsOf(unconfigured.sign({ groups: ['g1'] }))).toMatchObject({ groups: ['g1'] });
  });

  it.each([
    ['a list', ['groups']],
    ['text', 'groups'],
    ['null', null],
  ])('when _claim_names is %s', async (_what, names) => {
    await refused(unconfigured.sign({ _claim_names: names }));
  });

  it.each<[what: string, answer: (subject: string) => unknown]>([
    ['has another subject', () => ({ sub: 'somebody-else', groups: ['g1'] })],
    ['has no subject', () => ({ groups: ['g1'] })],
    ['has no groups', (sub) => ({ sub })],
    ['has groups in an object', (sub) => ({ sub, groups: { g1: true } })],
    ['has groups that are objects', (sub) => ({ sub, groups: ['g1', { id: 'g2' }] })],
    ['has groups that are null', (sub) => ({ sub, groups: null })],
    ['has too many groups', (sub) => ({ sub, groups: new Array(10_001).fill('g1') })],
    ['refers elsewhere again', (sub) => ({ sub, ...ELSEWHERE })],
    ['is a list', () => [['g1']]],
    ['is text', () => 'g1'],
  ])('when the response %s', async (_what, answer) => {
    const token = withGroups(userinfo, aToken(userinfo), ['g1']);
    userinfo.injectFault('userinfo', { answer: answer(subjectOf(token)) });
    await refused(token);
    userinfo.behave();
    expect(await claimsOf(withGroups(userinfo, aToken(userinfo), ['g1']))).toMatchObject({ team: 'red' });
  });

  it.each(['error', 'html', 'garbage', 'huge'] as const)(
    'when the response is unusable (%s)',
    async (fault) => {
      const token = withGroups(userinfo, aToken(userinfo), ['g1']);
      userinfo.injectFault('userinfo', fault);
      await refused(token);
      userinfo.behave();
      clock.passes(SECOND);
      expect(await claimsOf(token)).toMatchObject({ team: 'red' });
    },
  );

  it('when the response redirects to another origin, which never receives the token', async () => {
    userinfo.injectFault('userinfo', { redirect: `${url.url}/groups` });
    await refused(withGroups(userinfo, aToken(userinfo), ['g1']));
    expect(url.requests).toEqual([]);
  });

  it('when the provider returns 401', async () => {
    await refused(aToken(userinfo));
    expect(lastReason()).toContain('it responded with status 401');
  });

  it('with 503 provider_unavailable when the provider does not respond', async () => {
    const token = withGroups(userinfo, aToken(userinfo), ['g1']);
    userinfo.injectFault('userinfo', 'down');
    expectRefused(await me(token), 503, 'provider_unavailable');
    userinfo.behave();
    clock.passes(SECOND);
    expect(await claimsOf(token)).toMatchObject({ team: 'red' });
  });

  it('without introspection as a fallback', async () => {
    const token = aToken(userinfo);
    userinfo.knows(token, { active: true, ...userinfo.claims({ groups: ['g1'] }) });
    await refused(token);
    expect(userinfo.requestsTo('introspection')).toEqual([]);
  });
});

describe('fetched groups', () => {
  it('are cached for at most a minute', async () => {
    const token = withGroups(userinfo, aToken(userinfo), ['g1']);
    expect(await claimsOf(token)).toMatchObject({ team: 'red' });
    withGroups(userinfo, token, ['g2']);
    clock.passes(59 * SECOND);
    expect(await claimsOf(token)).toMatchObject({ team: 'red' });
    clock.passes(SECOND);
    expect(await claimsOf(token)).toMatchObject({ team: 'blue' });
  });

  it('of an opaque token are cached for at most a minute', async () => {
    const token = userinfo.opaque({ ...ELSEWHERE, sub: 'olga' });
    userinfo.setUserinfo(token, { sub: 'olga', groups: ['g1'] });
    expect(await claimsOf(token)).toMatchObject({ team: 'red' });
    userinfo.setUserinfo(token, { sub: 'olga', groups: ['g2'] });
    clock.passes(61 * SECOND);
    expect(await claimsOf(token)).toMatchObject({ team: 'blue' });
  });

  it('are cached per token, not per subject', async () => {
    const [one, other] = [{ scope: 'all' }, { scope: 'few' }].map((more) =>
      userinfo.sign({ ...ELSEWHERE, ...more, sub: 'twice' }),
    ) as [string, string];
    withGroups(userinfo, one, ['g1', 'g2']);
    withGroups(userinfo, other, ['g2']);
    expect(await claimsOf(one)).toMatchObject({ team: ['red', 'blue'] });
    expect(await claimsOf(other)).toMatchObject({ team: 'blue' });
    expect(await claimsOf(one)).toMatchObject({ team: ['red', 'blue'] });
  });

  it('are not used once the token has expired', async () => {
    const token = withGroups(userinfo, aToken(userinfo, { exp: Math.floor(Date.now() / SECOND) + 20 }), [
      'g1',
    ]);
    expect(await claimsOf(token)).toMatchObject({ team: 'red' });
    clock.passes(20 * SECOND);
    expectChallenge(await me(token), { error: 'invalid_token' });
  });

  it('are not used when they arrive after the token has expired', async () => {
    let release = () => {};
    const after = new Promise<void>((resolve) => (release = resolve));
    userinfo.injectFault('userinfo', { after });
    const token = withGroups(userinfo, aToken(userinfo, { exp: Math.floor(Date.now() / SECOND) + 20 }), [
      'g1',
    ]);
    const reply = me(token);
    await expect.poll(() => userinfo.requestsTo('userinfo').length).toBe(1);
    clock.passes(20 * SECOND);
    release();
    expectChallenge(await reply, { error: 'invalid_token' });
  });

  it('are fetched once for concurrent requests', async () => {
    let release = () => {};
    userinfo.injectFault('userinfo', { after: new Promise<void>((resolve) => (release = resolve)) });
    const token = withGroups(userinfo, aToken(userinfo), ['g1']);
    const replies = Array.from({ length: 20 }, () => claimsOf(token));
    await expect.poll(() => userinfo.requestsTo('userinfo').length).toBe(1);
    release();
    for (const claims of await Promise.all(replies)) expect(claims).toMatchObject({ team: 'red' });
    expect(userinfo.requestsTo('userinfo')).toHaveLength(1);
  });

  it('are not fetched again immediately after a refusal', async () => {
    const token = aToken(userinfo);
    await refused(token);
    await refused(token);
    expect(userinfo.requestsTo('userinfo')).toHaveLength(1);
  });
});

describe('many tokens with groups elsewhere', () => {
  const MANY = 64;
  const ask = (token: string, from: string) =>
    service.send('GET', '/v1/me?claims=true', { headers: { Authorization: `Bearer ${token}` }, from });

  it('from one address do not delay another address', async () => {
    let release = () => {};
    userinfo.injectFault('userinfo', { after: new Promise<void>((resolve) => (release = resolve)) });
    const tokens = Array.from({ length: MANY }, () => withGroups(userinfo, aToken(userinfo), ['g1']));
    const waiting = tokens.map((token) => ask(token, '127.0.0.2'));
    await expect.poll(() => userinfo.requestsTo('userinfo').length).toBe(MANY);
    expectRefused(await ask(aToken(userinfo), '127.0.0.2'), 429, 'too_many_requests');
    const other = ask(withGroups(userinfo, aToken(userinfo), ['g2']), '127.0.0.3');
    await expect.poll(() => userinfo.requestsTo('userinfo').length).toBe(MANY + 1);
    release();
    expect((await other).json).toMatchObject({ claims: { team: 'blue' } });
    expect(new Set((await Promise.all(waiting)).map(({ status }) => status))).toEqual(new Set([200]));
  });

  it('that fail pause the fetches for their address only', async () => {
    userinfo.injectFault('userinfo', 'down');
    for (let failed = 0; failed < 3; failed += 1)
      expectRefused(
        await ask(withGroups(userinfo, aToken(userinfo), ['g1']), '127.0.0.4'),
        503,
        'provider_unavailable',
      );
    userinfo.requests.length = 0;
    expectRefused(
      await ask(withGroups(userinfo, aToken(userinfo), ['g1']), '127.0.0.4'),
      503,
      'provider_unavailable',
    );
    expect(userinfo.requestsTo('userinfo')).toEqual([]);
    userinfo.behave();
    const other = withGroups(userinfo, aToken(userinfo), ['g1']);
    expect((await ask(other, '127.0.0.5')).status).toBe(200);
    clock.passes(SECOND);
    expect((await ask(withGroups(userinfo, aToken(userinfo), ['g1']), '127.0.0.4')).status).toBe(200);
  });
});
