import { describe, expect, it } from 'vitest';
import {
  callerOfClaims,
  displayName,
  failedCheck,
  introspectionRefusal,
  introspectionRuledOut,
  jwtRefusal,
  type Refusal,
  shownClaim,
  subjectIn,
} from './token-claims.js';

type Claims = Record<string, unknown>;

const issuerUrl = 'https://idp.example.com';
const PROVIDER = { issuerUrl };
const expected = { issuerUrl, audience: 'registry', clockToleranceMs: 0, idTokens: 'refuse' } as const;
const NOW_S = 1_800_000_000;
const GOOD: Claims = { iss: issuerUrl, aud: 'registry', sub: 'ann', exp: NOW_S + 60 };
const checkOf = (refusal: Refusal | null) => refusal && failedCheck(refusal.reason);
const jwt = (claims: Claims, toleranceS = 0) =>
  jwtRefusal({ ...GOOD, ...claims }, { ...expected, clockToleranceMs: toleranceS * 1000 }, NOW_S * 1000);
const answer = (claims: Claims, toleranceS = 0) =>
  introspectionRefusal(
    { active: true, ...GOOD, ...claims },
    { ...expected, clockToleranceMs: toleranceS * 1000 },
    NOW_S * 1000,
  );

describe.each([
  ['a JWT', jwt],
  ['an introspection response', answer],
])('the clock tolerance of %s', (_what, refuse) => {
  it.each<[Claims, tolerance: number, refusedAt: number, check: string]>([
    [{ exp: NOW_S + 1 }, 0, -1, 'expiry'],
    [{ exp: NOW_S - 29 }, 30, 29, 'expiry'],
    [{ exp: NOW_S - 119 }, 120, 119, 'expiry'],
    [{ nbf: NOW_S }, 0, -1, 'not_before'],
    [{ nbf: NOW_S + 30 }, 30, 29, 'not_before'],
    [{ nbf: NOW_S + 120 }, 120, 119, 'not_before'],
  ])('lets %j pass at %i s, and not at %i s', (claims, enough, tooLittle, check) => {
    expect(refuse(claims, enough)).toBeNull();
    const isExpiry = check === 'expiry';
    const later = isExpiry ? { exp: Number(claims['exp']) - 1 } : { nbf: Number(claims['nbf']) + 1 };
    expect(checkOf(refuse(later, enough))).toBe(check);
    if (tooLittle >= 0) expect(checkOf(refuse(claims, tooLittle))).toBe(check);
  });
});

describe.each([
  ['a JWT', jwt],
  ['an introspection response', answer],
])('%s', (_what, refuse) => {
  it.each<[Claims, string]>([
    [{ typ: 'ID' }, 'type'],
    [{ at_hash: 'x' }, 'type'],
    [{ at_hash: null }, 'type'],
    [{ aud: 'account' }, 'audience'],
    [{ aud: undefined }, 'audience'],
    [{ iss: 'https://other.example' }, 'issuer'],
    [{ exp: 'x' }, 'expiry'],
    [{ sub: 1 }, 'format'],
  ])('with %j is refused at the check %s', (claims, check) => {
    expect(checkOf(refuse(claims))).toBe(check === 'expiry' ? 'format' : check);
  });

  it.each<Claims>([{}, { typ: 'Bearer' }, { c_hash: 'x' }, { aud: ['account', 'registry'] }])(
    'with %j is accepted',
    (claims) => expect(refuse(claims)).toBeNull(),
  );
});

describe('a JWT', () => {
  const audiences = ['wiki', 'registry'];
  it.each<[accepted: Claims, refused: Claims]>([
    [{ exp: NOW_S + 60 }, { exp: NOW_S - 600 }],
    [{ exp: NOW_S + 1 }, { exp: NOW_S - 1 }],
    [{ exp: NOW_S + 0.5 }, { exp: NOW_S - 0.5 }],
    [{ exp: 253_402_300_000 }, { exp: 1e308 }],
    ...[undefined, String(NOW_S + 60), [NOW_S + 60], { at: NOW_S + 60 }, null, true, '', 0, -NOW_S].map(
      (exp): [Claims, Claims] => [{ exp: NOW_S + 60 }, { exp }],
    ),
    [{ nbf: NOW_S - 600 }, { nbf: NOW_S + 600 }],
    [{ nbf: NOW_S - 1 }, { nbf: NOW_S + 60 }],
    [{ nbf: NOW_S - 600 }, { nbf: String(NOW_S - 600) }],
    [{ nbf: NOW_S - 600 }, { nbf: [NOW_S - 600] }],
    [{ nbf: undefined }, { nbf: null }],
    ...[
      ...['https://idp.evil.example', undefined, null, '', [issuerUrl], { iss: issuerUrl }, `${issuerUrl}/`],
      ...[issuerUrl.slice(0, -1), ` ${issuerUrl}`, `${issuerUrl}?`, issuerUrl.toUpperCase()],
    ].map((iss): [Claims, Claims] => [{ iss: issuerUrl }, { iss }]),
    ...['billing', undefined, null, '', 'Registry', 'registry-admin', 'regis'].map(
      (aud): [Claims, Claims] => [{ aud: 'registry' }, { aud }],
    ),
    ...[['wiki', 'billing'], 'wiki registry', [], [['registry']], { 0: 'registry', length: 1 }].map(
      (aud): [Claims, Claims] => [{ aud: audiences }, { aud }],
    ),
  ])('with %j is accepted, and with %j refused', (accepted, refused) => {
    expect(jwt(accepted)).toBeNull();
    expect(jwt(refused)).not.toBeNull();
  });

  it('must have the exact issuer, including a trailing slash', () => {
    const slashed = { ...expected, issuerUrl: `${issuerUrl}/` };
    const from = (iss: string) => checkOf(jwtRefusal({ ...GOOD, iss }, slashed, NOW_S * 1000));
    expect([from(`${issuerUrl}/`), from(issuerUrl), from(`${issuerUrl}//`)]).toEqual([
      null,
      'issuer',
      'issuer',
    ]);
  });
});

