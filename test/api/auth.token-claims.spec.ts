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

// The rules have their full tables in src/auth/token-claims.spec.ts.
const EXPIRY: Twins = [
  ['expires in ten minutes', { exp: AHEAD }, 'expired ten minutes ago', { exp: PAST }],
  ['expires in a minute', () => ({ exp: inSeconds(60) }), 'expired a second ago', { exp: inSeconds(-1) }],
  ['has an exp', { exp: AHEAD }, 'has no exp', { exp: undefined }],
];

const NOT_BEFORE: Twins = [
  ['has been valid for ten minutes', { nbf: PAST }, 'is valid in ten minutes', { nbf: AHEAD }],
];

const ISSUER: Twins = [
  ['names the issuer', {}, 'names an unknown issuer', { iss: 'https://idp.evil.example' }],
  ['names the issuer', {}, 'names another trusted issuer', () => ({ iss: other.iss })],
  [
    'names /tenant',
    (iss) => ({ iss: `${iss}/tenant` }),
    'names /tenant/',
    (iss) => ({ iss: `${iss}/tenant/` }),
  ],
  [
    'ends in the trailing slash of its issuer',
    (iss) => ({ iss: `${iss}/` }),
    'ends in two slashes',
    (iss) => ({ iss: `${iss}//` }),
  ],
];

const AUDIENCE: Twins = [
  ['is for the registry', { aud: 'registry' }, 'is for another service', { aud: 'billing' }],
  ['is for the other provider', { aud: 'api://partners' }, 'is for a part of its name', { aud: 'partners' }],
  ['is for several', { aud: ['wiki', 'registry'] }, 'is for several others', { aud: ['wiki', 'billing'] }],
];

describe.each([
  ['expiry', EXPIRY],
  ['not-before time', NOT_BEFORE],
  ['issuer', ISSUER],
  ['audience', AUDIENCE],
])('with a checked %s, a token that', (_claim, twins) => {
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
