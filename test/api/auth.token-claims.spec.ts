import { describe, expect, it } from 'vitest';
import { anIssuer, type Issuer } from '../support/issuer.js';
import { expectChallenge } from '../support/matchers.js';
import { alsoWithMappedClaims } from '../support/mapped-replica.js';
import { aService } from '../support/service.js';

type Claims = Record<string, unknown>;
/** Claims of an accepted and a refused token that differ in one respect. */
type Twins = [accepted: string, claims: Changes, refused: string, claims: Changes][];
type Changes = Claims | ((iss: string) => Claims);

const other = anIssuer().runs();
const provider = ({ iss: issuerUrl }: Issuer, name: string, audience = 'registry') => ({
  name,
  issuerUrl,
  audience,
  allowPrivateIP: true,
});
const service = alsoWithMappedClaims(
  aService({
    mode: 'auth-only',
    providers: ({ issuer }) => [
      provider(issuer, 'corporate'),
      provider(issuer, 'partners', 'api://partners'),
      provider(other, 'other'),
      { ...provider(issuer, 'slashed'), issuerUrl: `${issuer.iss}/`, jwksUrl: issuer.jwksUrl },
      { ...provider(issuer, 'tenant'), issuerUrl: `${issuer.iss}/tenant`, jwksUrl: issuer.jwksUrl },
    ],
  }).runs(),
);
const { issuer } = service;

const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;
const AHEAD = inSeconds(600);
const PAST = inSeconds(-600);

const EXPIRY: Twins = [
  ['expires in ten minutes', { exp: AHEAD }, 'expired ten minutes ago', { exp: PAST }],
  ['expires in a minute', () => ({ exp: inSeconds(60) }), 'expired a second ago', { exp: inSeconds(-1) }],
  ['expires in a fraction', { exp: AHEAD + 0.5 }, 'expired a fraction ago', { exp: Date.now() / 1000 - 0.5 }],
  ['has an exp', { exp: AHEAD }, 'has no exp', { exp: undefined }],
  ['has a number as exp', { exp: AHEAD }, 'has the same number as text', { exp: String(AHEAD) }],
  ['has a number as exp', { exp: AHEAD }, 'has a list of it', { exp: [AHEAD] }],
  ['has a number as exp', { exp: AHEAD }, 'has it in an object', { exp: { at: AHEAD } }],
  ['has a number as exp', { exp: AHEAD }, 'has null as exp', { exp: null }],
  ['has a number as exp', { exp: AHEAD }, 'has true as exp', { exp: true }],
  ['has a number as exp', { exp: AHEAD }, 'has an empty text as exp', { exp: '' }],
  ['expires late', { exp: AHEAD }, 'expired in 1970', { exp: 0 }],
  ['expires late', { exp: AHEAD }, 'has a negative exp', { exp: -AHEAD }],
  ['expires in the year 9999', { exp: 253_402_300_000 }, 'expires beyond any date', { exp: 1e308 }],
];

const NOT_BEFORE: Twins = [
  ['has been valid for ten minutes', { nbf: PAST }, 'is valid in ten minutes', { nbf: AHEAD }],
  [
    'has been valid for a second',
    { nbf: inSeconds(-1) },
    'is valid in a minute',
    () => ({ nbf: inSeconds(60) }),
  ],
  ['has a number as nbf', { nbf: PAST }, 'has the same number as text in nbf', { nbf: String(PAST) }],
  ['has a number as nbf', { nbf: PAST }, 'has a list of it in nbf', { nbf: [PAST] }],
  ['has no nbf', { nbf: undefined }, 'has null as nbf', { nbf: null }],
];

