import { Server } from 'node:http';
import { afterAll, beforeAll } from 'vitest';

const TIMEOUTS = ['headersTimeout', 'requestTimeout'] as const;

/**
 * Lets requests arrive slowly, for tests that hold some open: a slow machine needs more than the server's 10 s. Call
 * before `runs`.
 */
export function acceptSlowRequests(): void {
  beforeAll(() => {
    for (const timeout of TIMEOUTS)
      Object.defineProperty(Server.prototype, timeout, {
        ...{ configurable: true, get: () => 600_000, set: () => undefined },
      });
  });
  afterAll(() => {
    for (const timeout of TIMEOUTS) Reflect.deleteProperty(Server.prototype, timeout);
  });
}
