import type { Server } from 'node:http';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Express } from 'express';

/** Hard limit for a shutdown, counted from the end of the notice period; reference/commands allows 10 s. */
export const STOP_LIMIT_MS = 9_500;
/** How long requests in flight may run after the server stops accepting connections; reference/commands allows 10 s in total. */
const DRAIN_MS = 6_000;

/**
 * Stops the public application without losing a request (reference/commands): serves new requests during the notice period, with
 * `Connection: close` on every response, then stops accepting connections and finishes the requests in flight.
 */
export async function drain(app: NestExpressApplication, noticeMs: number): Promise<void> {
  const server: Server = app.getHttpServer();
  closeWithAnswers(app.getHttpAdapter().getInstance() as Express);
  if (server.listening) {
    if (noticeMs > 0) await pause(noticeMs);
    await finish(server);
  }
  await app.close();
}

// Patches the prototype of all responses, so that responses to requests in flight get the header too.
function closeWithAnswers({ response }: Express): void {
  const writeHead = response.writeHead;
  response.writeHead = function (this: typeof response, ...head: Parameters<typeof writeHead>) {
    if (!this.headersSent) this.setHeader('Connection', 'close');
    return writeHead.apply(this, head);
  } as typeof writeHead;
}

/** Resolves when all connections have ended. */
async function finish(server: Server): Promise<void> {
  const force = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  // Closing the server resets connections in the accept queue, so let the event loop accept them first.
  await nextTurn();
  await new Promise((resolve) => server.close(resolve));
  clearTimeout(force);
}
