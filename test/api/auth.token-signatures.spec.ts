import { type KeyObject, sign } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { anIssuer } from '../support/issuer.js';
import { expectChallenge } from '../support/matchers.js';
import { alsoWithMappedClaims } from '../support/mapped-replica.js';
import { aService } from '../support/service.js';
import { ALGORITHMS, alter } from '../support/tokens.js';

const service = alsoWithMappedClaims(aService({ mode: 'auth-only' }).runs());
const { issuer } = service;
/** An unknown issuer with keys of the same kids. */
const attacker = anIssuer().runs();

beforeAll(() => {
  for (const alg of ALGORITHMS) for (const owner of [issuer, attacker]) owner.key(alg, { alg });
});

const rsa = () => issuer.sign({}, { kid: 'RS256' });
const ec = () => issuer.sign({}, { kid: 'ES256' });
const privateKey = (kid: string) => issuer.key(kid).privateKey;
const publicPem = (type: 'spki' | 'pkcs1') =>
  issuer.key('RS256').publicKey.export({ type, format: 'pem' }).toString();
const modulus = () => String(issuer.key('RS256').publicKey.export({ format: 'jwk' }).n);

interface Forgery {
  alg?: unknown;
  kid?: string | undefined;
  key?: KeyObject | string;
  /** Algorithm of the signature; default: `alg`. */
  by?: string;
}

/** A token with valid claims, and any header and signature. */
const forged = ({ key, by, ...header }: Forgery) =>
  issuer.raw({
    header: { kid: 'RS256', ...header },
    payload: issuer.claims(),
    ...(key === undefined ? {} : { key }),
    ...(by === undefined ? {} : { alg: by }),
  });

async function expectAccepted(token: string): Promise<void> {
  expect((await service.bearing(token).get('/v1/me')).status).toBe(200);
}

async function expectInvalid(token: string): Promise<void> {
  expectChallenge(await service.bearing(token).get('/v1/me'), { error: 'invalid_token' });
}

type Case = [what: string, token: () => string];

describe.each(ALGORITHMS)('a token signed with %s', (kid) => {
  it('is accepted', async () => {
    await expectAccepted(issuer.sign({}, { kid }));
  });

  it.each<Case>([
    ['with a foreign key of the same kid', () => attacker.sign(issuer.claims(), { kid })],
    [
      'and changed afterwards',
      () => alter(issuer.sign({}, { kid }), { payload: (claims) => ({ ...claims, sub: 'root' }) }),
    ],
    [
      'with one bit of the signature changed',
      () => alter(issuer.sign({}, { kid }), { signature: (bytes) => flipped(bytes, bytes.length - 1) }),
    ],
  ])('%s is refused', async (_what, token) => {
    await expectInvalid(token());
  });
});

