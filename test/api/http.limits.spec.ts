import { type AddressInfo, connect, type Socket } from 'node:net';
import express from 'express';
import { afterEach, describe, expect, it } from 'vitest';
import { JsonLines } from '../../dist/http/answers/json-answers.js';
import { JsonAnswersAdapter } from '../../dist/http/answers/json-answers.adapter.js';
import { limitUnreadBytes } from '../../dist/http/limits/server-limits.js';
import { aServer } from '../support/documents.js';
import { call } from '../support/http.js';
import { expectRefused, versionsIn } from '../support/matchers.js';
import { sendRaw } from '../support/raw.js';
import { aService, type ServiceUnderTest } from '../support/service.js';

const LIST = '/registry/main/v0.1/servers';
const KEEP_ALIVE = 'HTTP/1.1\r\nHost: localhost\r\n\r\n';
/** A request that is under way for as long as its body is awaited, which is ten seconds. */
const HALF_SENT =
  'PUT /v1/registries/made HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{';

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

/** A connection that has sent these bytes and reads nothing. */
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

/** Asks until it is answered so, as what was closed or sent just before may not have arrived. */
async function eventually(service: ServiceUnderTest, status: number): Promise<void> {
  await expect
    .poll(async () => (await service.get(LIST)).status, { timeout: 5_000, interval: 20 })
    .toBe(status);
}

