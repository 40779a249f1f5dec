import { type AddressInfo, connect, type Socket } from 'node:net';
import express from 'express';
import { afterEach, describe, expect, it } from 'vitest';
import { JsonAnswersAdapter, StreamedLines } from '../../dist/http/json-answers.js';
import { limitUnreadBytes } from '../../dist/http/server-limits.js';
import { aServer } from '../support/documents.js';
import { call, reusesNoConnections } from '../support/http.js';
import { expectRefused, versionsIn } from '../support/matchers.js';
import { sendRaw } from '../support/raw.js';
import { aService, type ServiceUnderTest } from '../support/service.js';
import { acceptSlowRequests } from '../support/slow-requests.js';

const LIST = '/registry/main/v0.1/servers';
const KEEP_ALIVE = 'HTTP/1.1\r\nHost: localhost\r\n\r\n';
reusesNoConnections();
acceptSlowRequests();

/** A request that stays in flight. */
const HALF_SENT =
  'PUT /v1/registries/made HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{';

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

/** Opens a connection that sends these bytes and reads nothing. */
async function aConnection(service: ServiceUnderTest, bytes = ''): Promise<Socket> {
  const socket = connect(service.port, '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => undefined);
  await new Promise<void>((resolve) => socket.once('connect', resolve));
  if (bytes !== '') await new Promise<void>((resolve) => socket.write(bytes, () => resolve()));
  return socket;
}

const aSmallCatalogue = (limits: object) =>
  aService()
    .source('main', { servers: [aServer('io.acme/a')] })
    .registry('main', { sources: ['main'] })
    .configuration({ limits });

/** Retries until the status matches: sent or closed connections might not be processed yet. */
async function eventually(service: ServiceUnderTest, status: number): Promise<void> {
  await expect.poll(async () => (await service.get(LIST)).status, { interval: 20 }).toBe(status);
}

describe('limits.requestsInFlight', () => {
  const service = aSmallCatalogue({ requestsInFlight: 3 }).runs();

  it('refuses requests beyond the limit and recovers when one ends', async () => {
    const [first] = [await aConnection(service, HALF_SENT), await aConnection(service, HALF_SENT)];
    expect(versionsIn(await service.get(LIST))).toEqual(['io.acme/a@1.0.0']);
    await aConnection(service, HALF_SENT);
    await eventually(service, 503);
    for (const path of [LIST, '/v1/sources', '/nowhere', '/openapi.json']) {
      const reply = await service.get(path, { Origin: 'https://portal.example' });
      expectRefused(reply, 503, 'overloaded');
      expect(Number(reply.headers['retry-after'])).toBeGreaterThan(0);
      const isShared = path === LIST || path === '/openapi.json';
      expect(reply.headers['access-control-allow-origin']).toBe(isShared ? '*' : undefined);
    }
    first.destroy();
    await eventually(service, 200);
  });

  it('does not count pipelined requests that were abandoned', async () => {
    for (let round = 0; round < 5; round += 1) {
      const socket = await aConnection(service, `GET ${LIST} ${KEEP_ALIVE}`.repeat(10));
      socket.destroy();
    }
    await eventually(service, 200);
    const two = [await aConnection(service, HALF_SENT), await aConnection(service, HALF_SENT)];
    expect(two).toHaveLength(2);
    expect((await service.get(LIST)).status).toBe(200);
  });
});

describe('a connection', () => {
  const service = aSmallCatalogue({}).runs();
  const REQUEST = `GET ${LIST} ${KEEP_ALIVE}`;

  it('serves one request after another', async () => {
    const socket = await aConnection(service);
    let answer = '';
    socket.on('data', (chunk) => (answer += chunk.toString('latin1')));
    for (let requests = 1; requests <= 20; requests += 1) {
      socket.write(REQUEST);
      await expect.poll(() => answer.match(/HTTP\/1\.1 200/g)?.length, { interval: 5 }).toBe(requests);
    }
  });

  it('gets the responses to pipelined requests in order', async () => {
    const paths = [LIST, '/registry', '/nowhere', '/v1/me', LIST];
    const requests = paths.map((path) => `GET ${path} ${KEEP_ALIVE}`).join('');
    const last = 'GET /v1/sources HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
    const answers = await untilClosed(service, requests + last);
    expect(answers.match(/HTTP\/1\.1 \d+/g)?.map((line) => Number(line.slice(9)))).toEqual([
      200, 200, 404, 401, 200, 200,
    ]);
  });

  it('is closed if it pipelines too many requests, and others stay open', async () => {
    const other = await aConnection(service);
    const answers = await untilClosed(service, REQUEST.repeat(500));
    expect(answers.match(/HTTP\/1\.1 200/g) ?? []).not.toHaveLength(500);
    expect(other.readyState).toBe('open');
    expect((await service.get(LIST)).status).toBe(200);
  });
});

// Only Linux assigns all of 127.0.0.0/8 to the loopback interface.
describe.runIf(process.platform === 'linux')('an address that uses up its share', () => {
  const service = aSmallCatalogue({ requestsInFlight: 20, connections: 24 }).runs();

  it('is refused further requests and connections; other addresses are still served', async () => {
    for (let count = 0; count < 20; count += 1) await aConnection(service, HALF_SENT);
    await eventually(service, 503);
    for (let count = 0; count < 4; count += 1) await aConnection(service);
    await expect.poll(() => isClosed(service), { interval: 20 }).toBe(true);
    const other = await service.send('GET', LIST, { from: '127.0.0.2' });
    expect(versionsIn(other)).toEqual(['io.acme/a@1.0.0']);
  });
});

describe('limits.connections', () => {
  const service = aSmallCatalogue({ connections: 4 }).runs();

  it('closes connections beyond the limit and accepts new ones when one closes', async () => {
    const open = [await aConnection(service), await aConnection(service), await aConnection(service)];
    expect((await service.get(LIST)).status).toBe(200);
    const fourth = await aConnection(service);
    await expect.poll(() => isClosed(service), { interval: 20 }).toBe(true);
    for (const socket of [...open, fourth]) expect(socket.readyState).toBe('open');
    open[0]?.destroy();
    await expect.poll(() => isClosed(service), { interval: 20 }).toBe(false);
    expect((await service.get(LIST)).status).toBe(200);
  });
});

describe('an unread response', () => {
  const BYTES = 16_000_000;
  const CLIENTS = 12;

  it('is cut off if too many others wait, but never if its client is reading it', async () => {
    const application = express();
    application.use(limitUnreadBytes());
    let begun = 0;
    application.get('/', (_, response) => {
      begun += 1;
      response.send(Buffer.alloc(BYTES));
    });
    const server = application.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    const open = () => new Promise<number>((done) => server.getConnections((_, count) => done(count)));
    const idle = Array.from({ length: CLIENTS }, () => connect(port, '127.0.0.1'));
    sockets.push(...idle);
    for (const socket of idle) socket.pause().write(`GET / ${KEEP_ALIVE}`);
    await expect.poll(() => begun, { interval: 20 }).toBe(CLIENTS);
    await expect.poll(open, { interval: 20 }).toBeLessThan(CLIENTS);
    expect(await open()).toBeGreaterThan(0);
    expect((await call(`http://127.0.0.1:${port}/`)).bytes.length).toBe(BYTES);
    for (const socket of idle) socket.destroy();
    server.close();
  });
});

describe('a streamed response', () => {
  it('is refused to a caller who already has 32, and to nobody else', async () => {
    const application = express();
    const adapter = new JsonAnswersAdapter(application);
    let end = () => {};
    const ended = new Promise<void>((resolve) => (end = resolve));
    application.get('/:caller', ({ params }, response) => {
      async function* chunks() {
        yield '{}\n';
        await ended;
      }
      return adapter.reply(
        response,
        new StreamedLines('application/x-ndjson', chunks(), new AbortController().signal, params.caller),
      ) as Promise<void>;
    });
    const server = application.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    /** Resolves when the response begins. */
    const begin = (caller: string) => fetch(`http://127.0.0.1:${port}/${caller}`);
    const begun = await Promise.all(Array.from({ length: 32 }, () => begin('greedy')));
    expect(new Set(begun.map(({ status }) => status))).toEqual(new Set([200]));
    expect((await begin('greedy')).status).toBe(503);
    const other = await begin('modest');
    end();
    for (const response of [...begun, other]) expect(await response.text()).toBe('{}\n');
    expect((await begin('greedy')).status).toBe(200);
    server.close();
  });
});

async function untilClosed(service: ServiceUnderTest, bytes: string): Promise<string> {
  const socket = await aConnection(service, bytes);
  let answer = '';
  socket.on('data', (chunk) => (answer += chunk.toString('latin1')));
  await new Promise<void>((resolve) => socket.once('close', () => resolve()));
  return answer;
}

/** Whether the server closes a new connection without a response. */
async function isClosed(service: ServiceUnderTest): Promise<boolean> {
  return (await sendRaw(service.port, `GET ${LIST} ${KEEP_ALIVE}`)) === '';
}
