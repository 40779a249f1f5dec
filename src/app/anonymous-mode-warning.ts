import type { Server } from 'node:http';
import type { Logger } from 'pino';
import { listensOnLoopback } from './browser-guards.js';

/** Whoever reaches the port may then change everything: that is for whoever runs the server to have meant. */
export function warnIfOpen(server: Server, logger: Logger): void {
  server.once('listening', () => {
    if (!listensOnLoopback(server))
      logger.warn(
        { context: 'http' },
        'Anonymous mode on an address that others can reach: everybody there may change everything, unless readOnly is set',
      );
  });
}