describe('limits.requestsInFlight', () => {
  const service = aSmallCatalogue({ requestsInFlight: 3 }).runs();

  it('refuses what comes while so many are under way, and answers again when one has ended', async () => {
    const [first] = [await aConnection(service, HALF_SENT), await aConnection(service, HALF_SENT)];
    expect(versionsIn(await service.get(LIST))).toEqual(['io.acme/a@1.0.0']);
    await aConnection(service, HALF_SENT);
    await eventually(service, 503);
    for (const path of [LIST, '/v1/sources', '/nowhere', '/openapi.json']) {
      const reply = await service.get(path);
      expectRefused(reply, 503, 'overloaded');
      expect(Number(reply.headers['retry-after'])).toBeGreaterThan(0);
    }
    first.destroy();
    await eventually(service, 200);
  });

  it('forgets requests that were sent ahead and abandoned', async () => {
    for (let round = 0; round < 5; round += 1) {
      const socket = await aConnection(service, `GET ${LIST} ${KEEP_ALIVE}`.repeat(10));
      socket.destroy();
    }
    await eventually(service, 200);
    const two = [await aConnection(service, HALF_SENT), await aConnection(service, HALF_SENT)];
    expect(two).toHaveLength(2);
    expect((await service.get(LIST)).status).toBe(200);
  });

  it('counts the requests of one connection one at a time', async () => {
    const ahead =
      `GET ${LIST} ${KEEP_ALIVE}`.repeat(9) +
      `GET ${LIST} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
    const answers = await untilClosed(service, ahead);
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(Array.from({ length: 10 }, () => 'HTTP/1.1 200'));
  });
});

describe('a connection that sends many requests ahead of their answers', () => {
  const service = aSmallCatalogue({}).runs();

  it('gets all answers, in their order, when they are few', async () => {
    const paths = [LIST, '/registry', '/nowhere', '/v1/me', LIST];
    const requests = paths.map((path) => `GET ${path} ${KEEP_ALIVE}`).join('');
    const last = 'GET /v1/sources HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
    const answers = await untilClosed(service, requests + last);
    expect(answers.match(/HTTP\/1\.1 \d+/g)?.map((line) => Number(line.slice(9)))).toEqual([
      200, 200, 404, 401, 200, 200,
    ]);
  });

  it('is closed when they are too many', async () => {
    const answers = await untilClosed(service, `GET ${LIST} ${KEEP_ALIVE}`.repeat(500));
    expect((answers.match(/HTTP\/1\.1 200/g) ?? []).length).toBeLessThan(500);
    expect((await service.get(LIST)).status).toBe(200);
  });
});

// Every address of 127.0.0.0/8 is this machine's on Linux alone.
describe.runIf(process.platform === 'linux')('an address that has all there is', () => {
  const service = aSmallCatalogue({ requestsInFlight: 20, connections: 24 }).runs();

  it('shuts itself out, of requests and of connections, and nobody else', async () => {
    for (let count = 0; count < 20; count += 1) await aConnection(service, HALF_SENT);
    await eventually(service, 503);
    for (let count = 0; count < 4; count += 1) await aConnection(service);
    await expect.poll(() => tellsOfClosing(service), { timeout: 5_000, interval: 20 }).toBe(true);
    const other = await service.send('GET', LIST, { from: '127.0.0.2' });
    expect(versionsIn(other)).toEqual(['io.acme/a@1.0.0']);
  });
});

describe.runIf(process.platform === 'linux')('an address that asks five hundred times at once', () => {
  const service = aSmallCatalogue({}).runs();

  it('is answered in turn with others', async () => {
    const greedy = await Promise.all(Array.from({ length: 500 }, () => aConnection(service)));
    let answered = 0;
    const all = greedy.map(
      (socket) =>
        new Promise<void>((resolve) =>
          socket.once('data', () => {
            answered += 1;
            resolve();
          }),
        ),
    );
    // Without the database, whose answers may take long on a busy machine.
    for (const socket of greedy) socket.write(`GET /nowhere ${KEEP_ALIVE}`);
    const other = await service.send('GET', '/nowhere', { from: '127.0.0.2' });
    expect(other.status).toBe(404);
    expect(answered).toBeLessThan(250);
    await Promise.all(all);
  });
});

describe('limits.connections', () => {
  const service = aSmallCatalogue({ connections: 4 }).runs();

  it('closes the one beyond, and takes others when one has gone', async () => {
    const open = [await aConnection(service), await aConnection(service), await aConnection(service)];
    expect((await service.get(LIST)).status).toBe(200);
    const fourth = await aConnection(service);
    await expect.poll(() => tellsOfClosing(service), { timeout: 5_000, interval: 20 }).toBe(true);
    for (const socket of [...open, fourth]) expect(socket.readyState).toBe('open');
    open[0]?.destroy();
    await expect.poll(() => tellsOfClosing(service), { timeout: 5_000, interval: 20 }).toBe(false);
    expect((await service.get(LIST)).status).toBe(200);
  });
});

describe('clients that ask for large pages and do not read them', () => {
  // A page is a little less than 1 MiB.
  const pad = 'x'.repeat(9_000);
  const servers = Array.from({ length: 100 }, (_, number) =>
    aServer(`io.acme/s${number}`, '1.0.0', {
      _meta: { 'io.modelcontextprotocol.registry/publisher-provided': { acme: { pad } } },
    }),
  );
  const service = aService()
    .source('main', { servers })
    .registry('main', { sources: ['main'] })
    .runs();
  const AHEAD = 12;
  const page = `GET ${LIST}?limit=100 ${KEEP_ALIVE}`;

  it('are cut off, while others are answered', async () => {
    const whole = (await service.get(`${LIST}?limit=100`)).bytes.length;
    expect(whole).toBeGreaterThan(900_000);
    const greedy: Socket[] = [];
    for (let count = 0; count < 150; count += 1) greedy.push(await aConnection(service, page.repeat(AHEAD)));
    for (let round = 0; round < 20; round += 1)
      expect((await service.get(`${LIST}?limit=100`)).bytes.length).toBe(whole);
    const received = await Promise.all(greedy.map((socket) => bytesUntil(socket, AHEAD * whole)));
    const cutOff = received.filter((bytes) => bytes < AHEAD * whole);
    expect(cutOff.length).toBeGreaterThan(30);
    expect((await service.get(LIST)).status).toBe(200);
  }, 60_000);

  it('get all of it when they are few and read late', async () => {
    const whole = (await service.get(`${LIST}?limit=100`)).bytes.length;
    const late = await Promise.all(
      Array.from({ length: 10 }, () => aConnection(service, page.repeat(AHEAD))),
    );
    await service.get(LIST);
    for (const socket of late) expect(await bytesUntil(socket, AHEAD * whole)).toBeGreaterThan(AHEAD * whole);
  }, 60_000);
});

describe('an answer that is made while it is sent', () => {
  const CHUNK = 'x'.repeat(8_000_000);
  const CLIENTS = 12;

  it('is cut off where its clients do not read it, and whole where they do', async () => {
    const application = express();
    application.use(limitUnreadBytes(20_000_000));
    const adapter = new JsonAnswersAdapter(application);
    let begun = 0;
    application.get('/', (_, response) => {
      begun += 1;
      const gone = new AbortController();
      response.once('close', () => gone.abort());
      async function* chunks() {
        yield CHUNK;
        yield CHUNK;
      }
      adapter.reply(response, new JsonLines(chunks(), gone.signal));
    });
    const server = application.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    const idle = Array.from({ length: CLIENTS }, () => connect(port, '127.0.0.1'));
    sockets.push(...idle);
    for (const socket of idle) socket.pause().write(`GET / ${KEEP_ALIVE}`);
    await expect.poll(() => begun, { timeout: 10_000, interval: 20 }).toBe(CLIENTS);
    const open = () => new Promise<number>((done) => server.getConnections((_, count) => done(count)));
    await expect.poll(open, { timeout: 10_000, interval: 20 }).toBeLessThan(CLIENTS / 2);
    const reply = await call(`http://127.0.0.1:${port}/`);
    expect(reply.bytes.length).toBe(2 * CHUNK.length);
    for (const socket of idle) socket.destroy();
    server.close();
  });
});

/** Reads on until so many bytes have come, or the other side has closed. */
async function bytesUntil(socket: Socket, most: number): Promise<number> {
  let received = 0;
  await new Promise<void>((resolve) => {
    if (socket.closed) resolve();
    socket.once('close', () => resolve());
    socket.on('data', (chunk) => {
      received += chunk.length;
      if (received > most) resolve();
    });
  });
  return received;
}

async function untilClosed(service: ServiceUnderTest, bytes: string): Promise<string> {
  const socket = await aConnection(service, bytes);
  let answer = '';
  socket.on('data', (chunk) => (answer += chunk.toString('latin1')));
  await new Promise<void>((resolve) => socket.once('close', () => resolve()));
  return answer;
}

/** Is a new connection closed without an answer? */
async function tellsOfClosing(service: ServiceUnderTest): Promise<boolean> {
  return (await sendRaw(service.port, `GET ${LIST} ${KEEP_ALIVE}`)) === '';
}
