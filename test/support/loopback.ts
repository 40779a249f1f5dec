import { once } from 'node:events';
import type { Server as WebServer } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { afterAll, beforeAll } from 'vitest';

type Closable = Server & Pick<WebServer, 'closeAllConnections'>;

/** Listens on 127.0.0.1, at any port that is free unless told. */
export async function listen(server: Server, port = 0): Promise<void> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
}

/** Ends with all its connections; what does not listen has nothing to end. */
export async function close(server: Closable): Promise<void> {
  if (!server.listening) return;
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
}

/** Listens before the tests of the file, or of the group, and ends after them. */
export function listensMeanwhile(server: Closable): void {
  beforeAll(() => listen(server));
  afterAll(() => close(server));
}

/** Of a server that listens; 0 of any other. */
export function portOf(server: Server): number {
  return (server.address() as AddressInfo | null)?.port ?? 0;
}

/** Where it answers without TLS. */
export function urlOf(server: Server): string {
  return `http://127.0.0.1:${portOf(server)}`;
}
