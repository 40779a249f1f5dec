import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

/** A certificate for 127.0.0.1 and localhost, and the private CA that issued it. All PEM. */
export interface Certificates {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** Builds minimal X.509 v3 certificates (RFC 5280). */
export function makeCertificates(): Certificates {
  const authority = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const own = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const by = { name: 'A private authority', key: authority.privateKey };
  return {
    ca: certificate(by, { name: by.name, key: authority.publicKey, extensions: [IS_AUTHORITY] }),
    cert: certificate(by, { name: 'An identity provider', key: own.publicKey, extensions: [FOR_LOOPBACK] }),
    key: own.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

const COMMON_NAME = [0x55, 0x04, 0x03];
const BASIC_CONSTRAINTS = [0x55, 0x1d, 0x13];
const SUBJECT_ALT_NAME = [0x55, 0x1d, 0x11];
const ECDSA_WITH_SHA256 = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];
const DAY_MS = 86_400_000;

const TRUE = der(0x01, Buffer.of(0xff));
const IS_AUTHORITY = sequence(oid(BASIC_CONSTRAINTS), TRUE, der(0x04, sequence(TRUE)));
const FOR_LOOPBACK = sequence(
  oid(SUBJECT_ALT_NAME),
  der(0x04, sequence(der(0x87, Buffer.of(127, 0, 0, 1)), der(0x82, Buffer.from('localhost')))),
);

interface Issued {
  readonly name: string;
  readonly key: KeyObject;
  readonly extensions: Buffer[];
}

function certificate(by: { name: string; key: KeyObject }, { name, key, extensions }: Issued): string {
  const algorithm = sequence(oid(ECDSA_WITH_SHA256));
  const version3 = der(0xa0, der(0x02, Buffer.of(2)));
  const serial = der(0x02, Buffer.concat([Buffer.of(0x01), randomBytes(8)]));
  const body = sequence(
    version3,
    serial,
    algorithm,
    distinguished(by.name),
    sequence(utcTime(Date.now() - DAY_MS), utcTime(Date.now() + DAY_MS)),
    distinguished(name),
    key.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  );
  const signature = der(0x03, Buffer.of(0), sign('sha256', body, by.key));
  const lines =
    sequence(body, algorithm, signature)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

function distinguished(name: string): Buffer {
  return sequence(der(0x31, sequence(oid(COMMON_NAME), der(0x0c, Buffer.from(name)))));
}

function utcTime(at: number): Buffer {
  const digits = new Date(at).toISOString().replaceAll(/\D/g, '').slice(2, 14);
  return der(0x17, Buffer.from(`${digits}Z`));
}

function oid(bytes: number[]): Buffer {
  return der(0x06, Buffer.from(bytes));
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, ...parts);
}

/** A DER value: tag, minimal length, content. */
function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}
