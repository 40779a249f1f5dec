import { once } from 'node:events';
import { createServer } from 'node:net';

/** Stays below the ephemeral range, so that no other process is assigned the port before it is used. */
const [FIRST, LAST] = [12_000, 32_000];

/** Returns a port without a listener. */
export async function freePort(): Promise<number> {
  const server = createServer();
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    try {
      await once(server.listen(port, '127.0.0.1'), 'listening');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') continue;
      throw error;
    }
    await new Promise((done) => server.close(done));
    return port;
  }
}
