import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export const COLLECTORS = ['good', 'silent', 'gone', 'rubbish'] as const;
export type CollectorKind = (typeof COLLECTORS)[number];

/** Starts an OTLP trace collector that responds correctly, never responds, is unreachable, or returns garbage. */
export async function startCollector(kind: CollectorKind): Promise<{ url: string; stop(): void }> {
  const server = createServer((request, response) => {
    request.resume();
    request.once('end', () => {
      if (kind === 'good') response.end();
      else if (kind === 'rubbish') response.end('\u0000<html>'.repeat(1_000));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  if (kind === 'gone') server.close();
  return {
    url: `http://127.0.0.1:${port}`,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
