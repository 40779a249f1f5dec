import { Agent, request } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import { connect } from 'node:net';
import timers from 'node:timers/promises';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { aServer } from '../support/documents.js';
import { call, callWith, type Reply } from '../support/http.js';
import { aService } from '../support/service.js';
import { within } from '../support/within.js';

const LIST = '/registry/main/v0.1/servers';
const NOTICE_MS = 4_500;
const BODY = JSON.stringify({ server: aServer('io.acme/late') });

const service = aService({ mode: 'anonymous' })
  .source('main', { servers: [aServer('io.acme/a')] })
  .source('published', { kind: 'managed' })
  .registry('main', { sources: ['main', 'published'] })
  .runs();

/** Ends the notice period, because the checks may take longer than any notice. */
let endNotice = () => {};
beforeAll(() => {
  const pause = timers.setTimeout;
  vi.spyOn(timers, 'setTimeout').mockImplementation((ms, ...more) =>
    ms === NOTICE_MS
      ? new Promise((resolve) => (endNotice = () => resolve(more[0] as never)))
      : pause(ms, ...more),
  );
  syncBuiltinESMExports();
});
afterAll(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

const ask = (origin: string, path = LIST) => call(origin + path);

/** A request over a keep-alive connection. */
function kept(
  agent: Agent,
  origin: string,
): Promise<{ status: number | undefined; connection: string | undefined }> {
  return new Promise((resolve, reject) => {
    request(origin + LIST, { agent }, (response) => {
      response
        .resume()
        .on('end', () => resolve({ status: response.statusCode, connection: response.headers.connection }));
    })
      .on('error', reject)
      .end();
  });
}

/** A publication whose body is sent later. */
function begun(port: number): { finish: () => void; answer: Promise<string> } {
  const socket = connect(port, '127.0.0.1');
  socket.write(
    `POST /v1/entries HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n`,
  );
  const answer = new Promise<string>((resolve, reject) => {
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    socket.on('end', () => resolve(text)).on('error', reject);
  });
  return { finish: () => socket.write(BODY), answer };
}

it('a stopping service is not ready, responds during shutdown.notice, and loses no request', async () => {
  const { origin, internalOrigin, port } = service;
  const agent = new Agent({ keepAlive: true });
  const before = await call(origin + LIST, { headers: { Connection: 'keep-alive' } });
  expect(before.headers).toMatchObject({ connection: 'keep-alive', 'keep-alive': 'timeout=65' });
  expect((await kept(agent, origin)).connection).toBe('keep-alive');
  await within(20_000, async () => expect((await ask(internalOrigin, '/readiness')).status).toBe(200));

  const stopping = service.stop(NOTICE_MS);
  await within(20_000, async () => expect((await ask(internalOrigin, '/readiness')).status).toBe(503));
  expect((await ask(internalOrigin, '/health')).status).toBe(200);
  const asksToClose = (reply: Reply, status: number) =>
    expect([reply.status, reply.headers['connection']]).toEqual([status, 'close']);
  const alive = { headers: { Connection: 'keep-alive' } };
  asksToClose(await call(origin + LIST, alive), 200);
  asksToClose(await call(`${origin}/nowhere`, alive), 404);
  const publication = { ...alive, body: { server: aServer('io.acme/new') } };
  asksToClose(await callWith(`${origin}/v1/entries`, 'POST', publication), 201);
  const underWay = begun(port);
  // Its headers have arrived before the response to this request.
  expect(await kept(agent, origin)).toEqual({ status: 200, connection: 'close' });
  endNotice();
  await within(20_000, () => expect(ask(origin)).rejects.toThrow('ECONNREFUSED'));
  underWay.finish();
  expect(await underWay.answer).toMatch(/^HTTP\/1.1 201 .*\r\nConnection: close\r\n/s);

  await stopping;
  await expect(ask(origin)).rejects.toThrow('ECONNREFUSED');
  await expect(ask(internalOrigin, '/health')).rejects.toThrow('ECONNREFUSED');
  agent.destroy();
});
