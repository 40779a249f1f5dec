import { once } from 'node:events';
import type { Server as WebServer } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { afterAll, beforeAll } from 'vitest';

type Closable = Server & Pick<WebServer, 'closeAllConnections'>;

/** Listens on 127.0.0.1, by default on a free port. */
export async function listen(server: Server, port = 0): Promise<void> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
}

/** Closes the server with all its connections; no-op if it does not listen. */
export async function close(server: Closable): Promise<void> {
  if (!server.listening) return;
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
}

/** Listens during the tests of the file or group. */
export function listensMeanwhile(server: Closable): void {
  beforeAll(() => listen(server));
  afterAll(() => close(server));
}

/** The port of a listening server; 0 otherwise. */
export function portOf(server: Server): number {
  return (server.address() as AddressInfo | null)?.port ?? 0;
}

export function urlOf(server: Server): string {
  return `http://127.0.0.1:${portOf(server)}`;
}
