import { createHash, generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Clock } from '../support/clock.js';
import { expectChallenge, expectRefused } from '../support/matchers.js';
import { keepSecret } from '../support/secrets.js';
import { aService } from '../support/service.js';

const clock = new Clock().runs();
const service = aService({ mode: 'auth-only' }).runs();
const { issuer } = service;
issuer.rotate({ alg: 'RS256' });

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

const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' });
/** Another key with the same kid. */
const other = (changes: Record<string, unknown> = {}) => published({ ...stranger, ...changes });
/** Other keys, with the same kid or with their own. */
const others = (count: number, changes?: Record<string, unknown>) =>
  Array.from({ length: count }, (_, n) => other(changes ? { kid: `k${n}`, ...changes } : {}));

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
    ['the key for verification', () => [published({ use: undefined, key_ops: ['verify'] })]],
    ['another key of its kid, and the key', () => [other(), published()]],
    ['four other keys of its kid, and the key', () => [...others(4), published()]],
    [
      'five keys of its kid for other algorithms, and the key',
      () => [...Array.from({ length: 5 }, () => published({ alg: 'RS512' })), published()],
    ],
    ['the key after 99 others', () => [...others(99, {}), published()]],
    ['the key before 1,499 others', () => [published(), ...others(1_499, {})]],
  ])('with %s verifies the token', async (_what, keys) => {
    expect((await askWith({ keys: keys() })).status).toBe(200);
  });

  it.each<[what: string, keys: () => unknown[]]>([
    ['no key', () => []],
    ['the key under another kid', () => [published({ kid: 'other' })]],
    ['the key for another algorithm', () => [published({ alg: 'RS512' })]],
    ['the key for encryption', () => [published({ use: 'enc' })]],
    ['the key for deriving bits', () => [published({ use: undefined, key_ops: ['deriveBits'] })]],
    ['the key with a number as alg', () => [published({ alg: 256 })]],
    ['another key of its kid', () => [other()]],
    ['the key after five others of its kid', () => [...others(5), published()]],
    ['the key after 100 others', () => [...others(100, {}), published()]],
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

  it('with an RSA key of 1024 bits does not verify its tokens', async () => {
    const header = { alg: 'RS256', kid: 'small' };
    const token = issuer.raw({ header, payload: issuer.claims(), key: small.privateKey });
    const keys = [{ ...small.publicKey.export({ format: 'jwk' }), kid: 'small', alg: 'RS256', use: 'sig' }];
    expectChallenge(await askWith({ keys }, token), { error: 'invalid_token' });
  });

  it('verifies a token without kid with any of its first five keys for the algorithm', async () => {
    const token = issuer.sign({}, { kid: undefined });
    const elliptic = ['P-384', 'P-521'].map((namedCurve) =>
      generateKeyPairSync('ec', { namedCurve }).publicKey.export({ format: 'jwk' }),
    );
    expect((await askWith({ keys: [published()] }, token)).status).toBe(200);
    expect((await askWith({ keys: [...elliptic, ...others(4, {}), published()] }, token)).status).toBe(200);
    expectChallenge(await askWith({ keys: [...others(5, {}), published()] }, token), {
      error: 'invalid_token',
    });
    expectChallenge(await askWith({ keys: others(4, {}) }, token), { error: 'invalid_token' });
  });

  it('refuses a signature that anyone could forge for an RSA key with a weak exponent', async () => {
    const header = { alg: 'RS256', kid: issuer.currentKid };
    const [head, body] = issuer.raw({ header, payload: issuer.claims() }).split('.');
    const digest = createHash('sha256').update(`${head}.${body}`).digest('hex');
    // RFC 8017 §9.2. With an exponent of 1, the encoded message is its own signature.
    const info = Buffer.from(`003031300d060960864801650304020105000420${digest}`, 'hex');
    const encoded = Buffer.concat([Buffer.of(0, 1), Buffer.alloc(254 - info.length, 0xff), info]);
    const forged = keepSecret(`${head}.${body}.${encoded.toString('base64url')}`);
    expectChallenge(await askWith({ keys: [published({ e: 'AQ' })] }, forged), { error: 'invalid_token' });
    expect((await askWith({ keys: [published()] })).status).toBe(200);
  });

  it.each([
    ['AQAB', 200],
    ['AQAD', 200],
    ['AQ', 401],
    ['Aw', 401],
    ['AQAA', 401],
    ['AQAC', 401],
  ])('with an exponent of %s returns %i', async (e, status) => {
    const exponent = Buffer.from(e, 'base64url').readUIntBE(0, Buffer.from(e, 'base64url').length);
    // OpenSSL makes no keys with even exponents.
    const pair =
      exponent % 2 === 1 && exponent > 1
        ? generateKeyPairSync('rsa', { modulusLength: 2048, publicExponent: exponent })
        : small;
    const jwk = { ...pair.publicKey.export({ format: 'jwk' }), e, kid: 'exponent', alg: 'RS256' };
    const token = issuer.raw({
      header: { alg: 'RS256', kid: 'exponent' },
      payload: issuer.claims(),
      key: pair.privateKey,
    });
    expect((await askWith({ keys: [jwk] }, token)).status).toBe(status);
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