it('a refusal contains the expected and the received value', () => {
  expect(jwt({ aud: ['account', 'a\nb'] })).toEqual({
    reason: 'the audience does not match',
    expected: 'registry',
    received: '["account","a\\nb"]',
  });
  expect(jwt({ iss: undefined })).toMatchObject({ expected: issuerUrl, received: 'missing' });
});

it.each<[unknown, string]>([
  ['plain', 'plain'],
  [undefined, 'missing'],
  [['a', 1], '["a",1]'],
  ['a\u0000\u001b[31m\n', 'a\\u{0}\\u{1b}[31m\\u{a}'],
  ['\u202eevil', '\\u{202e}evil'],
  ['rеgistry', 'r\\u{435}gistry'],
  ['\ud800', '\\u{d800}'],
  ['x'.repeat(201), 'x'.repeat(200)],
  ['\u0001'.repeat(300), '\\u{1}'.repeat(40)],
])('%j is shown as %s', (value, shown) => {
  expect(shownClaim(value)).toBe(shown);
});

describe('the subject and the client', () => {
  it.each<[Claims, subject: string | undefined, client: string | undefined]>([
    [{ sub: 'ann' }, 'ann', undefined],
    [{ sub: 'ann', azp: 'cli' }, 'ann', 'cli'],
    [{ client_id: 'a', azp: 'b', appid: 'c', cid: 'd' }, 'a', 'a'],
    [{ azp: 'b', appid: 'c', cid: 'd' }, 'b', 'b'],
    [{ appid: 'c', cid: 'd' }, 'c', 'c'],
    [{ cid: 'd' }, 'd', 'd'],
    [{ sub: '', client_id: '', azp: 'b' }, 'b', 'b'],
    [{ sub: '', client_id: '', azp: '', appid: '', cid: '' }, undefined, undefined],
    [{ client_id: 7, cid: ['d'] }, undefined, undefined],
    [{}, undefined, undefined],
  ])('in %j are %s and %s', (claims, subject, client) => {
    expect(subjectIn(claims)).toBe(subject);
    expect(callerOfClaims(claims, PROVIDER).client).toBe(client);
  });
});

describe('the display name', () => {
  it.each(['Ann', 'Ann O’Neil', 'Łukasz Żółw', '山田 太郎', 'محمد', '👩', 'x'.repeat(200), '👩'.repeat(200)])(
    'may be %.10s',
    (name) => expect(displayName(name)).toBe(name),
  );

  it.each<unknown>([
    '',
    '  ',
    'x'.repeat(201),
    'a\nb',
    'a\u0000',
    'a\u0085',
    'a\u202eb',
    'a\u2066b',
    'a\u200fb',
    'a\u061cb',
    'a\u200bb',
    'a\u200db',
    'a\u2060b',
    'a\ufeffb',
    'a\u00adb',
    'a\u3164',
    'a\u{e0041}',
    'a\u2028b',
    '\ud800',
    7,
    null,
    ['Ann'],
    { name: 'Ann' },
    undefined,
  ])('is not taken from %j', (name) => expect(displayName(name)).toBeUndefined());

  it('comes from the raw claims, even if the provider has a mapping', () => {
    const named = (claims: Claims, held: Claims, nameClaim = 'name') =>
      callerOfClaims(claims, { ...PROVIDER, displayName: nameClaim }, held).name;
    expect(named({ sub: 'a', name: 'Ann' }, { sub: 'a' })).toBe('Ann');
    expect(named({ sub: 'a' }, { sub: 'a', name: 'Ann' })).toBeUndefined();
    expect(named({ sub: 'a' }, {}, 'toString')).toBeUndefined();
  });
});

describe('introspection of a JWT', () => {
  const ruledOut = (payload: Claims, header: Claims = {}) =>
    checkOf(introspectionRuledOut({ header, payload }, expected));

  it.each<[Claims, string]>([
    [{ iss: 'https://other.example' }, 'issuer'],
    [{ iss: issuerUrl, exp: 1 }, 'expiry'],
  ])('is ruled out for %j by its %s', (payload, check) => expect(ruledOut(payload)).toBe(check));

  it('may decide on a lightweight token, which has neither audience nor subject', () => {
    expect(ruledOut({ iss: issuerUrl, exp: 9e9, azp: 'cli' })).toBeNull();
    expect(ruledOut({})).toBeNull();
  });
});
