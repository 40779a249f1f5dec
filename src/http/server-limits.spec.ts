import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { connectionsThatFit, startInTurn } from './server-limits.js';

it.each([
  [2_000, Infinity, 2_000],
  [2_000, 2_756, 2_000],
  [2_000, 2_755, 1_999],
  [2_000, 1_024, 614],
  [2_000, 512, 204],
  [100, 1_024, 100],
  [2_000, 1, 1],
])('%i connections with %d descriptors: %i fit', (connections, descriptors, fitting) => {
  expect(connectionsThatFit(connections, descriptors)).toBe(fitting);
});

it('takes turns by address, and skips requests whose client has disconnected', async () => {
  const middleware = startInTurn();
  const started: string[] = [];
  const ask = (remoteAddress: string, destroyed = false) => {
    const [request, response] = [{ socket: { remoteAddress } }, { destroyed }];
    middleware(request as IncomingMessage, response as ServerResponse, () => started.push(remoteAddress));
  };
  for (let count = 0; count < 500; count += 1) ask('192.0.2.1', count % 2 === 0);
  ask('192.0.2.2');
  await expect.poll(() => started.length).toBe(251);
  expect(started.indexOf('192.0.2.2')).toBeLessThan(20);
});
