import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Request, Response } from 'express';
import { expect, it } from 'vitest';
import { ClientGone } from '../http/errors.js';
import { Places } from '../limits/semaphore.js';
import { Client } from './caller.js';

const LONG_MS = 60_000;

function aClient(): { client: Client; response: ServerResponse } {
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  return { client: new Client(request as Request, response as Response), response };
}

it('a place is not kept for a client who hangs up while waiting, and nothing is left at the connection of one who got it', async () => {
  const places = new Places(1);
  const giveBack = await places.take('one', LONG_MS);
  const [gone, stays] = [aClient(), aClient()];
  const refused = expect(places.take('one', LONG_MS, gone.client.departure)).rejects.toThrow(ClientGone);
  const waiting = places.take('one', LONG_MS, stays.client.departure);
  gone.response.emit('close');
  await refused;
  giveBack();
  expect(await waiting).toBeTypeOf('function');
  expect([gone.response, stays.response].map((response) => response.listenerCount('close'))).toEqual([0, 0]);
});

it('a client who has hung up before gets no place', async () => {
  const { client, response } = aClient();
  response.destroy();
  await expect(new Places(1).take('one', LONG_MS, client.departure)).rejects.toThrow(ClientGone);
});
