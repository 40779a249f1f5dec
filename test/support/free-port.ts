import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below what systems give to whoever asks for any port, so that nobody else is given it before it is listened on. */
const [FIRST, LAST] = [12_000, 32_000];

/** A port that nobody listens on. */
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
