import { getEventListeners } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Request, Response } from 'express';
import { expect, it } from 'vitest';
import { Semaphore } from '../limits/semaphore.js';
import { ClientGone } from './errors.js';
import { Client, clientNetwork } from './request-context.js';

it.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::6', '2001:db8:1:2::/64'],
  ['2001:db8::6', '2001:db8:0:0::/64'],
  ['2001:db8:1:2:3::', '2001:db8:1:2::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  [undefined, 'unknown'],
])('the network of %s is %s', (address, client) => expect(clientNetwork(address)).toBe(client));

const LONG_MS = 60_000;

function aClient(): { client: Client; response: ServerResponse } {
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  return { client: new Client(request as Request, response as Response), response };
}

it('a client that closes its connection while waiting gets no permit, and no listener remains', async () => {
  const semaphore = new Semaphore(1, LONG_MS);
  const release = await semaphore.acquire('one');
  const [gone, stays] = [aClient(), aClient()];
  const refused = expect(semaphore.acquire('one', gone.client.abortSignal())).rejects.toThrow(ClientGone);
  const waiting = semaphore.acquire('one', stays.client.abortSignal());
  gone.response.emit('close');
  await refused;
  release();
  expect(await waiting).toBeTypeOf('function');
  const signals = [gone, stays].map(({ client }) => client.abortSignal());
  expect(signals.map((signal) => getEventListeners(signal, 'abort').length)).toEqual([0, 0]);
});

it('a client whose connection is already closed gets no permit', async () => {
  const { client, response } = aClient();
  response.destroy();
  await expect(new Semaphore(1, LONG_MS).acquire('one', client.abortSignal())).rejects.toThrow(ClientGone);
});
