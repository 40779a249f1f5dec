import { generateKeyPairSync, type JsonWebKey, sign } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export const AUDIENCE = 'registry';
const HOUR_S = 3_600;

/** An identity provider with a single RS256 key that signs any claims. */
export interface Issuer {
  readonly url: string;
  /** The `providers` entry of a configuration. */
  readonly provider: object;
  /** The public key. */
  readonly key: JsonWebKey;
  tokenOf(claims: object): string;
  stop(): void;
}

export async function startIssuer(): Promise<Issuer> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const key = { ...publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'RS256' };
  const server = createServer((_, response) => response.end(JSON.stringify({ keys: [key] })));
  const url = await new Promise<string>((resolve) => {
    server.listen(0, '127.0.0.1', () =>
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    );
  });
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
  return {
    url,
    key,
    provider: { name: 'p', issuerUrl: url, audience: AUDIENCE, jwksUrl: url, allowPrivateIP: true },
    tokenOf: (claims) => {
      const exp = Math.floor(Date.now() / 1_000) + 4 * HOUR_S;
      const payload = { iss: url, aud: AUDIENCE, sub: 'somebody', exp, ...claims };
      const signed = `${encode({ alg: 'RS256', kid: 'k', typ: 'JWT' })}.${encode(payload)}`;
      return `${signed}.${sign('sha256', Buffer.from(signed), privateKey).toString('base64url')}`;
    },
    stop: () => server.close(),
  };
}
