import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Clock } from '../support/clock.js';
import { expectChallenge, expectRefused } from '../support/matchers.js';
import { aService } from '../support/service.js';

const clock = new Clock().runs();
const service = aService({ mode: 'auth-only' }).runs();
const { issuer } = service;

const KEY_LIFETIME = 600_000;
const small = generateKeyPairSync('rsa', { modulusLength: 1024 });

/** The issuer's key as a JWK, with members changed or removed. */
const published = (changes: Record<string, unknown> = {}) => ({
  ...issuer.key(issuer.currentKid).publicKey.export({ format: 'jwk' }),
  kid: issuer.currentKid,
  alg: 'RS256',
  use: 'sig',
  ...changes,
});

/** Sends a token that is verified with a freshly fetched key set. */
async function askWith(answer: unknown, token = issuer.sign()) {
  issuer.injectFault('jwks', { answer });
  clock.passes(KEY_LIFETIME);
  const reply = await service.bearing(token).get('/v1/me');
  issuer.behave();
  return reply;
}

describe('a JSON Web Key Set', () => {
  it.each<[what: string, keys: () => unknown[]]>([
    ['the key', () => [published()]],
    ['the key without alg', () => [published({ alg: undefined })]],
    ['the key without use', () => [published({ use: undefined })]],
    ['the key and unknown members', () => [published({ x5t: 'abc', nested: [{}] })]],
    [
      'a symmetric key, and the key',
      () => [{ kty: 'oct', k: 'c2VjcmV0', kid: 'secret', alg: 'HS256' }, published()],
    ],
    ['a key of an unknown type, and the key', () => [{ kty: 'AKP', kid: 'post-quantum' }, published()]],
    [
      'an Ed25519 key, and the key',
      () => [{ kty: 'OKP', crv: 'Ed25519', x: 'AAAA', kid: 'ed' }, published()],
    ],
    ['a broken key, and the key', () => [{ kty: 'RSA', kid: 'broken', use: 'sig' }, published()]],
    [
      'a point off the curve, and the key',
      () => [{ kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA', kid: 'no' }, published()],
    ],
    ['null, and the key', () => [null, published()]],
    ['text, a number, a list, and the key', () => ['key', 7, [], published()]],
    [
      'the key after 500 others',
      () => [...Array.from({ length: 500 }, (_, n) => published({ kid: `k${n}` })), published()],
    ],
  ])('with %s verifies the token', async (_what, keys) => {
    expect((await askWith({ keys: keys() })).status).toBe(200);
  });

  it.each<[what: string, keys: () => unknown[]]>([
    ['no key', () => []],
    ['the key under another kid', () => [published({ kid: 'other' })]],
    ['the key for another algorithm', () => [published({ alg: 'RS512' })]],
    ['the key for encryption', () => [published({ use: 'enc' })]],
    [
      'a symmetric key with its kid',
      () => [{ kty: 'oct', k: 'c2VjcmV0', kid: issuer.currentKid, alg: 'RS256' }],
    ],
    [
      'an Ed25519 key with its kid',
      () => [{ kty: 'OKP', crv: 'Ed25519', x: 'AAAA', kid: issuer.currentKid }],
    ],
    ['a broken key with its kid', () => [published({ n: undefined })]],
  ])('with %s does not verify the token: 401', async (_what, keys) => {
    expectChallenge(await askWith({ keys: keys() }), { error: 'invalid_token' });
  });

  it('with an RSA key of 1 024 bits does not verify its tokens', async () => {
    const header = { alg: 'RS256', kid: 'small' };
    const token = issuer.raw({ header, payload: issuer.claims(), key: small.privateKey });
    const keys = [{ ...small.publicKey.export({ format: 'jwk' }), kid: 'small', alg: 'RS256', use: 'sig' }];
    expectChallenge(await askWith({ keys }, token), { error: 'invalid_token' });
  });

  it.each<[what: string, answer: unknown]>([
    ['a list', []],
    ['null', null],
    ['text', 'keys'],
    ['an object without keys', {}],
    ['keys that are text', { keys: 'none' }],
    ['keys that are an object', { keys: {} }],
    ['keys that are null', { keys: null }],
  ])('that is %s returns 503 provider_unavailable', async (_what, answer) => {
    expect((await askWith({ keys: [published()] })).status).toBe(200);
    const reply = await askWith(answer);
    expectRefused(reply, 503, 'provider_unavailable');
    expect(reply.headers['retry-after']).toMatch(/^\d+$/);
  });
});