const ISSUER: Twins = [
  ['names the issuer', {}, 'names an unknown issuer', { iss: 'https://idp.evil.example' }],
  ['names the issuer', {}, 'names another trusted issuer', () => ({ iss: other.iss })],
  ['names its issuer', {}, 'names no issuer', { iss: undefined }],
  ['names its issuer', {}, 'has null as issuer', { iss: null }],
  ['names its issuer', {}, 'has an empty issuer', { iss: '' }],
  ['names its issuer as text', (iss) => ({ iss }), 'names it in a list', (iss) => ({ iss: [iss] })],
  ['names its issuer as text', (iss) => ({ iss }), 'names it in an object', (iss) => ({ iss: { iss } })],
  [
    'names /tenant',
    (iss) => ({ iss: `${iss}/tenant` }),
    'names /tenant/',
    (iss) => ({ iss: `${iss}/tenant/` }),
  ],
  [
    'names /tenant',
    (iss) => ({ iss: `${iss}/tenant` }),
    'names /Tenant',
    (iss) => ({ iss: `${iss}/Tenant` }),
  ],
  ['names /tenant', (iss) => ({ iss: `${iss}/tenant` }), 'names /tenan', (iss) => ({ iss: `${iss}/tenan` })],
  [
    'ends in the trailing slash of its issuer',
    (iss) => ({ iss: `${iss}/` }),
    'ends in two slashes',
    (iss) => ({ iss: `${iss}//` }),
  ],
  ['names its issuer exactly', (iss) => ({ iss }), 'names it after a space', (iss) => ({ iss: ` ${iss}` })],
  ['names its issuer exactly', (iss) => ({ iss }), 'names it with a query', (iss) => ({ iss: `${iss}?` })],
  [
    'names its issuer exactly',
    (iss) => ({ iss }),
    'names it in capitals',
    (iss) => ({ iss: iss.toUpperCase() }),
  ],
];

const AUDIENCE: Twins = [
  ['is for the registry', { aud: 'registry' }, 'is for another service', { aud: 'billing' }],
  ['is for the registry', { aud: 'registry' }, 'has no audience', { aud: undefined }],
  ['is for the registry', { aud: 'registry' }, 'has null as audience', { aud: null }],
  ['is for the registry', { aud: 'registry' }, 'has an empty audience', { aud: '' }],
  ['is for the registry', { aud: 'registry' }, 'is for the Registry', { aud: 'Registry' }],
  [
    'is for the registry',
    { aud: 'registry' },
    'is for a name with the same prefix',
    { aud: 'registry-admin' },
  ],
  ['is for the registry', { aud: 'registry' }, 'is for a part of the name', { aud: 'regis' }],
  ['is for the other provider', { aud: 'api://partners' }, 'is for a part of its name', { aud: 'partners' }],
  [
    'is for both providers',
    { aud: ['api://partners', 'registry'] },
    'is for neither',
    { aud: ['api', 'wiki'] },
  ],
  ['is for several', { aud: ['wiki', 'registry'] }, 'is for several others', { aud: ['wiki', 'billing'] }],
  ['has a list', { aud: ['wiki', 'registry'] }, 'has the list as one text', { aud: 'wiki registry' }],
  ['has a list of one', { aud: ['registry'] }, 'has an empty list', { aud: [] }],
  ['has a list of one', { aud: ['registry'] }, 'has a list in a list', { aud: [['registry']] }],
  ['has a list of one', { aud: ['registry'] }, 'has an object', { aud: { 0: 'registry', length: 1 } }],
];

describe.each([
  ['expiry', EXPIRY],
  ['not-before time', NOT_BEFORE],
  ['issuer', ISSUER],
  ['audience', AUDIENCE],
])('checking its %s, a token that', (_claim, twins) => {
  const token = (changes: Changes) =>
    issuer.sign(typeof changes === 'function' ? changes(issuer.iss) : changes);
  const accepted = new Map(twins.map(([what, changes]) => [what, changes]));

  it.each([...accepted])('%s is accepted', async (_what, changes) => {
    const { status, json } = await service.bearing(token(changes)).get('/v1/me');
    expect({ status, json }).toMatchObject({ status: 200, json: { subject: 'somebody' } });
  });

  it.each(twins.map(([, , what, changes]): [string, Changes] => [what, changes]))(
    '%s is refused',
    async (_what, changes) => {
      expectChallenge(await service.bearing(token(changes)).get('/v1/me'), { error: 'invalid_token' });
    },
  );
});

describe('several providers', () => {
  it('accept only their own audience', async () => {
    const wanted = { aud: 'api://partners' };
    expect((await service.bearing(issuer.sign(wanted)).get('/v1/me')).status).toBe(200);
    expectChallenge(await service.bearing(other.sign(wanted)).get('/v1/me'), { error: 'invalid_token' });
  });

  it('verify with their own keys, even when kids are equal', async () => {
    const { alg, privateKey: key } = other.key(issuer.currentKid);
    const header = { alg, kid: issuer.currentKid };
    const good = other.raw({ header, payload: other.claims(), key });
    expect((await service.bearing(good).get('/v1/me')).status).toBe(200);
    const bad = other.raw({ header, payload: issuer.claims(), key });
    expectChallenge(await service.bearing(bad).get('/v1/me'), { error: 'invalid_token' });
  });
});
