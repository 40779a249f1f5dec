import { beforeAll, describe, expect, it } from 'vitest';
import { anIssuer } from '../support/issuer.js';
import { expectChallenge } from '../support/matchers.js';
import { alsoWithMappedClaims } from '../support/mapped-replica.js';
import { aService } from '../support/service.js';
import { alter } from '../support/tokens.js';

/** An unknown issuer with keys of the same kids. */
const attacker = anIssuer().runs();

type Members = Record<string, unknown>;

describe('the header of a token from a provider with several keys', () => {
  const service = alsoWithMappedClaims(aService({ mode: 'auth-only' }).runs());
  const { issuer } = service;

  beforeAll(() => {
    for (const kid of ['first', 'second']) issuer.key(kid);
    attacker.key('first');
  });

  const signed = (header: Members) => issuer.sign({}, { kid: 'first', ...header });
  const ask = (token: string) => service.bearing(token).get('/v1/me');

  // RFC 7515 §4.1.11: every member listed in `crit` must be understood; none is supported.
  it.each<[accepted: string, Members, refused: string, Members]>([
    ['no crit', {}, 'a crit', { crit: ['exp'] }],
    ['a member', { exp: 1 }, 'the member in crit', { exp: 1, crit: ['exp'] }],
    ['no crit', {}, 'b64 in crit', { b64: false, crit: ['b64'] }],
    ['no crit', {}, 'an empty crit', { crit: [] }],
    ['no crit', {}, 'a crit that is text', { crit: 'exp' }],
    ['no crit', {}, 'a crit that is null', { crit: null }],
    // RFC 8725 §3.11, RFC 9068 §2.1: tokens of another type are not access tokens.
    ['typ JWT', { typ: 'JWT' }, 'a logout token', { typ: 'logout+jwt' }],
    ['typ jwt', { typ: 'jwt' }, 'a proof of possession', { typ: 'dpop+jwt' }],
    ['typ at+jwt', { typ: 'at+jwt' }, 'a security event', { typ: 'secevent+jwt' }],
    ['typ AT+JWT', { typ: 'AT+JWT' }, 'a typ with the same suffix', { typ: 'that+jwt' }],
    [
      'the media type',
      { typ: 'application/at+jwt' },
      'another media type',
      { typ: 'application/logout+jwt' },
    ],
    ['no typ', { typ: undefined }, 'an empty typ', { typ: '' }],
    ['no typ', { typ: undefined }, 'a typ that is null', { typ: null }],
    ['no typ', { typ: undefined }, 'a typ that is a number', { typ: 1 }],
    ['typ JWT', { typ: 'JWT' }, 'a typ in a list', { typ: ['JWT'] }],
    ['typ JWT', { typ: 'JWT' }, 'a typ with a space', { typ: 'JWT ' }],
    ['its key id', {}, 'an unknown key id', { kid: 'nobody' }],
    ['its key id', {}, 'its key id in capitals', { kid: 'FIRST' }],
    ['its key id', {}, 'an empty key id', { kid: '' }],
    ['its key id', {}, 'a key id that is a number', { kid: 1 }],
    ['its key id', {}, 'a key id that is null', { kid: null }],
    ['its key id', {}, 'its key id in a list', { kid: ['first'] }],
    ['its key id', {}, 'a key id that is a path', { kid: '../../../dev/null' }],
    ['its key id', {}, 'an inherited property as key id', { kid: '__proto__' }],
    ['its key id', {}, 'a key ID of 4,000 characters', { kid: 'k'.repeat(4000) }],
  ])('is accepted with %s (%j), refused with %s', async (...[, accepted, , refused]) => {
    expect((await ask(signed(accepted))).status).toBe(200);
    expectChallenge(await ask(signed(refused)), { error: 'invalid_token' });
  });

  it.each<[what: string, Members]>([
    ['a cty', { cty: 'JWT' }],
    ['members in Unicode', { note: 'Zoë 🦊' }],
  ])('is accepted with %s', async (_what, header) => {
    expect((await ask(signed(header))).status).toBe(200);
  });

  it.each<[what: string, (members: Members) => Members]>([
    ['another member', (members) => ({ ...members, typ: 'at+jwt' })],
    ['the id of another key', (members) => ({ ...members, kid: 'second' })],
    ['another algorithm', (members) => ({ ...members, alg: 'RS512' })],
    ['its members in another order', ({ kid, ...members }) => ({ kid, ...members })],
  ])('is refused after a change: %s', async (_what, edit) => {
    expect((await ask(signed({}))).status).toBe(200);
    expectChallenge(await ask(alter(signed({}), { header: edit })), { error: 'invalid_token' });
  });

  it.each<[what: string, () => Members]>([
    ['jku', () => ({ jku: attacker.jwksUrl })],
    ['x5u', () => ({ x5u: `${attacker.url}/certificate.pem` })],
    ['jwk', () => ({ jwk: { ...attacker.key('first').publicKey.export({ format: 'jwk' }), kid: 'first' } })],
    ['x5c', () => ({ x5c: ['MIIB'] })],
  ])('does not select another key by %s, which is never fetched', async (_what, pointer) => {
    expect((await ask(signed(pointer()))).status).toBe(200);
    const strange = attacker.sign(issuer.claims(), { kid: 'first', ...pointer() });
    expectChallenge(await ask(strange), { error: 'invalid_token' });
    expect(attacker.requests).toEqual([]);
  });
});

describe('the header of a token from a provider with one key', () => {
  const service = aService({ mode: 'auth-only' }).runs();
  const { issuer } = service;

  it('may omit kid; a wrong kid is refused', async () => {
    const unnamed = issuer.sign({}, { kid: undefined });
    expect((await service.bearing(unnamed).get('/v1/me')).status).toBe(200);
    const misnamed = issuer.sign({}, { kid: 'nobody' });
    expectChallenge(await service.bearing(misnamed).get('/v1/me'), { error: 'invalid_token' });
  });

  it('without kid is refused when another key signed the token', async () => {
    const strange = attacker.sign(issuer.claims(), { kid: undefined });
    expectChallenge(await service.bearing(strange).get('/v1/me'), { error: 'invalid_token' });
  });
});
