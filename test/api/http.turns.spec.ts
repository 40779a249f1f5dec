import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import pg from 'pg';
import { ACME_ADMIN, ACME_WRITER, SUPER_ADMIN } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import { aService } from '../support/service.js';
import { waitingStatements } from '../support/waiting-statements.js';

const CLAIMS = { org: 'acme', team: 'platform' };

describe('a caller with many expensive requests', () => {
  const servers = Array.from({ length: 300 }, (_, number) => aServer(`io.acme/s${number}`));
  const large = Array.from({ length: 10 }, (_, number) =>
    aServer(`io.acme/l${number}`, '1.0.0', { _meta: { 'com.example/padding': 'x'.repeat(1_000_000) } }),
  );
  const service = aService({ mode: 'full' })
    .source('published', { kind: 'managed' })
    .source('main', { servers, claims: { org: 'acme' } })
    .source('large', { servers: large, claims: { org: 'acme' } })
    .registry('large', { sources: ['large'], claims: { org: 'acme' } })
    .registry('main', { sources: ['main'], claims: { org: 'acme' } })
    .configuration({ limits: { claimSetsPerSource: 3 } })
    .runs();
  const sockets: Socket[] = [];
  afterAll(() => sockets.forEach((socket) => socket.destroy()));

  it('does not block changes by leaving responses unread', async () => {
    const token = service.issuer.sign(ACME_WRITER);
    const more = { 'io.modelcontextprotocol.registry/other': 'x'.repeat(900_000) };
    const body = JSON.stringify({
      server: aServer('io.acme/large', '1.0.0', { _meta: more }),
      claims: CLAIMS,
    });
    const request =
      `POST /v1/entries/validate HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
    for (let count = 0; count < 6; count += 1) {
      const socket = connect(service.port, '127.0.0.1');
      sockets.push(socket);
      socket.on('error', () => undefined).pause();
      socket.write(request.repeat(8));
    }
    const put = (name: string) =>
      service.as(ACME_ADMIN).put(`/v1/registries/${name}`, { sources: ['main'], claims: { org: 'acme' } });
    for (let round = 0; round < 10; round += 1) expect((await put(`r${round}`)).status).toBe(201);
    // Otherwise the requests that still wait would take part in the next tests.
    sockets.forEach((socket) => socket.destroy());
  });

  it('does not delay other callers, even on a page that both request', async () => {
    const page = (search: string) => `/registry/main/v0.1/servers?limit=${search}`;
    const greedy = service.as({ sub: 'greedy', org: 'acme' });
    let isGreedyDone = false;
    const all = Promise.all(
      Array.from({ length: 400 }, (_, number) =>
        greedy.get(
          `/registry/main/v0.1/servers/io.acme%2Fs${number % 300}/versions/${number < 300 ? 'latest' : '1.0.0'}`,
        ),
      ),
    ).then(() => greedy.get(page('77')));
    const both = greedy.get(page('77')).then(() => (isGreedyDone = true));
    const modest = await service.as({ sub: 'modest', org: 'acme' }).get(page('77'));
    expect(modest.status).toBe(200);
    expect((await all).status).toBe(200);
    await both;
    expect(isGreedyDone).toBe(true);
  });

  it('is throttled after large pages while others have requests', async () => {
    const greedy = service.as({ sub: 'greedy', org: 'acme' });
    const modest = service.as({ sub: 'modest', org: 'acme' });
    let isGreedyDone = false;
    let took = 0;
    const began = performance.now();
    const all = Promise.all(
      large.map(({ name }) =>
        greedy.get(`/registry/large/v0.1/servers/${encodeURIComponent(String(name))}/versions/latest`),
      ),
    ).then(async (replies) => {
      replies.push(await greedy.get('/registry/main/v0.1/servers?limit=1'));
      took = performance.now() - began;
      isGreedyDone = true;
      return replies;
    });
    while (!isGreedyDone) expect((await modest.get('/registry/main/v0.1/servers?limit=5')).status).toBe(200);
    for (const { status } of await all) expect(status).toBe(200);
    // Each page of 1 MB costs a quarter of a second. A lower bound, so a slow machine cannot fail it.
    expect(took).toBeGreaterThan(1_500);
  });

  it('is throttled after a large page that was read for more than a second', async () => {
    const greedy = service.as({ sub: 'greedy', org: 'acme' });
    const modest = service.as({ sub: 'modest', org: 'acme' });
    const client = new pg.Client(service.database.connection);
    await client.connect();
    await client.query('begin; lock table entry_version in access exclusive mode');
    const waiting = () => waitingStatements(service.database);
    const versions = `/registry/large/v0.1/servers/${encodeURIComponent(String(large[0]?.name))}/versions`;
    const page = greedy.get(versions);
    await expect.poll(waiting, { interval: 20 }).toBe(1);
    const other = modest.get('/registry/main/v0.1/servers?limit=61');
    await expect.poll(waiting, { interval: 20 }).toBe(2);
    await pause(1_100);
    const began = performance.now();
    await client.query('rollback');
    await client.end();
    for (const reply of [page, other]) expect((await reply).status).toBe(200);
    expect((await greedy.get('/registry/main/v0.1/servers?limit=62')).status).toBe(200);
    expect(performance.now() - began).toBeGreaterThan(200);
  });

  it.each([
    ['/v1/registries/main/entries', '?limit=10'],
    ['/v1/registries/main/entries?cursor=', '?limit=10'],
    ['/v1/sources/main/entries?cursor=', '?limit=10'],
    ['/v1/registries/main/access?limit=1', undefined],
    ['/v1/registries/main/access?cursor=x', undefined],
  ])('has one long list computed at a time, and short pages alongside: %s', async (path, page) => {
    const admin = service.as(ACME_ADMIN);
    const client = new pg.Client(service.database.connection);
    await client.connect();
    await client.query('begin; lock table entry in access exclusive mode');
    const waiting = () => waitingStatements(service.database);
    const asked = [1, 2, 3, 4].map(() => admin.get(path));
    await expect.poll(waiting, { interval: 20 }).toBe(1);
    const paged = page === undefined ? [] : [1, 2].map(() => admin.get(path.split('?')[0] + page));
    await expect.poll(waiting, { interval: 20 }).toBe(1 + paged.length);
    await client.query('rollback');
    await client.end();
    for (const reply of await Promise.all([...asked, ...paged])) expect(reply.status).toBe(200);
  });

  it('uses one claim set for equal claims in any order', async () => {
    const by = service.as({ ...ACME_WRITER, team: ['platform', 'data', 'web'] });
    const forms = [
      ['web', 'data'],
      ['data', 'web'],
      ['web', 'data', 'web'],
      ['data', 'data', 'web'],
    ];
    for (const [number, team] of forms.entries()) {
      const reply = await by.post('/v1/entries', {
        server: aServer(`io.acme/f${number}`),
        claims: { org: 'acme', team },
      });
      expect({ status: reply.status, body: reply.json as unknown }).toMatchObject({
        status: 201,
        body: { claims: { org: 'acme', team: [...new Set(team)] } },
      });
    }
    const [row] = await service.database.query<{ sets: number }>(
      `select count(distinct e.claim_set_id)::int as sets from entry e join source s on s.id = e.source_id where s.kind = 'managed'`,
    );
    expect(row?.sets).toBe(1);
    expect((await service.as(SUPER_ADMIN).get('/v1/entries')).status).toBe(200);
  });
});
