import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AUDIENCE } from '../harness/tokens.js';

/** A delay below the 5 s timeout of a provider. */
const SLOW_MS = 3_000;
const VALID = /^token=valid-/;

export interface SlowIntrospection {
  readonly introspectionUrl: string;
  stop(): void;
}

/**
 * Starts an introspection endpoint that accepts the tokens `valid-…` immediately and responds slowly for all others.
 */
export async function startSlowIntrospection(claims: object): Promise<SlowIntrospection> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .on('end', () => {
        const isValid = VALID.test(Buffer.concat(chunks).toString());
        const answer = isValid
          ? { active: true, aud: AUDIENCE, sub: 'somebody', ...claims }
          : { active: false };
        setTimeout(() => response.end(JSON.stringify(answer)), isValid ? 0 : SLOW_MS);
      });
  });
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
  return {
    introspectionUrl: `http://127.0.0.1:${port}/introspect`,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