describe('a token with alg', () => {
  it.each<Case>([
    ['none', () => forged({ alg: 'none' })],
    ['None', () => forged({ alg: 'None' })],
    ['NONE', () => forged({ alg: 'NONE' })],
    ['none, without a key id', () => forged({ alg: 'none', kid: undefined })],
    [
      'none, with a valid signature',
      () => alter(rsa(), { header: (members) => ({ ...members, alg: 'none' }) }),
    ],
    ['HS256, keyed with the public key', () => forged({ alg: 'HS256', key: publicPem('spki') })],
    [
      'HS256, keyed with the trimmed public key',
      () => forged({ alg: 'HS256', key: publicPem('spki').trim() }),
    ],
    ['HS256, keyed with the public key as PKCS #1', () => forged({ alg: 'HS256', key: publicPem('pkcs1') })],
    ['HS256, keyed with the modulus', () => forged({ alg: 'HS256', key: modulus() })],
    ['HS256, keyed with an empty text', () => forged({ alg: 'HS256', key: '' })],
    ['HS384, keyed with the public key', () => forged({ alg: 'HS384', key: publicPem('spki') })],
    ['HS512, keyed with the public key', () => forged({ alg: 'HS512', key: publicPem('spki') })],
    ['EdDSA', () => forged({ alg: 'EdDSA', key: privateKey('RS256'), by: 'RS256' })],
    ['ES256K', () => forged({ alg: 'ES256K', kid: 'ES256', key: privateKey('ES256'), by: 'ES256' })],
    ['RS1', () => forged({ alg: 'RS1', key: privateKey('RS256') })],
    ['rs256', () => forged({ alg: 'rs256', key: privateKey('RS256'), by: 'RS256' })],
    ['RS256 with a trailing space', () => forged({ alg: 'RS256 ', key: privateKey('RS256'), by: 'RS256' })],
    ['in a list', () => forged({ alg: ['RS256'], key: privateKey('RS256'), by: 'RS256' })],
    ['null', () => forged({ alg: null, key: privateKey('RS256'), by: 'RS256' })],
    ['empty', () => forged({ alg: '', key: privateKey('RS256'), by: 'RS256' })],
    ['missing', () => forged({ key: privateKey('RS256'), by: 'RS256' })],
  ])('%s is refused', async (_what, token) => {
    await expectAccepted(forged({ alg: 'RS256', key: privateKey('RS256') }));
    await expectInvalid(token());
  });

  it.each<[what: string, claimed: string, kid: string, by: string]>([
    ['an RSA key for ES256', 'ES256', 'RS256', 'RS256'],
    ['an EC key for RS256', 'RS256', 'ES256', 'ES256'],
    ['a P-384 key for ES256', 'ES256', 'ES384', 'ES256'],
    ['a P-256 key for ES512', 'ES512', 'ES256', 'ES512'],
    ['a key published for RS256 for RS512', 'RS512', 'RS256', 'RS512'],
    ['a key published for RS256 for PS256', 'PS256', 'RS256', 'PS256'],
    ['a key for PS256, and signed for RS256', 'PS256', 'PS256', 'RS256'],
    ['a key for RS384, and signed for RS256', 'RS384', 'RS384', 'RS256'],
  ])('is refused with %s', async (_what, alg, kid, by) => {
    await expectAccepted(forged({ alg: kid, kid, key: privateKey(kid) }));
    await expectInvalid(forged({ alg, kid, key: privateKey(kid), by }));
  });
});

describe('a signature', () => {
  it.each<Case>([
    ['with its first bit flipped', () => alter(rsa(), { signature: (bytes) => flipped(bytes, 0) })],
    ['that is cut short', () => alter(rsa(), { signature: (bytes) => bytes.subarray(0, -1) })],
    [
      'with a byte appended',
      () => alter(rsa(), { signature: (bytes) => Buffer.concat([bytes, Buffer.of(0)]) }),
    ],
    [
      'with a byte prepended',
      () => alter(rsa(), { signature: (bytes) => Buffer.concat([Buffer.of(0), bytes]) }),
    ],
    ['of zeros', () => alter(rsa(), { signature: (bytes) => Buffer.alloc(bytes.length) })],
    ['that is empty', () => alter(rsa(), { signature: () => Buffer.alloc(0) })],
    ['that is missing together with its dot', () => rsa().split('.').slice(0, 2).join('.')],
    [
      'of another token',
      () => alter(rsa(), { signature: () => signatureOf(issuer.sign({ sub: 'root' }, { kid: 'RS256' })) }),
    ],
  ])('%s is refused', async (_what, token) => {
    await expectAccepted(rsa());
    await expectInvalid(token());
  });

  it.each<Case>([
    ['of zeros', () => alter(ec(), { signature: (bytes) => Buffer.alloc(bytes.length) })],
    ['with its halves swapped', () => alter(ec(), { signature: exchanged })],
    ['in DER', () => inDer(ec())],
  ])('of an elliptic curve %s is refused', async (_what, token) => {
    await expectAccepted(ec());
    await expectInvalid(token());
  });
});

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy.writeUInt8(copy.readUInt8(at) ^ 1, at);
  return copy;
}

function exchanged(bytes: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(32), bytes.subarray(0, 32)]);
}

function signatureOf(token: string): Buffer {
  return Buffer.from(token.split('.')[2] ?? '', 'base64url');
}

function inDer(token: string): string {
  const signed = Buffer.from(token.split('.').slice(0, 2).join('.'));
  return alter(token, { signature: () => sign('sha256', signed, privateKey('ES256')) });
}
