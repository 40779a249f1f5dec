import { constants, createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

/** The algorithms the service accepts (reference/authentication). */
export const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
] as const;
export type Algorithm = (typeof ALGORITHMS)[number];

export interface KeyPair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

const CURVES: Record<string, string> = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' };

/** Reused by later files of the process: generating one takes longer than starting a service. */
const rsaKeyPairs: KeyPair[] = [];
let rsaKeyPairsTaken = 0;

/** A key pair that is unique within the test file. */
export function makeKeyPair(alg: Algorithm): KeyPair {
  const namedCurve = CURVES[alg];
  if (namedCurve) return generateKeyPairSync('ec', { namedCurve });
  const pair = rsaKeyPairs[rsaKeyPairsTaken] ?? generateKeyPairSync('rsa', { modulusLength: 2048 });
  rsaKeyPairs[rsaKeyPairsTaken++] = pair;
  return pair;
}

/** Releases the key pairs for the next file. */
export function returnKeyPairs(): void {
  rsaKeyPairsTaken = 0;
}

/** A token part: an object as JSON, strings and bytes verbatim. */
export type Part = Record<string, unknown> | string | Buffer;

export interface RawToken {
  readonly header: Part;
  readonly payload: Part;
  /** Absent: the signature is empty. */
  readonly key?: KeyObject | string;
  /** The signature algorithm, if it differs from the header's. */
  readonly alg?: string;
}

/** A compact JWS of any shape, valid or not. */
export function makeToken({ header, payload, key, alg }: RawToken): string {
  const input = `${encodePart(header)}.${encodePart(payload)}`;
  const said = typeof header === 'object' && 'alg' in header ? String(header['alg']) : 'none';
  return `${input}.${key === undefined ? '' : signature(alg ?? said, input, key).toString('base64url')}`;
}

function signature(alg: string, input: string, key: KeyObject | string): Buffer {
  const hash = `sha${alg.slice(2)}`;
  if (alg.startsWith('HS')) return createHmac(hash, key).update(input).digest();
  const data = Buffer.from(input);
  if (typeof key === 'string') throw new Error(`${alg} needs a private key`);
  if (alg.startsWith('PS')) {
    const { RSA_PKCS1_PSS_PADDING: padding, RSA_PSS_SALTLEN_DIGEST: saltLength } = constants;
    return sign(hash, data, { key, padding, saltLength });
  }
  return sign(hash, data, { key, dsaEncoding: 'ieee-p1363' });
}

export function encodePart(part: Part): string {
  const isJson = typeof part === 'object' && !Buffer.isBuffer(part);
  return Buffer.from(isJson ? JSON.stringify(part) : part).toString('base64url');
}

interface Alterations {
  header?: (members: Record<string, unknown>) => Part;
  payload?: (members: Record<string, unknown>) => Part;
  signature?: (bytes: Buffer) => Buffer;
}

/** A token with parts changed after signing. */
export function alter(token: string, { header, payload, signature }: Alterations): string {
  const [first = '', second = '', third = ''] = token.split('.');
  return [
    header ? encodePart(header(members(first))) : first,
    payload ? encodePart(payload(members(second))) : second,
    signature ? encodePart(signature(Buffer.from(third, 'base64url'))) : third,
  ].join('.');
}

function members(part: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>;
}
