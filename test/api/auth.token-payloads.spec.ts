import { describe, expect, it } from 'vitest';
import { expectChallenge } from '../support/matchers.js';
import { alsoWithMappedClaims } from '../support/mapped-replica.js';
import { aService } from '../support/service.js';
import { encodePart, type Part } from '../support/tokens.js';

const service = alsoWithMappedClaims(aService({ mode: 'auth-only' }).runs());
const { issuer } = service;

type Case = [what: string, payload: () => Part];

const claims = () => JSON.stringify(issuer.claims());
/** Adds raw members that JSON.stringify could not write. */
const claimsAnd = (members: string) => () => claims().replace(/}$/, `,${members}}`);
const signed = (payload: Part) => {
  const { alg, privateKey: key } = issuer.key(issuer.currentKid);
  return issuer.raw({ header: { alg, kid: issuer.currentKid }, payload, key });
};

describe('a correctly signed payload', () => {
  it.each<Case>([
    ['that is an object', claims],
    ['that is an object written with spaces', () => JSON.stringify(issuer.claims(), null, 2)],
    ['with 8 kB of groups', () => issuer.claims({ groups: Array.from({ length: 800 }, (_, n) => `g-${n}`) })],
    ['with a claim called __proto__', claimsAnd('"__proto__":{"sub":"root","exp":1}')],
    ['with a claim called constructor', claimsAnd('"constructor":"x"')],
    ['with a claim in Unicode', claimsAnd('"name":"Zoë 🦊"')],
    ['of a token issued in the future', () => issuer.claims({ iat: Date.now() })],
    ['with a duplicate exp', claimsAnd('"exp":253402300000')],
  ])('%s is accepted', async (_what, payload) => {
    const { status, json } = await service.bearing(signed(payload())).get('/v1/me');
    expect({ status, json }).toMatchObject({ status: 200, json: { subject: 'somebody' } });
  });

  it.each<Case>([
    ['that is the object in a list', () => `[${claims()}]`],
    ['that is the object as text', () => JSON.stringify(claims())],
    ['that is the object encoded twice', () => encodePart(claims())],
    ['that is the object cut short', () => claims().slice(0, -1)],
    ['that is the object and trailing characters', () => `${claims()}{}`],
    ['that is an empty object', () => '{}'],
    ['that is an empty list', () => '[]'],
    ['that is null', () => 'null'],
    ['that is true', () => 'true'],
    ['that is a number', () => '1'],
    ['that is an empty text', () => '""'],
    ['that is empty', () => ''],
    ['that expires at infinity', claimsAnd('"exp":1e999')],
    ['with a duplicate exp, the second in the past', claimsAnd('"exp":1')],
    ['that is not UTF-8', () => Buffer.of(0x7b, 0xff, 0x7d)],
  ])('%s is refused', async (_what, payload) => {
    expectChallenge(await service.bearing(signed(payload())).get('/v1/me'), { error: 'invalid_token' });
  });

  it.each<Case>([
    ['has no subject', () => issuer.claims({ sub: undefined })],
    ['has null as subject', () => issuer.claims({ sub: null })],
    ['has a number as subject', () => issuer.claims({ sub: 7 })],
    ['has an object as subject', () => issuer.claims({ sub: { name: 'somebody' } })],
    ['has an empty subject', () => issuer.claims({ sub: '' })],
    ['has a lone surrogate as subject', claimsAnd('"sub":"\\ud800"')],
    ['has a NUL in its subject', claimsAnd('"sub":"a\\u0000b"')],
    ['has lists nested 2,000 deep', claimsAnd(`"x":${'['.repeat(2000)}${']'.repeat(2000)}`)],
  ])('that %s causes no 5xx', async (_what, payload) => {
    const bearer = service.bearing(signed(payload()));
    for (const path of ['/v1/me', '/v1/sources', '/registry'])
      expect((await bearer.get(path)).status).toBeLessThan(500);
    expect((await service.bearing(issuer.sign()).get('/v1/me')).status).toBe(200);
  });
});
